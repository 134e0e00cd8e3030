// SPDX-License-Identifier: Apache-2.0
// What an operation has done so far. Its engine adds while it runs; whoever counts reads it then
// and at its end. Plain data.
#pragma once

#include <cstdint>

namespace spyre::model {

struct WorkDone {
  uint64_t bytes_read = 0;  // from device memory; a multicast counts once
  uint64_t bytes_written = 0;
  uint64_t macs = 0;
  // The same at the rate of fp16, at which the PT arrays do fewer in a cycle than of narrow
  // formats.
  uint64_t fp16_macs = 0;
};

}  // namespace spyre::model
