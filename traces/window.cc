// SPDX-License-Identifier: Apache-2.0
#include "traces/window.h"

#include <algorithm>
#include <utility>

#include "traces/critical_path.h"
#include "traces/run_results.h"

namespace spyre::trace {

Trace Touching(Trace trace, uint64_t from_ps, uint64_t to_ps) {
  const auto outside = [&](const Record& r) { return r.end_ps < from_ps || r.start_ps > to_ps; };
  trace.records.erase(std::remove_if(trace.records.begin(), trace.records.end(), outside),
                      trace.records.end());
  return trace;
}

Trace CutTo(Trace trace, uint64_t from_ps, uint64_t to_ps) {
  trace = Touching(std::move(trace), from_ps, to_ps);
  for (Record& r : trace.records) {
    const uint64_t start_ps = std::max(r.start_ps, from_ps);
    const uint64_t end_ps = std::min(r.end_ps, to_ps);
    if (r.end_ps > r.start_ps) {
      __extension__ using Wide = unsigned __int128;
      r.bytes = static_cast<uint64_t>(static_cast<Wide>(r.bytes) * (end_ps - start_ps) /
                                      (r.end_ps - r.start_ps));
    }
    r.start_ps = start_ps;
    r.end_ps = end_ps;
  }
  RunResults results = ParseRunResults(trace.results);
  results.launch_begin_ps = results.launch_end_ps = 0;
  trace.results = EncodeRunResults(results);
  return trace;
}

Interval LaunchWindow(const Trace& trace) {
  const RunResults results = ParseRunResults(trace.results);
  if (results.known()) return {results.launch_begin_ps, results.launch_end_ps};
  const std::vector<KernelRun> kernels = Kernels(trace);
  if (kernels.empty()) return {0, 0};
  Interval window{kernels.front().start_ps, 0};  // they are in order of their start
  for (const KernelRun& kernel : kernels) window.end_ps = std::max(window.end_ps, kernel.end_ps);
  return window;
}

uint64_t LaunchBeginPs(const Trace& trace) { return LaunchWindow(trace).start_ps; }

}  // namespace spyre::trace
