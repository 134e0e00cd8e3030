// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/input_guard.h"
#include "traces/trace_block.h"
#include "traces/trace_file.h"

namespace spyre::trace {
namespace {

// What is dropped goes by whole blocks, of which the file therefore has some.
constexpr size_t kBlocksOfCapacity = 16;
constexpr size_t kSmallestBlockRecords = 256;

}  // namespace

TraceWriter::TraceWriter(std::string path, const std::string& metadata, size_t capacity)
    : path_(std::move(path)), capacity_(capacity) {
  CheckMetadata(metadata);
  prologue_ = EncodeMetadata(metadata);
  Try([&] {
    errno = 0;
    stream_.open(path_, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
    if (!stream_) throw BadInput("{}: cannot write the trace: {}", path_, std::strerror(errno));
    NoteOwn(path_);  // WriteWithoutDropped takes its place
    Append(EncodeFileHeader({}) + prologue_);
  });
}

size_t TraceWriter::block_records() const {
  return std::clamp(capacity_ / kBlocksOfCapacity, kSmallestBlockRecords, kBlockRecords);
}

template <typename Action>
void TraceWriter::Try(Action action) {
  if (!problem_.empty()) return;
  try {
    action();
  } catch (const spyre::Error& error) {
    problem_ = error.what();
  }
}

void TraceWriter::Write(std::string_view bytes) {
  errno = 0;
  stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream_.flush();
  if (!stream_) {
    throw BadInput("{}: cannot write the trace: {}", path_,
                   errno != 0 ? std::strerror(errno) : "not all of it fits");
  }
}

void TraceWriter::Append(std::string_view bytes) {
  Write(bytes);
  file_bytes_ += bytes.size();
}

void TraceWriter::Take(const Recorder& recorder, const std::vector<Record>& records) {
  const std::string texts =
      EncodeTexts(recorder.tracks(), tracks_, recorder.names(), names_, recorder.Digest());
  tracks_ = recorder.tracks().size();
  names_ = recorder.names().size();
  prologue_ += texts;
  digest_ = recorder.Digest();
  // Also an empty one, so that the last block of the file has the digest of the run.
  const std::string block = EncodeRecords(records.data(), records.size(), recorder.Digest());
  uint64_t latest_end_ps = 0;
  for (const Record& record : records) latest_end_ps = std::max(latest_end_ps, record.end_ps);
  Try([&] {
    Append(texts);
    blocks_.push_back({file_bytes_, block.size(), records.size(), latest_end_ps});
    Append(block);
    records_ += records.size();
    kept_bytes_ += block.size();
    DropOldBlocks();
    // Moving costs no more than what has been written since the last time.
    if (file_bytes_ > 2 * (kept_bytes_ + prologue_.size())) WriteWithoutDropped();
  });
}

void TraceWriter::DropOldBlocks() {
  while (records_ - blocks_.front().records >= capacity_ && blocks_.size() > 1) {
    const Block& oldest = blocks_.front();
    records_ -= oldest.records;
    dropped_ += oldest.records;
    kept_bytes_ -= oldest.bytes;
    whole_from_ps_ = std::max(whole_from_ps_, oldest.latest_end_ps);
    blocks_.pop_front();
  }
}

void TraceWriter::WriteWithoutDropped() {
  OutputFile file(path_, "trace");
  file.stream() << EncodeFileHeader({0, dropped_, whole_from_ps_}) << prologue_;
  file_bytes_ = kFileHeaderBytes + prologue_.size();
  std::string bytes;
  for (Block& block : blocks_) {
    bytes.resize(block.bytes);
    stream_.seekg(static_cast<std::streamoff>(block.offset));
    stream_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.stream() << bytes;
    block.offset = file_bytes_;
    file_bytes_ += bytes.size();
  }
  if (!stream_) throw BadInput("{}: the trace cannot be read back", path_);
  file.Commit();
  stream_.close();
  stream_.open(path_, std::ios::in | std::ios::out | std::ios::binary | std::ios::ate);
}

void TraceWriter::Finish(const std::string& results) {
  CheckMetadata(results);
  Try([&] {
    if (file_bytes_ > kFileHeaderBytes + prologue_.size() + kept_bytes_) WriteWithoutDropped();
    if (results != "{}") {
      stream_.seekp(0, std::ios::end);
      Append(EncodeResults(results, digest_));
    }
    stream_.seekp(0);
    Write(EncodeFileHeader({file_bytes_, dropped_, whole_from_ps_}));
    stream_.close();
    if (!stream_) throw BadInput("{}: cannot write the trace: not all of it fits", path_);
  });
  if (!problem_.empty()) throw BadInput("{}", problem_);
}

}  // namespace spyre::trace
