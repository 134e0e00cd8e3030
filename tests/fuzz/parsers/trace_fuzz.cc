// SPDX-License-Identifier: Apache-2.0
// Trace files, and everything that is made of them: summary, critical path, query, comparison,
// report, exports. An input that starts as a trace file is read as it is. Any other one says what
// the blocks hold, and is packed and signed here, so that the fuzzer gets past checksums and zstd:
//
//   u64 dropped, u64 window, u8 interrupted; then blocks: u8 kind, u16 entries, u16 bytes, content
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/fuzz/parsers/parser_fuzz.h"
#include "traces/critical_path.h"
#include "traces/diff.h"
#include "traces/export/perfetto.h"
#include "traces/export/text_export.h"
#include "traces/query.h"
#include "traces/report.h"
#include "traces/summary.h"
#include "traces/trace_block.h"
#include "traces/trace_file.h"

namespace {

using namespace spyre::trace;

template <typename T>
T TakeNumber(std::string_view& input) {
  T value{};
  std::memcpy(&value, input.data(), std::min(sizeof value, input.size()));
  input.remove_prefix(std::min(sizeof value, input.size()));
  return value;
}

std::string FileOf(std::string_view input) {
  if (input.substr(0, kTraceMagic.size()) == kTraceMagic) return std::string(input);
  FileHeader header;
  header.dropped = TakeNumber<uint64_t>(input);
  header.whole_from_ps = TakeNumber<uint64_t>(input);
  const bool is_interrupted = (TakeNumber<uint8_t>(input) & 1) != 0;
  std::string blocks;
  while (!input.empty()) {
    const auto kind = static_cast<BlockKind>(TakeNumber<uint8_t>(input));
    const auto entries = TakeNumber<uint16_t>(input);
    const auto bytes = TakeNumber<uint16_t>(input);
    const std::string_view content = input.substr(0, bytes);
    input.remove_prefix(content.size());
    blocks += EncodeBlock(kind, entries, content, blocks.size());
  }
  if (!is_interrupted) header.file_bytes = kFileHeaderBytes + blocks.size();
  return EncodeFileHeader(header) + blocks;
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
  Use([&] { WriteReport({{trace, "run.trace", nullptr}}, out); });
  Use([&] { WriteReport({{trace, "run.trace", nullptr}}, out, 2); });
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
  const std::string bytes = FileOf(spyre::fuzz::Text(data, size));
  Trace trace;
  try {
    trace = DecodeTrace(bytes, "run.trace");
  } catch (const Error&) {
    return 0;
  }
  UseAll(trace);
  return 0;
}
