// SPDX-License-Identifier: Apache-2.0
// A recording: every access of a host to a card, in order, with what it saw. RecordingTransport
// writes one, Replay reads it. docs/replay.md has the format.
//
// File, little endian: a head (magic, versions, the configuration of the run as TOML) and chunks of
// records, each with an XXH3 digest; the last record says that the recording is complete.
// Errors: Error(kBadInput) naming the file, and the offset of what is wrong in it. Any one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace spyre::cosim {

enum class RecordKind : uint8_t {
  kConfigRead = 1,
  kConfigWrite = 2,
  kRead = 3,       // of a BAR
  kWrite = 4,      // of a BAR
  kMap = 5,        // host memory made reachable
  kUnmap = 6,      // ... and unreachable
  kWait = 7,       // for an interrupt
  kAdvance = 8,    // host work
  kHostData = 9,   // what the host has put into mapped memory; before the call that shows it
  kResponse = 10,  // the card has written a ring entry; after the call during which it came
  kOutput = 11,    // what the DMA_OUT of the response before has left in host memory
  kEnd = 12,       // the last record
};

// Head of a record in the file; `data_bytes` bytes follow it.
struct RecordHead {
  uint32_t data_bytes = 0;
  RecordKind kind = RecordKind::kEnd;
  uint8_t unit = 0;  // kRead, kWrite: BAR. kWait: vector
  uint16_t function = 0;
  uint64_t time_ps = 0;  // simulated, when the call returned
  uint64_t address = 0;  // register offset or IO address. kWait: deadline, from the call on, in ps
  uint64_t value = 0;    // read or written. kMap, kOutput: bytes. kWait: WaitResult. kAdvance: ps.
                         // kEnd: records before
};
static_assert(sizeof(RecordHead) == 32);

struct Record : RecordHead {
  std::string_view data;  // kHostData, kResponse; kOutput: OutputData of the bytes
};

// Later than any time of a recording, and the longest wait in one: 53 days.
inline constexpr uint64_t kMaxRecordedPs = 1ull << 62;

// The most that all mappings together may have at one time.
inline constexpr uint64_t kMaxMappedBytes = 64ull << 30;

// Outputs up to this size are recorded; of larger ones an XXH3 digest of each page.
inline constexpr uint64_t kWholeOutputBytes = 64 << 10;
inline constexpr uint64_t kPageBytes = 4096;
std::string OutputData(const uint8_t* data, uint64_t bytes);

struct Recording {
  std::string config;  // of the run, as TOML
  std::vector<Record> records;
  // Own what the records point into; shared by copies of a recording.
  std::shared_ptr<std::deque<std::string>> chunks = std::make_shared<std::deque<std::string>>();
};

// Every record is checked by itself and against the mappings of its moment: host data, responses
// and outputs lie in mapped memory. A chunk is read when the one before it was right.
Recording ParseRecording(const std::string& bytes, const std::string& name);
Recording ReadRecording(const std::string& path);

class RecordingWriter {
 public:
  // Makes the file; `config` is the TOML of the run.
  RecordingWriter(const std::string& path, const std::string& config);

  // Appends a record; data_bytes is that of `data`.
  void Add(RecordHead head, std::string_view data = {});
  // Adds kEnd and closes. Without it the file is one that readers call incomplete.
  void Finish(uint64_t time_ps);

 private:
  void FlushChunk();

  std::string path_;
  OutputFile file_;
  std::string chunk_;
  uint32_t chunk_records_ = 0;
  uint64_t records_ = 0;
};

}  // namespace spyre::cosim
