// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/bundle_steps.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "runtime/compiler/bundle/for_each_execute.h"

namespace spyre::cosim {
namespace {

std::string ShapeOf(const compiler::SuperDsc& dsc) {
  std::string shape;
  for (const compiler::SdscDim& dim : dsc.dims)
    shape += fmt::format("{}{}", shape.empty() ? "" : "x", dim.size);
  return shape;
}

}  // namespace

std::vector<BundleStep> StepsOf(const compiler::Bundle& bundle,
                                const std::vector<int64_t>& dimensions) {
  const compiler::TripCounts trips(bundle, dimensions);
  std::map<const compiler::BundleLoop*, int> numbers;  // in the order in which they are met
  std::vector<BundleStep> steps;
  compiler::ForEachExecute(bundle, [&](const compiler::BundleExecute& execute, const auto& around) {
    std::vector<StepLoop> loops;
    for (const compiler::BundleLoop* loop : around) {
      const int next = static_cast<int>(numbers.size());
      loops.push_back({numbers.try_emplace(loop, next).first->second, trips(*loop)});
    }
    const compiler::SuperDsc& dsc = bundle.dscs[execute.dsc];
    steps.push_back({bundle.files[execute.dsc], dsc.op, ShapeOf(dsc), std::move(loops)});
  });
  return steps;
}

std::vector<int64_t> IterationsOf(const BundleStep& step, uint64_t iteration) {
  std::vector<int64_t> iterations(step.loops.size());
  auto rest = static_cast<int64_t>(iteration);
  for (size_t loop = step.loops.size(); loop-- > 0;) {
    iterations[loop] = rest % step.loops[loop].count;
    rest /= step.loops[loop].count;
  }
  return iterations;
}

std::string StepName(const BundleStep& step, uint64_t iteration) {
  if (step.loops.empty()) return step.file;
  const std::vector<int64_t> iterations = IterationsOf(step, iteration);
  std::string text;
  for (size_t loop = 0; loop < iterations.size(); ++loop) {
    text += fmt::format("{}i{}={}", text.empty() ? "" : ", ", step.loops[loop].number,
                        iterations[loop]);
  }
  return fmt::format("{} [{}]", step.file, text);
}

}  // namespace spyre::cosim
