// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/task_graph_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace spyre::cosim {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  hash *= 0xFF51AFD7ED558CCDu;
  return hash ^ hash >> 33;
}

bool Overlaps(const runtime::Region& a, const runtime::Region& b) {
  if (a.rank != b.rank) return true;  // which elements they share cannot be said
  for (uint32_t d = 0; d < a.rank; ++d) {
    if (a.offset[d] + a.extent[d] <= b.offset[d] || b.offset[d] + b.extent[d] <= a.offset[d])
      return false;
  }
  return true;
}

}  // namespace

GraphMemory::GraphMemory(const runtime::TaskGraph& graph) : first_(graph.oldest()) {
  for (runtime::TaskId task = first_; task < graph.next_task(); ++task)
    tasks_.push_back({Mix(1, static_cast<uint64_t>(task)), graph.Arguments(task)});
}

void GraphMemory::Run(runtime::TaskId id) {
  const auto place = static_cast<size_t>(id - first_);
  if (id < first_ || place >= tasks_.size()) throw InternalError("task {} is not in flight", id);
  const Task& task = tasks_[place];
  uint64_t value = task.seed;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const runtime::TaskArgument& argument : task.arguments)
    if (runtime::Reads(argument.access)) value = Mix(value, Read(argument.region));
  for (const runtime::TaskArgument& argument : task.arguments) {
    if (!runtime::Writes(argument.access)) continue;
    std::vector<Write>& writes = written_[argument.region.tensor];
    writes.erase(
        std::remove_if(writes.begin(), writes.end(),
                       [&](const Write& earlier) { return earlier.region == argument.region; }),
        writes.end());
    value = Mix(value, 1);
    writes.push_back({argument.region, id, value});
  }
}

// Of what overlaps, in order of the tasks: what the graph does not order does not overlap.
uint64_t GraphMemory::Read(const runtime::Region& region) const {
  const auto tensor = written_.find(region.tensor);
  if (tensor == written_.end()) return 0;
  std::vector<std::pair<runtime::TaskId, uint64_t>> seen;
  for (const Write& write : tensor->second)
    if (Overlaps(write.region, region)) seen.emplace_back(write.writer, write.value);
  std::sort(seen.begin(), seen.end());
  uint64_t value = 0;
  for (const auto& [writer, written] : seen) value = Mix(value, written);
  return value;
}

uint64_t GraphMemory::Digest() const {
  uint64_t digest = 0;
  for (const auto& [tensor, writes] : written_) {
    digest = Mix(digest, tensor);
    std::vector<std::pair<runtime::TaskId, uint64_t>> all;
    for (const Write& write : writes) all.emplace_back(write.writer, write.value);
    std::sort(all.begin(), all.end());
    for (const auto& [writer, value] : all) digest = Mix(digest, value);
  }
  return digest;
}

}  // namespace spyre::cosim
