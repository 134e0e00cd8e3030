// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_text.h"
#include "cosim/config/effect.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {
namespace {

constexpr double kPermille = 1000;

// What the comparison is about is the card as it is by default; how it is simulated and how many
// cores take part is the run's.
bool IsDefaultCard(const RunConfig& config) {
  const auto card = [](const RunConfig& of) {
    nlohmann::ordered_json json = JsonOf(ToJson(of))["card"];
    for (const char* key : {"preset", "cores", "fidelity"}) json.erase(key);
    for (const char* block : {"control", "management", "pt"})
      if (json.contains(block)) json[block].erase("fidelity");
    return json;
  };
  return card(config) == card(RunConfig());
}

std::string_view FamilyName(const RunResult& result) {
  const compiler::Operation& operation = compiler::RequireOperation(result.config.workload.op);
  switch (operation.kind) {
    case compiler::OperationKind::kUnary:
      return "unary";
    case compiler::OperationKind::kBinary:
      return "binary";
    case compiler::OperationKind::kReduction:
      return "reduction";
    case compiler::OperationKind::kMatmul:
      break;
    default:
      return "";
  }
  if (operation.name != "matmul") return "";
  const auto k = result.plan.split.find("k");
  if (k != result.plan.split.end() && k->second > 1) return "matmul-k";
  return result.plan.cores_used == kMaxCores ? "matmul-32" : "matmul";
}

bool HasShorterKernel(const RunResult& result, const MeasuredFamily& family) {
  constexpr uint64_t kPsPerUs = 1'000'000;
  return std::any_of(result.launches.begin(), result.launches.end(), [&](const auto& launch) {
    return result.IsKernel(launch) && launch.finished_ps - launch.started_ps <
                                          static_cast<uint64_t>(family.shortest_us) * kPsPerUs;
  });
}

}  // namespace

const std::vector<MeasuredFamily>& MeasuredFamilies() {
  static const std::vector<MeasuredFamily> families = {
      {"unary", "pointwise, one input", 10, 73, 10},
      {"binary", "pointwise, two inputs", 4, 58, 109},
      {"reduction", "row reductions", 18, 111, 59},
      {"matmul-32", "matmul, 32 cores", 23, 32, 33},
      {"matmul-k", "matmul, k divided", 16, 51, 71},
      {"matmul", "matmul, all", 55, 49, 17}};
  return families;
}

Trust TrustOf(const RunResult& result) {
  const RunConfig& config = result.config;
  if (!result.cards.empty() || !result.tenants.empty() ||
      KindOf(config.workload) != WorkloadKind::kOperation)
    return {nullptr, "no such program was measured on a card"};
  if (config.card.fidelity != model::Fidelity::kTimed)
    return {nullptr, "what is known is about card.fidelity = \"timed\""};
  if (config.workload.schedule != compiler::kDefaultSchedule)
    return {nullptr, "nobody measured kernels of this schedule on a card"};
  if (!IsDefaultCard(config)) return {nullptr, "no card with these parameters was measured"};
  const std::string_view name = FamilyName(result);
  for (const MeasuredFamily& family : MeasuredFamilies()) {
    if (name != family.name) continue;
    if (HasShorterKernel(result, family))
      return {nullptr, "shorter than any measured kernel of its kind"};
    return {&family, ""};
  }
  return {nullptr, "no such kernel was compared with measured times"};
}

std::string TrustText(const RunResult& result) {
  const Trust trust = TrustOf(result);
  if (trust.family == nullptr) return "not known: " + trust.reason;
  return fmt::format(
      "two of three measured kernels of its kind within {:.1f} % of the card ({}: {})",
      trust.family->permille * 100 / kPermille, trust.family->kernels, trust.family->points);
}

nlohmann::ordered_json TrustJson(const RunResult& result) {
  const Trust trust = TrustOf(result);
  if (trust.family == nullptr) return {{"two_of_three_error", nullptr}, {"reason", trust.reason}};
  return {{"two_of_three_error", trust.family->permille / kPermille},
          {"kernels", trust.family->kernels},
          {"points", trust.family->points}};
}

}  // namespace spyre::cosim
