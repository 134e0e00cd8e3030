// SPDX-License-Identifier: Apache-2.0
// A launch of another program once more: its arguments and its program where they were, and its
// operations at the same moment between two refreshes of device memory, so that it takes as long.
// Single thread. Errors: Error(kBadInput) naming the key of [workload.repeat].
#pragma once

#include <memory>
#include <vector>

#include "cosim/config/config.h"
#include "model/card/card.h"
#include "model/contract/stick_layout.h"
#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::cosim {

using PlacedMemory = std::vector<std::shared_ptr<const runtime::DeviceStorage>>;

// Tensors with these layouts at repeat.addresses, which may overlap. The next program that is
// loaded lies at repeat.program. `memory` keeps the tensors, and what lies between them, allocated.
// The context must have no allocations.
std::vector<runtime::SpyreTensor> PlaceTensors(flex::RuntimeContext& context,
                                               const std::vector<StickLayout>& layouts,
                                               const RepeatConfig& repeat, PlacedMemory& memory);

// The kernel of the launch that comes begins as workload.repeat says; nothing to do if start_ps is
// empty. The card must outlive the launch.
void HoldLaunch(const RunConfig& config, model::Card& card);

// workload.repeat.memory of a card, now.
std::vector<std::string> MemoryTexts(const model::DeviceMemory& memory);

}  // namespace spyre::cosim
