// SPDX-License-Identifier: Apache-2.0
// The options of the passes in the form of a graph.

#include <algorithm>
#include <limits>

#include "base/joined.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/compiler/graph_form/graph_form_values.h"

namespace spyre::compiler {
namespace {

constexpr const char* kSolvers[] = {"greedy", "firstfit", "bestfit"};  // by LxSolver

struct TimingField {
  const char* name;
  double MatmulTiming::*field;
};

constexpr TimingField kTiming[] = {
    {"macs_per_core_ns", &MatmulTiming::macs_per_core_ns},
    {"full_rows", &MatmulTiming::full_rows},
    {"rows_exponent", &MatmulTiming::rows_exponent},
    {"memory_bytes_per_ns", &MatmulTiming::memory_bytes_per_ns},
    {"turnaround_ns_per_byte", &MatmulTiming::turnaround_ns_per_byte},
    {"spill_area", &MatmulTiming::spill_area},
    {"spill_per_doubling", &MatmulTiming::spill_per_doubling},
    {"most_spill", &MatmulTiming::most_spill},
    {"lopsided_area", &MatmulTiming::lopsided_area},
    {"long_knee", &MatmulTiming::long_knee},
    {"long_ns", &MatmulTiming::long_ns},
    {"short_knee", &MatmulTiming::short_knee},
    {"short_ns", &MatmulTiming::short_ns},
    {"combine_ns", &MatmulTiming::combine_ns},
    {"batched_combine_ns", &MatmulTiming::batched_combine_ns},
    {"cohort", &MatmulTiming::cohort},
    {"cohort_exponent", &MatmulTiming::cohort_exponent},
};
static_assert(sizeof(MatmulTiming) == std::size(kTiming) * sizeof(double));

bool FlagOr(const FormValue& value, const char* key, bool otherwise) {
  const auto flag = value.Find(key);
  return flag ? flag->Flag() : otherwise;
}

BundleDialect DialectFromForm(const FormValue& value) {
  const std::vector<std::string>& names = BundleDialectNames();
  const auto found = std::find(names.begin(), names.end(), value.Text());
  if (found == names.end()) value.Fail(fmt::format("one of {}", Joined(names, ", ")));
  return static_cast<BundleDialect>(found - names.begin());
}

}  // namespace

OrderedJson OptionsToJson(const FrontEndOptions& options) {
  OrderedJson json = {{"tiling", options.tiling},
                      {"cores", options.division.max_cores},
                      {"division", SplitRuleNames()[static_cast<size_t>(options.division.rule)]},
                      {"k_fast", options.division.k_fast},
                      {"agree", options.division.agree},
                      {"long_spans", options.allow_long_spans},
                      {"chunk_bytes", options.chunk_bytes},
                      {"lx", options.lx_planning},
                      {"lx_input_copies", options.lx_input_copies},
                      {"lx_solver", kSolvers[static_cast<size_t>(options.lx.solver)]},
                      {"lx_bytes", options.lx.capacity},
                      {"lx_alignment", options.lx.alignment},
                      {"lx_all_operations", options.lx.all_operations},
                      {"lx_operations", options.lx.operations},
                      {"lx_in_place", options.lx.in_place},
                      {"lx_to_the_letter", options.lx.to_the_letter},
                      {"host_order", options.lowering.host_order},
                      {"arguments_by_use", options.lowering.arguments_by_use}};
  if (options.dialect)
    json["dialect"] = BundleDialectNames()[static_cast<size_t>(*options.dialect)];
  if (options.tiled_reductions) json["tiled_reductions"] = true;
  if (options.co_optimize)
    json["lx_co_optimizing"] = {{"bytes_per_step", options.co_optimize->bytes_per_step},
                                {"bytes_per_operation", options.co_optimize->bytes_per_operation}};
  if (options.division.rule != SplitRule::kPublic)
    for (const TimingField& field : kTiming)
      json["timing"][field.name] = options.division.timing.*field.field;
  if (!options.plan.empty()) json["plan"] = PlanToJson(options.plan);
  return json;
}

FrontEndOptions OptionsFromJson(const FormValue& value) {
  value.RequireKeys({"compiler",
                     "tiling",
                     "cores",
                     "division",
                     "k_fast",
                     "agree",
                     "long_spans",
                     "chunk_bytes",
                     "lx",
                     "lx_input_copies",
                     "lx_solver",
                     "lx_bytes",
                     "lx_alignment",
                     "lx_all_operations",
                     "lx_operations",
                     "lx_in_place",
                     "lx_to_the_letter",
                     "host_order",
                     "arguments_by_use",
                     "dialect",
                     "timing",
                     "plan",
                     "lx_co_optimizing",
                     "tiled_reductions"});
  FrontEndOptions options;
  if (const auto preset = value.Find("compiler"))
    options = OptionsOf(CompilerPresetFromName(preset->Text()));
  options.tiling = FlagOr(value, "tiling", options.tiling);
  options.tiled_reductions = FlagOr(value, "tiled_reductions", options.tiled_reductions);
  if (const auto cores = value.Find("cores"))
    options.division.max_cores = static_cast<int>(cores->Integer(1, kMaxCores));
  options.lx.cores = options.division.max_cores;
  if (const auto rule = value.Find("division"))
    options.division.rule = SplitRuleFromName(rule->Text());
  options.division.k_fast = FlagOr(value, "k_fast", options.division.k_fast);
  options.division.agree = FlagOr(value, "agree", options.division.agree);
  options.allow_long_spans = FlagOr(value, "long_spans", options.allow_long_spans);
  if (const auto bytes = value.Find("chunk_bytes"))
    options.chunk_bytes = bytes->Integer(1, int64_t{1} << 40);
  options.lx_planning = FlagOr(value, "lx", options.lx_planning);
  options.lx_input_copies = FlagOr(value, "lx_input_copies", options.lx_input_copies);
  if (const auto cost = value.Find("lx_co_optimizing")) {
    constexpr int64_t kMostCost = int64_t{1} << 30;
    cost->RequireKeys({"bytes_per_step", "bytes_per_operation"});
    options.co_optimize = {cost->At("bytes_per_step").Integer(0, kMostCost),
                           cost->At("bytes_per_operation").Integer(0, kMostCost)};
  }
  if (const auto solver = value.Find("lx_solver"))
    options.lx.solver = LxSolverFromName(solver->Text());
  constexpr int64_t kMostBytes = 1ll << 40;
  if (const auto bytes = value.Find("lx_bytes"))
    options.lx.capacity = bytes->Integer(0, kMostBytes);
  if (const auto alignment = value.Find("lx_alignment"))
    options.lx.alignment = alignment->Integer(1, kMostBytes);
  options.lx.all_operations = FlagOr(value, "lx_all_operations", options.lx.all_operations);
  if (const auto names = value.Find("lx_operations")) options.lx.operations = names->Texts();
  if (const auto names = value.Find("lx_in_place")) options.lx.in_place = names->Texts();
  options.lowering.host_order = FlagOr(value, "host_order", options.lowering.host_order);
  options.lowering.arguments_by_use =
      FlagOr(value, "arguments_by_use", options.lowering.arguments_by_use);
  if (const auto dialect = value.Find("dialect")) options.dialect = DialectFromForm(*dialect);
  options.lx.to_the_letter = FlagOr(value, "lx_to_the_letter", options.lx.to_the_letter);
  if (const auto timing = value.Find("timing"))
    for (const TimingField& field : kTiming)
      options.division.timing.*field.field = timing->At(field.name).Number();
  if (const auto plan = value.Find("plan")) options.plan = ReadPlan(plan->json(), plan->path());
  return options;
}

}  // namespace spyre::compiler
