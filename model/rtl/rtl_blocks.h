// SPDX-License-Identifier: Apache-2.0
// The RTL blocks, made by the module spyre_rtl_blocks: Verilated code takes minutes to build, and
// few runs need it. The module is opened when the first block is made. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/module.h"
#include "model/rtl/control_rtl.h"
#include "model/rtl/controller.h"
#include "model/rtl/pt_array.h"

namespace spyre::model {

inline constexpr Module kRtlBlocksModule{"spyre_rtl_blocks", "the RTL of the card's blocks"};

// What registers and memories hold before the first reset: zeros, or random bits by a seed.
struct PowerOn {
  uint32_t seed = 0;  // 0: zeros
};

// Each throws Error(kBadInput) if the module is not there (base/module.h), and the blocks'
// functions throw Error(kDeviceFault) if an assertion in the RTL fails.
std::unique_ptr<ControlRtl> MakeControlRtl(const ControlRtl::Settings& settings,
                                           const PowerOn& power_on = {});
std::unique_ptr<RtlController> MakeRtlController(ControllerBus& bus, const PowerOn& power_on = {});
std::unique_ptr<RtlPtArray> MakeRtlPtArray(const PowerOn& power_on = {});

// What the module exports.
struct RtlBlocks {
  std::unique_ptr<ControlRtl> (*control)(const ControlRtl::Settings& settings, const PowerOn&);
  std::unique_ptr<RtlController> (*controller)(ControllerBus& bus, const PowerOn&);
  std::unique_ptr<RtlPtArray> (*pt_array)(const PowerOn&);
};

}  // namespace spyre::model
