// SPDX-License-Identifier: Apache-2.0
// What the module spyre_rtl_blocks exports.
#include <modules/spyre_rtl_blocks.h>

#include "model/rtl/verilated/blocks.h"

extern "C" __attribute__((visibility("default"))) const spyre::model::RtlBlocks SPYRE_RTL_BLOCKS;
const spyre::model::RtlBlocks SPYRE_RTL_BLOCKS = {spyre::model::verilated::MakeControl,
                                                  spyre::model::verilated::MakeController,
                                                  spyre::model::verilated::MakePtArray};
