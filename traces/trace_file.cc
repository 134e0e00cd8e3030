// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "traces/trace_block.h"

namespace spyre::trace {

bool IsMetadata(std::string_view text) {
  try {
    CheckJsonText(text, "metadata");
  } catch (const spyre::Error&) {
    return false;
  }
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{' && nlohmann::json::accept(text);
}

void CheckMetadata(const std::string& text) {
  if (IsMetadata(text)) return;
  throw Error(fmt::format("trace metadata must be a JSON object, not '{}'",
                          Printable(text.substr(0, 100))));
}

Trace Snapshot(const Recorder& recorder, std::string metadata) {
  CheckMetadata(metadata);
  Trace trace;
  trace.metadata = std::move(metadata);
  trace.tracks = recorder.tracks();
  trace.names = recorder.names();
  trace.records = recorder.Records();
  trace.dropped = recorder.dropped();
  trace.whole_from_ps = recorder.whole_from_ps();
  trace.digest = recorder.Digest();
  return trace;
}

std::string EncodeTrace(const Trace& trace) {
  std::string blocks =
      EncodeMetadata(trace.metadata) + EncodeTexts(trace.tracks, 0, trace.names, 0, trace.digest);
  for (size_t first = 0; first == 0 || first < trace.records.size(); first += kBlockRecords) {
    blocks += EncodeRecords(trace.records.data() + first,
                            std::min(trace.records.size() - first, kBlockRecords), trace.digest);
  }
  if (trace.results != "{}") blocks += EncodeResults(trace.results, trace.digest);
  const uint64_t file_bytes = trace.is_interrupted ? 0 : kFileHeaderBytes + blocks.size();
  return EncodeFileHeader({file_bytes, trace.dropped, trace.whole_from_ps}) + blocks;
}

void WriteTrace(const Trace& trace, const std::string& path) {
  WriteFile(path, EncodeTrace(trace), "trace");
}

}  // namespace spyre::trace
