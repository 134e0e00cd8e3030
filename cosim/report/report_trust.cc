// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <variant>

#include "model/parameters/parameter.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {
namespace {

constexpr double kPermille = 1000;
constexpr double kWorthNaming = 0.02;

using model::Parameter;

bool SameValue(const Parameter& one, const Parameter& other) {
  return std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        const Value& its = std::get<Value>(other.value);
        if constexpr (std::is_same_v<Value, model::ChoiceRef>)
          return value.index() == its.index();
        else
          return *value == *its;
      },
      one.value);
}

// What the comparison is about is the card as it is by default; how it is simulated and how many
// cores take part is the run's.
bool IsDefaultCard(const RunConfig& config) {
  constexpr std::string_view kOfTheRun[] = {"card.cores", "card.fidelity", "card.control.fidelity",
                                            "card.management.fidelity", "card.pt.fidelity"};
  model::CardParameters card = config.card, standard;
  const std::vector<Parameter> mine = ParametersOf(card), usual = ParametersOf(standard);
  for (size_t i = 0; i < mine.size(); ++i) {
    if (std::find(std::begin(kOfTheRun), std::end(kOfTheRun), mine[i].key) == std::end(kOfTheRun) &&
        !SameValue(mine[i], usual[i]))
      return false;
  }
  return true;
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
    case compiler::OperationKind::kSoftmax:
      return "softmax";
    case compiler::OperationKind::kMatmul:
      break;
    default:
      return "";
  }
  if (operation.name != "matmul") return "";
  const auto k = result.plan.split.find("k");
  if (k != result.plan.split.end() && k->second > 1) return "matmul-k";
  if (result.plan.cores_used == kMaxCores) return "matmul-32";
  return result.plan.cores_used == 16 ? "matmul-16" : "matmul";  // of fewer, few were measured
}

int SlicesOf(const RunResult& result, const char* dimension) {
  const auto slices = result.plan.split.find(dimension);
  return slices == result.plan.split.end() ? 1 : static_cast<int>(slices->second);
}

int PointsAsDivided(const RunResult& result) {
  for (const MeasuredDivision& division : MeasuredDivisions()) {
    if (SlicesOf(result, "m") == division.m && SlicesOf(result, "n") == division.n &&
        SlicesOf(result, "k") == division.k)
      return division.points;
  }
  return 0;
}

double KernelShareOf(const RunResult& result) {
  uint64_t kernel_ps = 0;
  for (const flex::CompletedOperation& operation : result.launches)
    if (result.IsKernel(operation)) kernel_ps += operation.finished_ps - operation.started_ps;
  const uint64_t window_ps = std::max<uint64_t>(result.LaunchPs(), 1);
  return std::min(1.0, static_cast<double>(kernel_ps) / static_cast<double>(window_ps));
}

Trust NotKnown(const char* reason) {
  Trust trust;
  trust.reason = reason;
  return trust;
}

// Whether kernels that are shorter than any measured one are much of the kernels' time.
bool IsOfShorterKernels(const RunResult& result, const MeasuredFamily& family) {
  constexpr uint64_t kPsPerUs = 1'000'000;
  uint64_t shorter_ps = 0, all_ps = 0;
  for (const flex::CompletedOperation& launch : result.launches) {
    if (!result.IsKernel(launch)) continue;
    const uint64_t ps = launch.finished_ps - launch.started_ps;
    all_ps += ps;
    if (ps < static_cast<uint64_t>(family.shortest_us) * kPsPerUs) shorter_ps += ps;
  }
  return 2 * shorter_ps > all_ps;
}

}  // namespace

const std::vector<MeasuredFamily>& MeasuredFamilies() {
  static const std::vector<MeasuredFamily> families = {
      {"unary", "pointwise, one input", 10, 73, 10},
      {"binary", "pointwise, two inputs", 4, 58, 109},
      {"reduction", "row reductions", 18, 111, 59},
      {"softmax", "softmax", 16, 88, 29},
      {"matmul-16", "matmul, 16 cores", 5, 93, 17},
      {"matmul-32", "matmul, 32 cores", 23, 32, 33},
      {"matmul-k", "matmul, k divided", 16, 49, 71},
      {"matmul", "matmul, all", 55, 42, 17}};
  return families;
}

