// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/modules.h"

#include "cosim/config/tenants.h"
#include "model/rtl/rtl_blocks.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

std::vector<std::string> ModulesOf(const RunConfig& config) {
  std::vector<std::string> targets;
  bool has_mlir = compiler::HasBundleMlir(config.workload.bundle);
  for (const Tenant& tenant : TenantsOf(config))
    has_mlir = has_mlir || compiler::HasBundleMlir(tenant.config.workload.bundle);
  if (has_mlir) targets.emplace_back(compiler::kBundleMlirModule.target);
  const model::CardConfig& card = config.card;
  if (card.control.fidelity == model::BlockFidelity::kRtl ||
      card.management.fidelity == model::ManagementFidelity::kRtl ||
      card.pt.fidelity == model::BlockFidelity::kRtl) {
    targets.emplace_back(model::kRtlBlocksModule.target);
  }
  return targets;
}

}  // namespace spyre::cosim
