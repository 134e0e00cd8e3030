// SPDX-License-Identifier: Apache-2.0
// Writes a trace file while its run goes on: every block of records goes to the file when the
// recorder has filled it. A run that is killed leaves a file that can be read up to its last whole
// block.
//
// Threads: as the recorder, whose lock is held while it hands over a block. Memory: one block.
#pragma once

#include <cstdint>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "traces/recording/recorder.h"

namespace spyre::trace {

class TraceWriter : public RecordSink {
 public:
  // metadata: a JSON object; throws Error when it is not. capacity: records that the file keeps at
  // least; when there are more, the oldest blocks go. A file that cannot be written fails in
  // Finish, so that the run has its results.
  TraceWriter(std::string path, const std::string& metadata, size_t capacity);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void Take(const Recorder& recorder, const std::vector<Record>& records) override;
  // Ends the file; once, after the recorder has handed over its last records. results: a JSON
  // object, "{}" for none; throws Error when it is not. Throws
  // spyre::Error(kBadInput) naming the path if not all of it could be written.
  void Finish(const std::string& results = "{}");

  uint64_t records() const { return records_; }  // kept
  uint64_t dropped() const { return dropped_; }
  uint64_t file_bytes() const { return file_bytes_; }
  // The records that a recorder should hand over at a time.
  size_t block_records() const;

 private:
  struct Block {
    uint64_t offset, bytes, records, latest_end_ps;
  };

  void Write(std::string_view bytes);
  void Append(std::string_view bytes);
  void DropOldBlocks();
  void WriteWithoutDropped();
  template <typename Action>
  void Try(Action action);

  const std::string path_;
  const size_t capacity_;
  std::fstream stream_;
  std::string problem_;            // why the file cannot be written; empty: it can
  std::string prologue_;           // the blocks that are never dropped: metadata, tracks, names
  size_t tracks_ = 0, names_ = 0;  // that the file has
  std::deque<Block> blocks_;       // of records that are kept
  uint64_t file_bytes_ = 0, kept_bytes_ = 0;
  uint64_t digest_ = 0;  // of the last block
  uint64_t records_ = 0, dropped_ = 0, whole_from_ps_ = 0;
};

}  // namespace spyre::trace
