// SPDX-License-Identifier: Apache-2.0
// Reading a trace file, front to back: its checksum first, then what it says.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"
#include "traces/text.h"
#include "traces/trace_file.h"

namespace spyre::trace {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "records are stored as they are in memory");
static_assert(std::is_trivially_copyable_v<Record>);

// The largest trace.capacity is 2^28 records of 48 bytes: 12 GiB, and names.
constexpr uint64_t kMaxTraceBytes = 16ull << 30;
// A card has some hundred; what shows tracks takes time and memory for each.
constexpr uint32_t kMaxTracks = 1 << 16;
constexpr size_t kBlockRecords = 1024;
constexpr size_t kBlockBytes = 1 << 16;

class Decoder {
 public:
  // size: of what `in` holds.
  Decoder(std::istream& in, uint64_t size, const std::string& name)
      : in_(in), size_(size), name_(name) {}

  [[noreturn]] void Fail(uint64_t offset, const std::string& problem) const {
    throw Error(fmt::format("{}: offset {}: {}", name_, offset, problem));
  }
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }
  uint64_t left() const { return size_ - offset_; }

  void Take(void* to, uint64_t size, const char* what) {
    if (size > left()) {
      Fail(offset_, fmt::format("{} needs {} bytes, but only {} are left", what, size, left()));
    }
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
    if (!in_) throw Error(fmt::format("{}: offset {}: cannot be read", name_, offset_));
    offset_ += size;
  }
  template <typename T>
  T Number(const char* what) {
    T value;
    Take(&value, sizeof value, what);
    return value;
  }
  std::string Bytes(uint32_t size, const char* what) {
    if (size > kMaxTextBytes && size <= left()) {
      Fail(offset_, fmt::format("{} of {} bytes; at most {}", what, size, kMaxTextBytes));
    }
    std::string bytes(size <= left() ? size : 0, '\0');
    Take(bytes.data(), size, what);
    return bytes;
  }
  std::string Text(const char* what) {
    const uint64_t start = offset_;
    std::string text = Bytes(Number<uint32_t>(what), what);
    if (!IsPrintable(text)) {
      Fail(start,
           fmt::format("{} is not printable UTF-8: '{}'", what, Printable(text.substr(0, 100))));
    }
    return text;
  }
  // Compares the last eight bytes with the digest of all before them.
  void CheckDigest() {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         XXH3_freeState);
    XXH3_64bits_reset(state.get());
    std::string block(kBlockBytes, '\0');
    Rewind();
    while (left() > kTraceChecksumBytes) {
      const uint64_t bytes = std::min<uint64_t>(block.size(), left() - kTraceChecksumBytes);
      Take(block.data(), bytes, "the file");
      XXH3_64bits_update(state.get(), block.data(), bytes);
    }
    const uint64_t body = offset_;
    const auto stored = Number<uint64_t>("checksum");
    if (const uint64_t computed = XXH3_64bits_digest(state.get()); computed != stored) {
      Fail(body, fmt::format("corrupt: checksum {:016x}, the bytes give {:016x}; the run must be "
                             "traced again",
                             stored, computed));
    }
    Rewind();
  }

 private:
  void Rewind() {
    in_.clear();
    in_.seekg(0);
    offset_ = 0;
  }

  std::istream& in_;
  const uint64_t size_;
  const std::string& name_;
  uint64_t offset_ = 0;
};

struct Counts {
  uint32_t metadata_bytes = 0, tracks = 0, names = 0, window_bytes = 0;
  uint64_t records = 0;
};

Counts DecodeHeader(Decoder& in, Trace& trace) {
  // Enough bytes to tell a foreign file from a short one.
  std::string magic(std::min<uint64_t>(in.size(), kTraceMagic.size()), '\0');
  in.Take(magic.data(), magic.size(), "magic");
  if (magic != kTraceMagic.substr(0, magic.size())) {
    in.Fail(0, "not a trace file: it does not start with SPYRETRC");
  }
  constexpr size_t kSmallest = kTraceHeaderBytes + kTraceChecksumBytes;
  if (in.size() < kSmallest) {
    in.Fail(in.size(), fmt::format("truncated: {} bytes, the smallest trace file has {}", in.size(),
                                   kSmallest));
  }
  if (const auto version = in.Number<uint32_t>("version"); version != kTraceVersion) {
    in.Fail(8, fmt::format("version {}; this program reads version {}", version, kTraceVersion));
  }
  if (const auto size = in.Number<uint32_t>("record size"); size != sizeof(Record)) {
    in.Fail(12, fmt::format("records of {} bytes; version 1 has {}", size, sizeof(Record)));
  }
  if (const auto size = in.Number<uint64_t>("file size"); size != in.size()) {
    in.Fail(16,
            fmt::format("{}: the header says {} bytes, the file has {}",
                        size > in.size() ? "truncated" : "data after the end", size, in.size()));
  }
  trace.digest = in.Number<uint64_t>("digest");
  trace.dropped = in.Number<uint64_t>("dropped records");
  Counts counts;
  counts.metadata_bytes = in.Number<uint32_t>("metadata size");
  counts.tracks = in.Number<uint32_t>("track count");
  counts.names = in.Number<uint32_t>("name count");
  counts.window_bytes = in.Number<uint32_t>("window size");
  counts.records = in.Number<uint64_t>("record count");
  return counts;
}

