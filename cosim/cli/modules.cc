// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/modules.h"

#include "model/rtl/rtl_blocks.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

std::vector<std::string> ModulesOf(const RunConfig& config) {
  std::vector<std::string> targets;
  if (compiler::HasBundleMlir(config.workload.bundle))
    targets.emplace_back(compiler::kBundleMlirModule.target);
  const model::CardConfig& card = config.card;
  if (card.control.fidelity == model::BlockFidelity::kRtl ||
      card.management.fidelity == model::ManagementFidelity::kRtl ||
      card.pt.fidelity == model::BlockFidelity::kRtl) {
    targets.emplace_back(model::kRtlBlocksModule.target);
  }
  return targets;
}

}  // namespace spyre::cosim
