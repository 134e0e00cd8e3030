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
//   AIU_WORLD_RANK_N     the PCI address of the card of rank N: "0000:12:00.0", as PciAddress gives
//   LOCAL_RANK           device of the process; LOCAL_WORLD_SIZE: how many such processes the host
//                        has; RANK: which of all it is
//
// Errors: Error(kBadInput) naming variable, value and what is allowed.
#pragma once

#include <cstddef>
#include <string>

#include "sdk/card/program_card.h"

namespace spyre::sdk {

// device: of the process, which says which card it is.
CardRequest RequestOfEnvironment(size_t device = 0);
size_t NumDevices();
// What the variable LOCAL_RANK says, 0 without it.
size_t LocalRank();
// The card that a device of the process is: that of AIU_WORLD_RANK_<device>, or else the one that
// SPYRE_DEVICES names at this place, or else the one of this number.
size_t CardOfDevice(size_t device);
// Of a modelled card.
std::string PciAddress(size_t card);

}  // namespace spyre::sdk
