// SPDX-License-Identifier: Apache-2.0
// The trace file: one per run, written once at its end, read by the analysis commands.
//
// Layout, little-endian, version 1:
//   0   "SPYRETRC"
//   8   u32 version, u32 bytes per record (48)
//   16  u64 bytes of the whole file
//   24  u64 digest of the run, u64 records dropped by the recorder
//   40  u32 bytes of metadata, u32 tracks, u32 names, u32 bytes of the window: 0 or 8
//   56  u64 records
//   64  window, if records were dropped: u64 ps, everything that ends later is in the file
//       metadata: a JSON object (config digest, card name, command, ...)
//       tracks: u32 bytes + process, u32 bytes + name; names: u32 bytes + text; all UTF-8
//       zeros up to a multiple of 8; the records, as struct Record in recorder.h
//   end u64 xxh3 of everything before it
//
// Threads: no shared state. Ownership: a Trace owns all it shows.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "traces/recorder.h"

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
  std::vector<Track> tracks;
  std::vector<std::string> names;
  std::vector<Record> records;  // in order of recording
  uint64_t dropped = 0;
  // Every record that ended later than this is in `records`; of what ended before, some are
  // missing. 0 if nothing was dropped; kUnknownPs if the file does not say.
  uint64_t whole_from_ps = 0;
  uint64_t digest = 0;
};
inline constexpr uint64_t kUnknownPs = UINT64_MAX;

// metadata: a JSON object. Throws Error when it is not.
Trace Snapshot(const Recorder& recorder, std::string metadata = "{}");

// Throws Error when the file cannot be written.
void WriteTrace(const Trace& trace, const std::string& path);
// Throws Error naming the path, the offset and the problem; spyre::Error if there is no such file
// or it is too large. Memory is taken for what has been found right, never for what a count says.
Trace ReadTrace(const std::string& path);

// The same without files; `name` stands for the path in messages.
std::string EncodeTrace(const Trace& trace);
Trace DecodeTrace(const std::string& bytes, const std::string& name);

// What the writer and the reader share.
inline constexpr std::string_view kTraceMagic = "SPYRETRC";
inline constexpr uint32_t kTraceVersion = 1;
inline constexpr size_t kTraceHeaderBytes = 64;
inline constexpr size_t kTraceChecksumBytes = 8;
bool IsMetadata(std::string_view text);  // a JSON object

}  // namespace spyre::trace
