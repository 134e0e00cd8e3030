// SPDX-License-Identifier: Apache-2.0
// A channel controller's counters as the report wants them. Used by whoever owns the controllers.
#pragma once

#include <string>
#include <utility>

#include "model/common/resource.h"
#include "model/memory/channel_controller.h"

namespace spyre::model {

inline UnitStatistics UnitOf(std::string name, const ChannelStatistics& channel) {
  UnitStatistics unit;
  unit.name = std::move(name);
  unit.busy_ps = channel.busy_ps;
  unit.bytes = channel.bytes();
  unit.requests = channel.requests();
  unit.lost(Loss::kRowMiss) = channel.lost_row_ps;
  unit.lost(Loss::kTurnaround) = channel.lost_turnaround_ps;
  unit.lost(Loss::kRefresh) = channel.lost_refresh_ps;
  unit.lost(Loss::kBankGroup) = channel.lost_bank_group_ps;
  unit.lost(Loss::kEccCheck) = channel.check_ps;
  return unit;
}

}  // namespace spyre::model
