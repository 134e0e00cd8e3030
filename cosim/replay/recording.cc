#include "cosim/recording.h"

#include <contract/registers.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "driver/transport.h"
#include "model/contract/error.h"
#include "model/contract/files.h"

namespace spyre::cosim {
namespace {

constexpr char kMagic[] = {'S', 'P', 'Y', 'R', 'E', 'R', 'E', 'C'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxFileBytes = 16ull << 30;
constexpr uint64_t kMaxMappedBytes = 64ull << 30;  // of all mappings at one time
constexpr size_t kChunkBytes = 1 << 20;            // a chunk is closed when it has that many

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
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Checks and takes apart.
class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Recording Parse() {
    Recording recording;
    recording.config = TakeConfig();
    while (!ended_) TakeChunk(recording.records);
    if (offset_ != bytes_.size()) Fail(offset_, "data after the end of the recording");
    return recording;
  }

 private:
  [[noreturn]] void Fail(size_t offset, const std::string& what) const {
    throw BadInput("{}: offset {}: {}", name_, offset, what);
  }
  void Require(bool right, size_t offset, const char* what) const {
    if (!right) Fail(offset, what);
  }

  std::string_view Take(uint64_t size, const char* what) {
    const uint64_t left = bytes_.size() - offset_;
    if (size > left) {
      Fail(offset_, fmt::format("incomplete: {} needs {} bytes, {} are left; the run that recorded "
                                "it did not end",
                                what, size, left));
    }
    const std::string_view taken = bytes_.substr(offset_, size);
    offset_ += size;
    return taken;
  }
  template <typename T>
  T TakeHead(const char* what) {
    T head;
    std::memcpy(&head, Take(sizeof head, what).data(), sizeof head);
    return head;
  }
  void RequireDigest(std::string_view data, uint64_t digest, size_t offset) const {
    const uint64_t computed = XXH3_64bits(data.data(), data.size());
    if (computed != digest) {
      Fail(offset,
           fmt::format("corrupt: digest {:016x}, the bytes give {:016x}", digest, computed));
    }
  }

  std::string TakeConfig() {
    if (bytes_.substr(0, sizeof kMagic) != std::string_view(kMagic, sizeof kMagic))
      Fail(0, "no recording: it does not start with SPYREREC");
    const auto head = TakeHead<FileHead>("the head");
    if (head.version != kVersion) {
      Fail(8, fmt::format("version {}; this program reads version {}", head.version, kVersion));
    }
    if (head.spec_version != kSpecVersion) {
      Fail(12, fmt::format("recorded on a card of register map {}; this program has {}",
                           head.spec_version, kSpecVersion));
    }
    const size_t start = offset_;
    const std::string_view config = Take(head.config_bytes, "the configuration");
    RequireDigest(config, head.digest, start);
    return std::string(config);
  }

  void TakeChunk(std::vector<Record>& records) {
    const auto head = TakeHead<ChunkHead>("a chunk's head");
    const size_t start = offset_;
    RequireDigest(Take(head.bytes, "a chunk"), head.digest, start);
    const size_t end = offset_;
    offset_ = start;
    for (uint32_t i = 0; i < head.records; ++i) {
      Require(!ended_, offset_, "a record after the last one");
      const size_t at = offset_;
      Record record;
      static_cast<RecordHead&>(record) = TakeHead<RecordHead>("a record's head");
      record.data = Take(record.data_bytes, "a record");
      Require(offset_ <= end, at, "a record goes beyond its chunk");
      CheckRecord(record, at, records.size());
      time_ps_ = record.time_ps;
      records.push_back(record);
    }
    Require(offset_ == end, offset_, "a chunk has more bytes than its records");
    // Each chunk moves on, so that the loop over them ends.
    Require(head.records > 0, start, "an empty chunk");
  }

  void CheckRecord(const Record& r, size_t at, size_t count) {
    Require(r.function <= kTotalVfs, at, "no function has such a number");
    Require(r.time_ps >= time_ps_ && r.time_ps <= kMaxRecordedPs, at, "time goes backwards");
    switch (r.kind) {
      case RecordKind::kConfigRead:
      case RecordKind::kConfigWrite:
        Require(r.address % 4 == 0 && r.address < 4096, at,
                "an offset in configuration space is a multiple of 4 below 4096");
        return RequireWord(r, at);
      case RecordKind::kRead:
      case RecordKind::kWrite:
        Require(r.unit == 0 || r.unit == 2 || r.unit == 4, at, "BARs are 0, 2 and 4");
        Require(r.address % 4 == 0, at, "an offset in a BAR is a multiple of 4");
        return RequireWord(r, at);
      case RecordKind::kMap:
        return Map(r, at);
      case RecordKind::kUnmap:
        Require(Holds(r.function, r.address, 0) && mappings_.count(r.address) != 0, at,
                "an unmap of what is not mapped");
        mapped_bytes_ -= mappings_.at(r.address).second;
        mappings_.erase(r.address);
        return;
      case RecordKind::kWait:
        Require(r.unit < kMsiVectors, at, "no such interrupt vector");
        Require(r.value <= static_cast<uint64_t>(driver::WaitResult::kStalled), at,
                "no such outcome of a wait");
        return Require(r.address <= kMaxRecordedPs, at, "a deadline is out of range");
      case RecordKind::kAdvance:
        return Require(r.value <= r.time_ps - time_ps_, at, "host work longer than its time");
      case RecordKind::kHostData:
        return Require(Holds(r.function, r.address, r.data.size()), at,
                       "host data outside mapped memory");
      case RecordKind::kResponse:
        Require(r.data.size() == sizeof(Response), at, "a response has 128 bytes");
        return Require(Holds(r.function, r.address, r.data.size()), at,
                       "a response outside mapped memory");
      case RecordKind::kOutput:
        Require(Holds(r.function, r.address, r.value), at, "an output outside mapped memory");
        return Require(r.data.size() == (r.value <= kWholeOutputBytes
                                             ? r.value
                                             : (r.value + kPageBytes - 1) / kPageBytes * 8),
                       at, "data of an output do not have its size");
      case RecordKind::kEnd:
        Require(r.value == count, at, "records are missing");
        ended_ = true;
        return;
    }
    Fail(at, fmt::format("no kind of record has number {}", static_cast<unsigned>(r.kind)));
  }

  void RequireWord(const Record& r, size_t at) const {
    Require(r.value <= UINT32_MAX, at, "a register has 32 bits");
  }

  void Map(const Record& r, size_t at) {
    Require(r.value > 0 && r.value <= kMaxMappedBytes - mapped_bytes_, at,
            "more than 64 GiB of host memory, or an empty mapping");
    Require(r.address <= UINT64_MAX - r.value, at, "a mapping beyond the end of the address space");
    const auto next = mappings_.lower_bound(r.address);
    Require(next == mappings_.end() || r.address + r.value <= next->first, at,
            "a mapping over another");
    if (next != mappings_.begin()) {
      const auto& [base, mapping] = *std::prev(next);
      Require(base + mapping.second <= r.address, at, "a mapping over another");
    }
    mappings_[r.address] = {r.function, r.value};
    mapped_bytes_ += r.value;
  }

  bool Holds(uint16_t function, uint64_t address, uint64_t bytes) const {
    const auto next = mappings_.upper_bound(address);
    if (next == mappings_.begin()) return false;
    const auto& [base, mapping] = *std::prev(next);
    const uint64_t offset = address - base;
    return mapping.first == function && offset <= mapping.second &&
           bytes <= mapping.second - offset;
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t offset_ = 0;
  uint64_t time_ps_ = 0;
  uint64_t mapped_bytes_ = 0;
  std::map<uint64_t, std::pair<uint16_t, uint64_t>> mappings_;  // IO address: function, bytes
  bool ended_ = false;
};

}  // namespace

std::string OutputData(const uint8_t* data, uint64_t bytes) {
  if (bytes <= kWholeOutputBytes) return {reinterpret_cast<const char*>(data), bytes};
  std::string digests;
  for (uint64_t offset = 0; offset < bytes; offset += kPageBytes) {
    const XXH64_hash_t digest = XXH3_64bits(data + offset, std::min(kPageBytes, bytes - offset));
    digests += BytesOf(digest);
  }
  return digests;
}

Recording ParseRecording(std::string bytes, const std::string& name) {
  auto file = std::make_shared<const std::string>(std::move(bytes));
  Recording recording = Parser(*file, name).Parse();
  recording.file = std::move(file);
  return recording;
}

Recording ReadRecording(const std::string& path) {
  return ParseRecording(ReadFile(path, "recording", kMaxFileBytes), path);
}

RecordingWriter::RecordingWriter(const std::string& path, const std::string& config)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
  FileHead head{
      {}, kVersion, kSpecVersion, config.size(), XXH3_64bits(config.data(), config.size())};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  file_ << BytesOf(head) << config;
  if (!file_) throw BadInput("{}: cannot write the recording", path_);
}

void RecordingWriter::Add(RecordHead head, std::string_view data) {
  head.data_bytes = static_cast<uint32_t>(data.size());
  chunk_ += BytesOf(head);
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
  file_.close();
  if (!file_) throw BadInput("{}: cannot write all of the recording", path_);
}

void RecordingWriter::FlushChunk() {
  if (chunk_records_ == 0) return;
  const ChunkHead head{static_cast<uint32_t>(chunk_.size()), chunk_records_,
                       XXH3_64bits(chunk_.data(), chunk_.size())};
  file_ << BytesOf(head) << chunk_;
  if (!file_) throw BadInput("{}: cannot write all of the recording", path_);
  chunk_.clear();
  chunk_records_ = 0;
}

}  // namespace spyre::cosim
