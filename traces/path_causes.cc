// SPDX-License-Identifier: Apache-2.0
#include "traces/path_causes.h"

#include <numeric>

#include "base/ranges.h"

namespace spyre::trace {
namespace {

struct CauseRow {
  const char* name;
  const char* resource;
};
// Names by Cause.
constexpr std::array<CauseRow, kCauses> kCauseRows = {{{"memory_read", "memory"},
                                                       {"memory_write", "memory"},
                                                       {"memory_latency", "memory_latency"},
                                                       {"ring", "ring"},
                                                       {"ring_latency", "ring_latency"},
                                                       {"multicast", "ring"},
                                                       {"partial_sums", "partial_sums"},
                                                       {"lx_port", "lx_port"},
                                                       {"pt", "pt"},
                                                       {"weight_load", "pt"},
                                                       {"fill_drain", "pt"},
                                                       {"vector", "vector"},
                                                       {"token_hand_over", "token_hand_over"},
                                                       {"barrier", "barrier"},
                                                       {"sequencer", "sequencer"},
                                                       {"control", "control"},
                                                       {"pcie", "pcie"},
                                                       {"host", "host"}}};

struct TextRow {
  std::string_view resource, text;
};
constexpr TextRow kResourceTexts[] = {{"memory", "memory bandwidth"},
                                      {"memory_latency", "memory latency"},
                                      {"ring", "the ring's links"},
                                      {"ring_latency", "the way round the ring"},
                                      {"partial_sums", "partial-sum links"},
                                      {"lx_port", "the LX port"},
                                      {"pt", "the PT arrays"},
                                      {"vector", "the vector units"},
                                      {"token_hand_over", "token hand-over"},
                                      {"barrier", "barriers"},
                                      {"sequencer", "the sequencers"},
                                      {"control", "the control path"},
                                      {"pcie", "PCIe"},
                                      {"host", "the host"}};

}  // namespace

uint64_t TotalPs(const PathTimes& path) {
  return std::accumulate(path.begin(), path.end(), uint64_t{0});
}

const char* CauseName(Cause cause) { return kCauseRows[static_cast<size_t>(cause)].name; }
const char* ResourceName(Cause cause) { return kCauseRows[static_cast<size_t>(cause)].resource; }

std::vector<std::string> ResourceNames() {
  std::vector<std::string> names;
  for (const TextRow& row : kResourceTexts) names.emplace_back(row.resource);
  return names;
}

std::string_view ResourceText(std::string_view resource) {
  for (const TextRow& row : kResourceTexts) {
    if (row.resource == resource) return row.text;
  }
  return resource;
}

const std::vector<Need>& Needs() {
  static const std::vector<Need> needs = {
      {"data", "data to move", {"memory", "ring", "partial_sums", "lx_port"}},
      {"arithmetic", "arithmetic", {"pt", "vector"}},
      {"waiting",
       "waiting",
       {"memory_latency", "ring_latency", "token_hand_over", "barrier", "sequencer"}}};
  return needs;
}

const ResourceTime* Bound::rival() const {
  // Of 100 random configurations, others than the limit was chosen on, the resource that gained
  // most when it was simulated was the first one in 86, and the first or this one in 95; 37 had
  // one.
  constexpr double kNearlyAlike = 0.7;
  if (resources.size() < 2) return nullptr;
  const auto first = static_cast<double>(resources[0].time_ps);
  const auto second = static_cast<double>(resources[1].time_ps);
  return second < kNearlyAlike * first ? nullptr : &resources[1];
}

Bound BoundOf(const PathTimes& path) {
  Bound bound;
  bound.total_ps = TotalPs(path);
  for (size_t i = 0; i < kCauses; ++i) {
    if (path[i] == 0) continue;
    const auto known = FindIf(bound.resources, [i](const ResourceTime& r) {
      return r.resource == kCauseRows[i].resource;
    });
    if (known == bound.resources.end()) {
      bound.resources.push_back({kCauseRows[i].resource, path[i]});
    } else {
      known->time_ps += path[i];
    }
  }
  StableSort(bound.resources,
             [](const ResourceTime& a, const ResourceTime& b) { return a.time_ps > b.time_ps; });
  if (!bound.resources.empty()) bound.resource = bound.resources.front().resource;
  return bound;
}

}  // namespace spyre::trace
