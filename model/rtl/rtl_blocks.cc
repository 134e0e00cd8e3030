// SPDX-License-Identifier: Apache-2.0
#include "model/rtl/rtl_blocks.h"

#include <modules/spyre_rtl_blocks.h>

namespace spyre::model {
namespace {

const RtlBlocks& Blocks() {
  static const auto* const blocks =
      static_cast<const RtlBlocks*>(ModuleSymbol(kRtlBlocksModule, SPYRE_RTL_BLOCKS_SYMBOL));
  return *blocks;
}

}  // namespace

std::unique_ptr<ControlRtl> MakeControlRtl(const ControlRtl::Settings& settings,
                                           const PowerOn& power_on) {
  return Blocks().control(settings, power_on);
}

std::unique_ptr<RtlController> MakeRtlController(ControllerBus& bus, const PowerOn& power_on) {
  return Blocks().controller(bus, power_on);
}

std::unique_ptr<RtlPtArray> MakeRtlPtArray(const PowerOn& power_on) {
  return Blocks().pt_array(power_on);
}

}  // namespace spyre::model