const std::vector<MeasuredDivision>& MeasuredDivisions() {
  static const std::vector<MeasuredDivision> divisions = {
      {1, 1, 1, 3},  {1, 2, 1, 3},  {1, 4, 1, 1},  {1, 4, 8, 3},  {1, 16, 1, 1},
      {1, 16, 2, 2}, {1, 32, 1, 3}, {2, 1, 16, 1}, {2, 2, 1, 2},  {2, 2, 8, 1},
      {2, 4, 1, 1},  {2, 4, 4, 1},  {2, 8, 2, 1},  {2, 16, 1, 2}, {4, 1, 1, 1},
      {4, 1, 8, 2},  {4, 4, 1, 3},  {4, 4, 2, 1},  {4, 8, 1, 10}, {8, 1, 4, 1},
      {8, 2, 2, 2},  {8, 4, 1, 6},  {16, 1, 1, 1}, {16, 1, 2, 1}, {16, 2, 1, 2}};
  return divisions;
}

Trust TrustOf(const RunResult& result) {
  const RunConfig& config = result.config;
  if (result.model)
    return NotKnown("of models a block of Granite-8B was measured (docs/models.md)");
  if (!result.cards.empty() || !result.tenants.empty() ||
      KindOf(config.workload) != WorkloadKind::kOperation)
    return NotKnown("no such program was measured on a card");
  if (config.card.fidelity != model::Fidelity::kTimed)
    return NotKnown("what is known is about card.fidelity = \"timed\"");
  if (config.workload.schedule != compiler::kDefaultSchedule)
    return NotKnown("nobody measured kernels of this schedule on a card");
  if (!IsDefaultCard(config)) return NotKnown("no card with these parameters was measured");
  const std::string_view name = FamilyName(result);
  for (const MeasuredFamily& family : MeasuredFamilies()) {
    if (name != family.name) continue;
    if (IsOfShorterKernels(result, family))
      return NotKnown("shorter than any measured kernel of its kind");
    Trust trust;
    trust.family = &family;
    trust.kernel_share = KernelShareOf(result);
    if (name.rfind("matmul", 0) == 0) trust.as_divided = PointsAsDivided(result);
    return trust;
  }
  return NotKnown("no such kernel was compared with measured times");
}

std::string TrustText(const RunResult& result) {
  const Trust trust = TrustOf(result);
  if (trust.family == nullptr) return "not known: " + trust.reason;
  std::string text = fmt::format(
      "two of three measured kernels of its kind within {:.1f} % of the card ({}: {}",
      trust.family->permille * 100 / kPermille, trust.family->kernels, trust.family->points);
  if (trust.as_divided) {
    text += *trust.as_divided == 0 ? ", none divided like this one"
                                   : fmt::format(", {} divided like this one", *trust.as_divided);
  }
  text += ")";
  if (const double rest = 1 - trust.kernel_share; rest >= kWorthNaming)
    text += fmt::format("; the {:.0f} % of the time outside kernels is not compared", 100 * rest);
  return text;
}

nlohmann::ordered_json TrustJson(const RunResult& result) {
  const Trust trust = TrustOf(result);
  if (trust.family == nullptr) return {{"two_of_three_error", nullptr}, {"reason", trust.reason}};
  return {{"two_of_three_error", trust.family->permille / kPermille},
          {"kernels", trust.family->kernels},
          {"points", trust.family->points},
          {"points_as_divided", trust.as_divided ? nlohmann::ordered_json(*trust.as_divided)
                                                 : nlohmann::ordered_json(nullptr)},
          {"kernel_share", trust.kernel_share}};
}

}  // namespace spyre::cosim
