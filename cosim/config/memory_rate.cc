// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/memory_rate.h"

#include <cstdint>

namespace spyre::cosim {

void FollowMemoryRate(const model::MemoryConfig& before, RunConfig& config) {
  model::MemoryConfig& memory = config.card.memory;
  if (config.given.count("card.memory.t_ccd_l_ps") != 0 || memory.transfer_mts == 0 ||
      before.burst_length == 0)
    return;
  const uint64_t whole = before.t_ccd_l_ps * before.transfer_mts * memory.burst_length;
  const uint64_t part = memory.transfer_mts * before.burst_length;
  if (whole % part == 0) memory.t_ccd_l_ps = whole / part;
}

}  // namespace spyre::cosim
