#include "cosim/bundle_steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;
using compiler::BundleExecute;
using compiler::BundleLoop;
using compiler::BundleNode;

class StepLister {
 public:
  StepLister(const Bundle& bundle, const std::vector<int64_t>& dimensions)
      : bundle_(bundle), dimensions_(dimensions) {}

  std::vector<BundleStep> List() {
    Walk(bundle_.body);
    return std::move(steps_);
  }

 private:
  void Walk(const std::vector<BundleNode>& body) {
    for (const BundleNode& node : body) {
      if (const auto* execute = std::get_if<BundleExecute>(&node)) {
        steps_.push_back({bundle_.files[execute->dsc], bundle_.dscs[execute->dsc].op, loops_});
        continue;
      }
      const auto& loop = std::get<BundleLoop>(node);
      loops_.push_back({next_loop_++, CountOf(loop)});
      Walk(loop.body);
      loops_.pop_back();
    }
  }

  int64_t CountOf(const BundleLoop& loop) const {
    if (loop.count_argument < 0) return loop.count;
    const auto begin = bundle_.arguments.begin();
    const auto before =
        std::count_if(begin, begin + loop.count_argument, [](const BundleArgument& argument) {
          return argument.kind == BundleArgument::Kind::kDimension;
        });
    return dimensions_[static_cast<size_t>(before)];
  }

  const Bundle& bundle_;
  const std::vector<int64_t>& dimensions_;
  std::vector<StepLoop> loops_;
  int next_loop_ = 0;
  std::vector<BundleStep> steps_;
};

}  // namespace

std::vector<BundleStep> StepsOf(const Bundle& bundle, const std::vector<int64_t>& dimensions) {
  return StepLister(bundle, dimensions).List();
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
