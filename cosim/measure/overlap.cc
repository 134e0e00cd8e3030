// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/overlap.h"

#include <algorithm>

namespace spyre::cosim {
namespace {

struct Edge {
  uint64_t at_ps;
  size_t engine;
  bool begins;
};

}  // namespace

OverlapSummary SummarizeOverlap(const std::vector<EngineSpan>& spans) {
  std::vector<Edge> edges;
  for (const EngineSpan& span : spans) {
    if (span.end_ps <= span.begin_ps) continue;
    edges.push_back({span.begin_ps, static_cast<size_t>(span.engine), true});
    edges.push_back({span.end_ps, static_cast<size_t>(span.engine), false});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.at_ps < b.at_ps; });
  OverlapSummary summary;
  uint64_t running[kEngines] = {};
  uint64_t now_ps = edges.empty() ? 0 : edges.front().at_ps;
  for (const Edge& edge : edges) {
    const uint64_t passed = edge.at_ps - now_ps;
    size_t busy = 0;
    for (size_t engine = 0; engine < kEngines; ++engine) {
      if (running[engine] == 0) continue;
      ++busy;
      summary.busy_ps[engine] += passed;
    }
    if (busy >= 1) summary.any_ps += passed;
    if (busy >= 2) summary.overlap_ps += passed;
    now_ps = edge.at_ps;
    running[edge.engine] += edge.begins ? 1 : 0;
    running[edge.engine] -= edge.begins ? 0 : 1;
  }
  return summary;
}

}  // namespace spyre::cosim
