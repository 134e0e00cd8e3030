// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/expected_time.h"

#include "base/round_up.h"
#include "runtime/compiler/codegen/resolve_problem.h"
#include "runtime/compiler/division/matmul_on_ring.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::compiler {
namespace {

constexpr int kElementBytes = 2;  // of SEN169_FP16

int64_t OneOf(const DimensionSizes& sizes, const char* name) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 1 : found->second;
}

}  // namespace

DimensionSizes SplitOf(const KernelSpec& spec) {
  CoreColumns columns;
  DimensionSizes split;
  for (const Axis& axis : ResolveProblem(spec, columns).axes) split[axis.name] = axis.split;
  return split;
}

std::optional<double> ExpectedLaunchNs(const std::string& op, const DimensionSizes& sizes,
                                       const DimensionSizes& split, const MatmulTiming& timing) {
  if (RequireOperation(op).kind != OperationKind::kMatmul) return std::nullopt;
  const auto charged = [&](const char* name, int64_t unit) {
    return RoundUp(OneOf(sizes, name), unit * OneOf(split, name));
  };
  const auto slices = [&](const char* name) { return static_cast<int>(OneOf(split, name)); };
  return EstimateMatmulOnRing({charged("batch", 1), charged("m", 1), charged("k", kStickElements),
                               charged("n", kStickElements), kElementBytes},
                              {slices("batch"), slices("m"), slices("k"), slices("n")}, timing);
}

}  // namespace spyre::compiler
