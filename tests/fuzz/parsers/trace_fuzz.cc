// SPDX-License-Identifier: Apache-2.0
// Trace files, and everything that is made of them: summary, critical path, query, comparison,
// report, exports. Size and checksum of what the fuzzer makes are put right first, so that it gets
// past them.
#include <xxhash.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/fuzz/parsers/parser_fuzz.h"
#include "traces/critical_path.h"
#include "traces/diff.h"
#include "traces/perfetto.h"
#include "traces/query.h"
#include "traces/report.h"
#include "traces/summary.h"
#include "traces/text_export.h"
#include "traces/trace_file.h"

namespace {

using namespace spyre::trace;

void Sign(std::string& bytes) {
  if (bytes.size() < kTraceHeaderBytes + kTraceChecksumBytes) return;
  const uint64_t size = bytes.size();
  std::memcpy(bytes.data() + 16, &size, sizeof size);
  const XXH64_hash_t digest = XXH3_64bits(bytes.data(), size - sizeof digest);
  std::memcpy(bytes.data() + size - sizeof digest, &digest, sizeof digest);
}

// Each of them may refuse the trace with a sentence.
template <typename User>
void Use(User user) {
  try {
    user();
  } catch (const Error& error) {
    spyre::fuzz::Require(*error.what() != '\0', "a sentence");
  }
}

Trace Another() {
  Recorder recorder;
  recorder.Slice(kControl, recorder.AddTrack("card", "stream 0"), recorder.Intern("COMPUTE a"), 10,
                 20, 1);
  return Snapshot(recorder);
}

void UseAll(const Trace& trace) {
  std::ostringstream out;
  Use([&] {
    const Summary summary = Summarize(trace);
    SummaryOptions options;
    options.per_core = true;
    out << ToText(summary, options) << ToJson(summary).dump();
  });
  Use([&] {
    for (const KernelRun& kernel : Kernels(trace)) {
      const CriticalPath path = FollowCriticalPath(trace, kernel);
      uint64_t at = kernel.start_ps;
      for (const PathSegment& segment : path.segments) {
        spyre::fuzz::Require(segment.start_ps == at && segment.end_ps > at, "a path without gaps");
        at = segment.end_ps;
      }
      spyre::fuzz::Require(at == kernel.end_ps || path.segments.empty(), "a path to the end");
      out << ToText(path) << ToJson(path).dump();
    }
  });
  Use([&] { out << ToText(trace, Select(trace, {})) << ToJson(trace, Select(trace, {})).dump(); });
  Use([&] {
    const Diff diff = Compare(trace, Another());
    out << ToText(diff, true) << ToJson(diff).dump();
  });
  Use([&] { WriteReport(trace, "run.trace", out); });
  Use([&] { WriteReport(trace, "run.trace", out, 2); });
  Use([&] { ExportPerfetto(trace, out); });
  Use([&] { ExportCsv(trace, out); });
  std::ostringstream chrome;
  Use([&] { ExportChrome(trace, chrome); });
  spyre::fuzz::Require(nlohmann::json::accept(chrome.str()), "an export in JSON");
  spyre::fuzz::Require(EncodeTrace(DecodeTrace(EncodeTrace(trace), "again")) == EncodeTrace(trace),
                       "the trace that was written is the one that was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes = spyre::fuzz::Text(data, size);
  Sign(bytes);
  Trace trace;
  try {
    trace = DecodeTrace(bytes, "run.trace");
  } catch (const Error&) {
    return 0;
  }
  UseAll(trace);
  return 0;
}
