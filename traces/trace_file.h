// SPDX-License-Identifier: Apache-2.0
// Traces as a whole: what a recorder holds, and what a file holds. A run writes its file with
// TraceWriter (trace_writer.h), block by block; trace_block.h has the layout.
//
// Threads: no shared state. Ownership: a Trace owns all it shows.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "traces/recording/recorder.h"

namespace spyre::trace {

// The caller's file or arguments are wrong; the text says which, where and what would be right.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All of one run: what the recorder kept, or what a file holds. Ids in records are valid indices,
// no record ends before it starts, all text is printable UTF-8.
struct Trace {
  std::string metadata = "{}";
  // What the run measured beside its records (run_results.h), a JSON object; "{}": nothing, or the
  // run did not end. The digest does not cover it.
  std::string results = "{}";
  std::vector<Track> tracks;
  std::vector<std::string> names;
  std::vector<Record> records;  // in order of recording
  uint64_t dropped = 0;
  // Every record that ended later than this is in `records`; of what ended before, some are
  // missing. 0 if nothing was dropped.
  uint64_t whole_from_ps = 0;
  uint64_t digest = 0;  // interrupted: of the part that is here
  // The run was killed, or goes on: the file ends with its last whole block.
  bool is_interrupted = false;
};
// What people who look at such a trace are told.
inline constexpr const char* kInterrupted =
    "The run did not end, or has not yet: the file holds what was recorded up to its last block.\n";

// metadata: a JSON object. Throws Error when it is not.
Trace Snapshot(const Recorder& recorder, std::string metadata = "{}");

// Throws spyre::Error when the file cannot be written.
void WriteTrace(const Trace& trace, const std::string& path);
// Throws Error naming the path, the offset and the problem; spyre::Error if there is no such file
// or it is too large. Memory is taken for what has been found right, a block at a time, never for
// what a count says.
Trace ReadTrace(const std::string& path);

// The same without files; `name` stands for the path in messages.
std::string EncodeTrace(const Trace& trace);
Trace DecodeTrace(const std::string& bytes, const std::string& name);

bool IsMetadata(std::string_view text);       // a JSON object
void CheckMetadata(const std::string& text);  // throws Error when it is not

}  // namespace spyre::trace