void CheckCounts(const Decoder& in, const Trace& trace, const Counts& counts) {
  const bool is_window_right =
      counts.window_bytes == 0 || (counts.window_bytes == 8 && trace.dropped > 0);
  if (!is_window_right) {
    in.Fail(52, fmt::format("a window of {} bytes in a trace with {} dropped records",
                            counts.window_bytes, trace.dropped));
  }
  if (counts.tracks > kMaxTracks) {
    in.Fail(44, fmt::format("{} tracks; at most {}", counts.tracks, kMaxTracks));
  }
}

void CheckRecord(const Decoder& in, uint64_t offset, const Trace& trace, const Record& record) {
  if (record.track >= trace.tracks.size()) {
    in.Fail(offset,
            fmt::format("record on track {}, there are {}", record.track, trace.tracks.size()));
  }
  if (record.name >= trace.names.size()) {
    in.Fail(offset,
            fmt::format("record with name {}, there are {}", record.name, trace.names.size()));
  }
  if (record.end_ps < record.start_ps) {
    in.Fail(offset, fmt::format("record ends at {} ps, before its start at {} ps", record.end_ps,
                                record.start_ps));
  }
  const bool is_single_bit = record.category != 0 && (record.category & (record.category - 1)) == 0;
  if (!is_single_bit || record.category > kStep) {
    in.Fail(offset, fmt::format("record of unknown category {:#x}", record.category));
  }
}

void DecodeRecords(Decoder& in, uint64_t count, Trace& trace) {
  std::vector<Record> block;
  while (count > 0) {
    const uint64_t first = in.offset();
    block.resize(std::min<uint64_t>(count, kBlockRecords));
    in.Take(block.data(), block.size() * sizeof(Record), "records");
    for (size_t i = 0; i < block.size(); ++i) {
      CheckRecord(in, first + i * sizeof(Record), trace, block[i]);
    }
    trace.records.insert(trace.records.end(), block.begin(), block.end());
    count -= block.size();
  }
}

Trace Decode(std::istream& stream, uint64_t size, const std::string& name) {
  Decoder in(stream, size, name);
  Trace trace;
  Counts counts = DecodeHeader(in, trace);
  in.CheckDigest();
  DecodeHeader(in, trace);
  CheckCounts(in, trace, counts);
  if (counts.window_bytes > 0) {
    trace.whole_from_ps = in.Number<uint64_t>("window");
  } else if (trace.dropped > 0) {
    trace.whole_from_ps = kUnknownPs;  // written before there were windows
  }
  const uint64_t metadata_at = in.offset();
  trace.metadata = in.Bytes(counts.metadata_bytes, "metadata");
  if (!IsMetadata(trace.metadata)) in.Fail(metadata_at, "the metadata is not a JSON object");

  // Counts may lie: nothing is reserved by them, every entry takes its bytes from the file.
  for (uint32_t i = 0; i < counts.tracks; ++i) {
    std::string process = in.Text("track process");
    trace.tracks.push_back({std::move(process), in.Text("track name")});
  }
  for (uint32_t i = 0; i < counts.names; ++i) trace.names.push_back(in.Text("name"));
  char padding[8] = {};
  in.Take(padding, (8 - in.offset() % 8) % 8, "padding");
  for (const char pad : padding) {
    if (pad != '\0') in.Fail(in.offset(), "the padding before the records is not zero");
  }
  const uint64_t records_bytes = in.left() - std::min<uint64_t>(in.left(), kTraceChecksumBytes);
  if (counts.records != records_bytes / sizeof(Record) || records_bytes % sizeof(Record) != 0) {
    in.Fail(in.offset(), fmt::format("{} records of {} bytes announced, {} bytes are there",
                                     counts.records, sizeof(Record), records_bytes));
  }
  DecodeRecords(in, counts.records, trace);
  return trace;
}

}  // namespace

bool IsMetadata(std::string_view text) {
  try {
    CheckJsonText(text, "metadata");
  } catch (const spyre::Error&) {
    return false;
  }
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false).is_object();
}

Trace DecodeTrace(const std::string& bytes, const std::string& name) {
  std::istringstream in(bytes);
  return Decode(in, bytes.size(), name);
}

Trace ReadTrace(const std::string& path) {
  InputFile file = OpenFile(path, "trace", kMaxTraceBytes);
  return Decode(file.stream, file.size_bytes, path);
}

}  // namespace spyre::trace
