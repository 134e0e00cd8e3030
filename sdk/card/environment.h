// SPDX-License-Identifier: Apache-2.0
// The variables of the environment by which a user of the SDK says which card the program gets, and
// how many there are. docs/torch.md describes them for users. Any thread; read when asked.
//
//   SPYRE_COSIM_CONFIG   a TOML file with the card and the host, as of `spyre-cosim run`
//   SPYRE_COSIM_SET      keys of it to set: "card.cores=8;card.fidelity=fast" (';' or line ends)
//   SPYRE_COSIM_OUT      a directory for report.json and the trace; unset: no file is written
//   SPYRE_COSIM_CARD     where the card is: "model" (the default: simulated in this process),
//                        "vfio-user:DIR" (one that `spyre-cosim serve` serves there),
//                        "vfio:ADDRESS" (one in the machine)
//   SPYRE_COSIM_KEEP     keep the program's bundles in SPYRE_COSIM_OUT, and arguments of at most so
//                        many bytes with each of them
//   SPYRE_COSIM_VERIFY   "none" (the default), "sample", "full": which launches of kept bundles are
//                        compared with the reference
//   SPYRE_COSIM_DEVICES  how many cards the host has, 1 by default
//   FLEX_DEVICE          "PF", "VF": which function of the card; "MOCK": AIU_WORLD_SIZE says how
//   many
//                        cards there are. Unset, and with "MOCK": as the configuration's `mode`
//   AIU_WORLD_SIZE       use so many cards, at most as many as there are
//   SPYRE_DEVICES        use these: "0,2,3"; numbers that no card has do not count
//
// Errors: Error(kBadInput) naming variable, value and what is allowed.
#pragma once

#include <cstddef>

#include "sdk/card/program_card.h"

namespace spyre::sdk {

CardRequest RequestOfEnvironment();
size_t NumDevices();

}  // namespace spyre::sdk
