// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/kernel_set.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace spyre::runtime {
namespace {

bool StartsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace

KernelSet::KernelSet(const std::filesystem::path& directory) : plan_(directory) {
  std::vector<std::filesystem::path> inside;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_directory()) inside.push_back(entry.path());
  }
  std::sort(inside.begin(), inside.end());  // the order of the file system is anybody's guess
  for (const std::filesystem::path& path : inside) {
    const std::string name = path.filename().string();
    if (StartsWith(name, "remainder_")) AddRemainder(ExecutionPlan(path));
    if (StartsWith(name, "copy_")) AddCopy(ExecutionPlan(path));
    if (StartsWith(name, "accumulate_")) AddAccumulate(ExecutionPlan(path));
  }
}

TileKernels KernelSet::KernelsFor(size_t operation) const {
  TileKernels kernels;
  for (const ExecutionPlan& plan : remainders_) {
    if (plan.operations().size() != plan_.operations().size()) {
      throw BadInput("remainder kernel '{}' has {} operations, kernel '{}' has {}", plan.name(),
                     plan.operations().size(), plan_.name(), plan_.operations().size());
    }
    kernels.remainders.push_back(plan.operations()[operation]);
  }
  const auto append = [](const std::vector<ExecutionPlan>& plans, std::vector<Operation>& to) {
    for (const ExecutionPlan& plan : plans)
      to.insert(to.end(), plan.operations().begin(), plan.operations().end());
  };
  append(copies_, kernels.copies);
  append(accumulates_, kernels.accumulates);
  return kernels;
}

void LoadKernels(SpyreStream& stream, KernelSet& kernels) {
  const auto load = [&](ExecutionPlan& plan) {
    if (!plan.loaded()) LoadPlan(stream, plan);
  };
  load(kernels.plan_);
  for (ExecutionPlan& plan : kernels.remainders_) load(plan);
  for (ExecutionPlan& plan : kernels.copies_) load(plan);
  for (ExecutionPlan& plan : kernels.accumulates_) load(plan);
}

}  // namespace spyre::runtime
