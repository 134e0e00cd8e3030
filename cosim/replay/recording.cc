// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/recording.h"

#include <contract/registers.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "driver/transport.h"

namespace spyre::cosim {
namespace {

constexpr char kMagic[] = {'S', 'P', 'Y', 'R', 'E', 'R', 'E', 'C'};
constexpr uint32_t kVersion = 1;
// All that a run moves is in its recording; a chunk is read when the one before it was right.
constexpr uint64_t kMaxFileBytes = 16ull << 30;
constexpr uint64_t kMaxConfigBytes = kMaxTextBytes;
// A chunk is closed when it has kChunkBytes; its last record may be the digests of 64 GiB.
constexpr uint64_t kMaxChunkBytes = 256ull << 20;
constexpr size_t kChunkBytes = 1 << 20;  // a chunk is closed when it has that many

struct FileHead {
  char magic[8];
  uint32_t version;
  uint32_t spec_version;
  uint64_t config_bytes;
  uint64_t digest;  // of the configuration
};
static_assert(sizeof(FileHead) == 32);

struct ChunkHead {
  uint32_t bytes;
  uint32_t records;
  uint64_t digest;  // of the records
};
static_assert(sizeof(ChunkHead) == 16);

template <typename T>
std::string_view BytesOfHead(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Checks and takes apart.
class Parser {
 public:
  // size: of what `in` holds.
  Parser(std::istream& in, uint64_t size, const std::string& name)
      : in_(in), size_(size), name_(name) {}

  Recording Parse() {
    Recording recording;
    recording.config = TakeConfig();
    while (!ended_) TakeChunk(recording);
    if (offset_ != size_) Fail(offset_, "data after the end of the recording");
    return recording;
  }

 private:
  [[noreturn]] void Fail(uint64_t offset, const std::string& what) const {
    throw BadInput("{}: offset {}: {}", name_, offset, what);
  }
  void Require(bool right, uint64_t offset, const char* what) const {
    if (!right) Fail(offset, what);
  }

  // The next bytes of the file.
  void Read(void* to, uint64_t size, const char* what) {
    if (size > size_ - offset_) {
      Fail(offset_, fmt::format("incomplete: {} needs {} bytes, {} are left; the run that recorded "
                                "it did not end",
                                what, size, size_ - offset_));
    }
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
    if (!in_) Fail(offset_, "cannot be read");
    offset_ += size;
  }
  template <typename T>
  T ReadHead(const char* what) {
    T head;
    Read(&head, sizeof head, what);
    return head;
  }
  std::string ReadBytes(uint64_t size, uint64_t most, uint64_t digest, const char* what) {
    const uint64_t start = offset_;
    const bool is_there = size <= size_ - offset_;
    if (is_there && size > most) {
      Fail(start, fmt::format("{} of {} bytes; at most {}", what, size, most));
    }
    std::string bytes(is_there ? size : 0, '\0');
    Read(bytes.data(), size, what);
    const uint64_t computed = XXH3_64bits(bytes.data(), bytes.size());
    if (computed != digest) {
      Fail(start, fmt::format("corrupt: digest {:016x}, the bytes give {:016x}", digest, computed));
    }
    return bytes;
  }

  std::string TakeConfig() {
    char magic[sizeof kMagic] = {};
    if (size_ >= sizeof magic) Read(magic, sizeof magic, "the head");
    if (std::memcmp(magic, kMagic, sizeof magic) != 0)
      Fail(0, "no recording: it does not start with SPYREREC");
    in_.seekg(0);
    offset_ = 0;
    const auto head = ReadHead<FileHead>("the head");
    if (head.version != kVersion) {
      Fail(8, fmt::format("version {}; this program reads version {}", head.version, kVersion));
    }
    if (head.spec_version != kSpecVersion) {
      Fail(12, fmt::format("recorded on a card of register map {}; this program has {}",
                           head.spec_version, kSpecVersion));
    }
    return ReadBytes(head.config_bytes, kMaxConfigBytes, head.digest, "the configuration");
  }

  void TakeChunk(Recording& recording) {
    const auto head = ReadHead<ChunkHead>("a chunk's head");
    const uint64_t start = offset_;
    recording.chunks->push_back(ReadBytes(head.bytes, kMaxChunkBytes, head.digest, "a chunk"));
    std::string_view chunk = recording.chunks->back();
    uint64_t at = start;
    const auto take = [&](uint64_t size) {
      Require(size <= chunk.size(), at, "a record goes beyond its chunk");
      const std::string_view taken = chunk.substr(0, size);
      chunk.remove_prefix(size);
      return taken;
    };
    for (uint32_t i = 0; i < head.records; ++i) {
      Require(!ended_, at, "a record after the last one");
      Record record;
      std::memcpy(static_cast<RecordHead*>(&record), take(sizeof(RecordHead)).data(),
                  sizeof(RecordHead));
      record.data = take(record.data_bytes);
      CheckRecord(record, at, recording.records.size());
      time_ps_ = record.time_ps;
      recording.records.push_back(record);
      at = offset_ - chunk.size();
    }
    Require(chunk.empty(), at, "a chunk has more bytes than its records");
    // Each chunk moves on, so that the loop over them ends.
    Require(head.records > 0, start, "an empty chunk");
  }

  void CheckRecord(const Record& record, uint64_t at, size_t count) {
    Require(record.function <= kTotalVfs, at, "no function has such a number");
    Require(record.time_ps >= time_ps_ && record.time_ps <= kMaxRecordedPs, at,
            "time goes backwards");
    switch (record.kind) {
      case RecordKind::kConfigRead:
      case RecordKind::kConfigWrite:
        Require(record.address % 4 == 0 && record.address < 4096, at,
                "an offset in configuration space is a multiple of 4 below 4096");
        return RequireWord(record, at);
      case RecordKind::kRead:
      case RecordKind::kWrite:
        Require(record.unit == 0 || record.unit == 2 || record.unit == 4, at,
                "BARs are 0, 2 and 4");
        Require(record.address % 4 == 0, at, "an offset in a BAR is a multiple of 4");
        return RequireWord(record, at);
      case RecordKind::kMap:
        return Map(record, at);
      case RecordKind::kUnmap:
        Require(mappings_.count({record.function, record.address}) != 0, at,
                "an unmap of what is not mapped");
        mapped_bytes_ -= mappings_.at({record.function, record.address});
        mappings_.erase({record.function, record.address});
        return;
      case RecordKind::kWait:
        Require(record.unit < kMsiVectors, at, "no such interrupt vector");
        Require(record.value <= static_cast<uint64_t>(driver::WaitResult::kStalled), at,
                "no such outcome of a wait");
        return Require(record.address <= kMaxRecordedPs, at, "a deadline is out of range");
      case RecordKind::kAdvance:
        return Require(record.value <= record.time_ps - time_ps_, at,
                       "host work longer than its time");
      case RecordKind::kHostData:
        return Require(Holds(record.function, record.address, record.data.size()), at,
                       "host data outside mapped memory");
      case RecordKind::kResponse:
        Require(record.data.size() == sizeof(Response), at, "a response has 128 bytes");
        return Require(Holds(record.function, record.address, record.data.size()), at,
                       "a response outside mapped memory");
      case RecordKind::kOutput:
        Require(Holds(record.function, record.address, record.value), at,
                "an output outside mapped memory");
        return Require(
            record.data.size() == (record.value <= kWholeOutputBytes
                                       ? record.value
                                       : (record.value + kPageBytes - 1) / kPageBytes * 8),
            at, "data of an output do not have its size");
      case RecordKind::kEnd:
        Require(record.value == count, at, "records are missing");
        ended_ = true;
        return;
    }
    Fail(at, fmt::format("no kind of record has number {}", static_cast<unsigned>(record.kind)));
  }

  void RequireWord(const Record& record, uint64_t at) const {
    Require(record.value <= UINT32_MAX, at, "a register has 32 bits");
  }

  void Map(const Record& record, uint64_t at) {
    Require(record.value > 0 && record.value <= kMaxMappedBytes - mapped_bytes_, at,
            "more than 64 GiB of host memory, or an empty mapping");
    Require(record.address <= UINT64_MAX - record.value, at,
            "a mapping beyond the end of the address space");
    const auto next = mappings_.lower_bound({record.function, record.address});
    Require(next == mappings_.end() || next->first.first != record.function ||
                record.address + record.value <= next->first.second,
            at, "a mapping over another");
    if (next != mappings_.begin()) {
      const auto& [place, bytes] = *std::prev(next);
      Require(place.first != record.function || place.second + bytes <= record.address, at,
              "a mapping over another");
    }
    mappings_[{record.function, record.address}] = record.value;
    mapped_bytes_ += record.value;
  }

  bool Holds(uint16_t function, uint64_t address, uint64_t bytes) const {
    const auto next = mappings_.upper_bound({function, address});
    if (next == mappings_.begin()) return false;
    const auto& [place, mapped] = *std::prev(next);
    const uint64_t offset = address - place.second;
    return place.first == function && offset <= mapped && bytes <= mapped - offset;
  }

  std::istream& in_;
  const uint64_t size_;
  const std::string& name_;
  uint64_t offset_ = 0;
  uint64_t time_ps_ = 0;
  uint64_t mapped_bytes_ = 0;
  std::map<std::pair<uint16_t, uint64_t>, uint64_t> mappings_;  // function, IO address: bytes
  bool ended_ = false;
};

}  // namespace

std::string OutputData(const uint8_t* data, uint64_t bytes) {
  if (bytes <= kWholeOutputBytes) return {reinterpret_cast<const char*>(data), bytes};
  std::string digests;
  for (uint64_t offset = 0; offset < bytes; offset += kPageBytes) {
    const XXH64_hash_t digest = XXH3_64bits(data + offset, std::min(kPageBytes, bytes - offset));
    digests += BytesOfHead(digest);
  }
  return digests;
}

Recording ParseRecording(const std::string& bytes, const std::string& name) {
  std::istringstream in(bytes);
  return Parser(in, bytes.size(), name).Parse();
}

Recording ReadRecording(const std::string& path) {
  InputFile file = OpenFile(path, "recording", kMaxFileBytes);
  return Parser(file.stream, file.size_bytes, path).Parse();
}

RecordingWriter::RecordingWriter(const std::string& path, const std::string& config)
    : path_(path), file_(path, "recording") {
  FileHead head{
      {}, kVersion, kSpecVersion, config.size(), XXH3_64bits(config.data(), config.size())};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  file_.stream() << BytesOfHead(head) << config;
  if (!file_.stream()) throw BadInput("{}: cannot write the recording", path_);
}

void RecordingWriter::Add(RecordHead head, std::string_view data) {
  head.data_bytes = static_cast<uint32_t>(data.size());
  chunk_ += BytesOfHead(head);
  chunk_ += data;
  ++chunk_records_;
  ++records_;
  if (chunk_.size() >= kChunkBytes) FlushChunk();
}

void RecordingWriter::Finish(uint64_t time_ps) {
  RecordHead end;
  end.time_ps = time_ps;
  end.value = records_;
  Add(end);
  FlushChunk();
  file_.Commit();
}

void RecordingWriter::FlushChunk() {
  if (chunk_records_ == 0) return;
  const ChunkHead head{static_cast<uint32_t>(chunk_.size()), chunk_records_,
                       XXH3_64bits(chunk_.data(), chunk_.size())};
  file_.stream() << BytesOfHead(head) << chunk_;
  if (!file_.stream()) throw BadInput("{}: cannot write all of the recording", path_);
  chunk_.clear();
  chunk_records_ = 0;
}

}  // namespace spyre::cosim
