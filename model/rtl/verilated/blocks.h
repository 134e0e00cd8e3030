// SPDX-License-Identifier: Apache-2.0
// The Verilated blocks, for module.cc. No header of Verilator here: each is compiled on its own.
#pragma once

#include "model/rtl/rtl_blocks.h"

namespace spyre::model::verilated {

std::unique_ptr<ControlRtl> MakeControl(const ControlRtl::Settings& settings, const PowerOn&);
std::unique_ptr<RtlController> MakeController(ControllerBus& bus, const PowerOn&);
std::unique_ptr<RtlPtArray> MakePtArray(const PowerOn&);

}  // namespace spyre::model::verilated
