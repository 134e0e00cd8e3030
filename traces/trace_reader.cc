// SPDX-License-Identifier: Apache-2.0
// Reading a trace file, front to back and block by block: of each its sizes first, then its
// checksum, then what it says.
#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <sstream>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/printable.h"
#include "traces/trace_block.h"
#include "traces/trace_file.h"

namespace spyre::trace {
namespace {

// The largest trace.capacity is 2^28 records of 48 bytes: 12 GiB, and names. Packed and unpacked:
// a small file may be made to unpack to any size.
constexpr uint64_t kMaxTraceBytes = 16ull << 30;
// A card has some hundred; what shows tracks takes time and memory for each.
constexpr uint32_t kMaxTracks = 1 << 16;

// The entries of an unpacked block of texts.
class Texts {
 public:
  Texts(std::string_view content, const std::string& where) : content_(content), where_(where) {}

  std::string Take(const char* what) {
    uint32_t size = 0;
    if (content_.size() < sizeof size) Fail(fmt::format("the {} is cut off", what));
    std::memcpy(&size, content_.data(), sizeof size);
    content_.remove_prefix(sizeof size);
    if (size > content_.size()) {
      Fail(fmt::format("{} needs {} bytes, but only {} are left", what, size, content_.size()));
    }
    std::string text(content_.substr(0, size));
    if (!IsPrintable(text)) {
      Fail(fmt::format("{} is not printable UTF-8: '{}'", what, Printable(text.substr(0, 100))));
    }
    content_.remove_prefix(size);
    return text;
  }
  void End() const {
    if (!content_.empty()) Fail(fmt::format("{} bytes behind the last entry", content_.size()));
  }

 private:
  [[noreturn]] void Fail(const std::string& problem) const { throw Error(where_ + problem); }

  std::string_view content_;
  const std::string& where_;
};

class Reader {
 public:
  // size: of what `in` holds.
  Reader(std::istream& in, uint64_t size, const std::string& name)
      : in_(in), size_(size), name_(name) {}

  Trace Read() {
    ReadFileHeader();
    BlockHeader header;
    std::string packed;
    while (ReadBlock(header, packed)) TakeBlock(header, Unpack(header, packed));
    if (!has_metadata_) Fail(offset_, "truncated: the file has no metadata");
    return std::move(trace_);
  }

 private:
  [[noreturn]] void Fail(uint64_t offset, const std::string& problem) const {
    throw Error(Where(offset) + problem);
  }
  std::string Where(uint64_t offset) const { return fmt::format("{}: offset {}: ", name_, offset); }
  uint64_t left() const { return size_ - offset_; }

  // size: at most what is left.
  void Take(void* to, uint64_t size) {
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
    if (!in_) Fail(offset_, "cannot be read");
    offset_ += size;
  }

  void ReadFileHeader() {
    std::string bytes(std::min<uint64_t>(size_, kFileHeaderBytes), '\0');
    Take(bytes.data(), bytes.size());
    const auto number = [&](size_t offset, auto value) {
      std::memcpy(&value, bytes.data() + offset, sizeof value);
      return value;
    };
    // Enough bytes to tell a foreign file, or one of an older program, from a short one.
    if (bytes.substr(0, kTraceMagic.size()) != kTraceMagic.substr(0, bytes.size())) {
      Fail(0, "not a trace file: it does not start with SPYRETRC");
    }
    if (bytes.size() >= 12) {
      if (const auto version = number(8, uint32_t{}); version != kTraceVersion) {
        Fail(8, fmt::format("version {}; this program reads version {}: trace the run again, or "
                            "read the file with the program that wrote it",
                            version, kTraceVersion));
      }
    }
    if (bytes.size() < kFileHeaderBytes) {
      Fail(size_,
           fmt::format("truncated: {} bytes, the header alone has {}", size_, kFileHeaderBytes));
    }
    const auto stored = number(kFileHeaderBytes - 8, uint64_t{});
    if (const uint64_t computed = XXH3_64bits(bytes.data(), kFileHeaderBytes - 8);
        computed != stored) {
      FailChecksum(kFileHeaderBytes - 8, stored, computed);
    }
    if (const auto record_bytes = number(12, uint32_t{}); record_bytes != sizeof(Record)) {
      Fail(12, fmt::format("records of {} bytes; version {} has {}", record_bytes, kTraceVersion,
                           sizeof(Record)));
    }
    const auto file_bytes = number(16, uint64_t{});
    trace_.is_interrupted = file_bytes == 0;
    if (!trace_.is_interrupted && file_bytes != size_) {
      Fail(16,
           fmt::format("{}: the header says {} bytes, the file has {}",
                       file_bytes > size_ ? "truncated" : "data after the end", file_bytes, size_));
    }
    trace_.dropped = number(24, uint64_t{});
    trace_.whole_from_ps = number(32, uint64_t{});
    if (trace_.dropped == 0 && trace_.whole_from_ps > 0) {
      Fail(32, "a window in a trace with 0 dropped records");
    }
  }

  [[noreturn]] void FailChecksum(uint64_t offset, uint64_t stored, uint64_t computed) const {
    Fail(offset, fmt::format("corrupt: checksum {:016x}, the bytes give {:016x}; the run must be "
                             "traced again",
                             stored, computed));
  }

  // false: there is no further block, or only the start of one that an interrupted run was writing.
  bool ReadBlock(BlockHeader& header, std::string& packed) {
    if (left() == 0) return false;
    block_offset_ = offset_;
    if (left() < kBlockHeaderBytes) return EndsInABlock(kBlockHeaderBytes);
    Take(&header, sizeof header);
    const auto kind = static_cast<uint32_t>(header.kind);
    if (kind < static_cast<uint32_t>(BlockKind::kMetadata) ||
        kind > static_cast<uint32_t>(BlockKind::kResults)) {
      Fail(block_offset_, fmt::format("a block of unknown kind {}", kind));
    }
    if (header.unpacked_bytes > kMaxBlockBytes ||
        header.packed_bytes > ZSTD_compressBound(header.unpacked_bytes)) {
      Fail(block_offset_, fmt::format("a block of {} bytes, {} packed; at most {}",
                                      header.unpacked_bytes, header.packed_bytes, kMaxBlockBytes));
    }
    unpacked_bytes_ += header.unpacked_bytes;
    if (unpacked_bytes_ > kMaxTraceBytes) {
      Fail(block_offset_, fmt::format("the blocks up to here unpack to {} bytes, too many for a "
                                      "trace; at most {}",
                                      unpacked_bytes_, kMaxTraceBytes));
    }
    if (header.packed_bytes > left()) return EndsInABlock(header.packed_bytes);
    packed.resize(header.packed_bytes);
    Take(packed.data(), packed.size());
    if (const uint64_t computed = BlockChecksum(header, packed); computed != header.checksum) {
      FailChecksum(block_offset_, header.checksum, computed);
    }
    return true;
  }

  bool EndsInABlock(uint64_t bytes) const {
    if (trace_.is_interrupted) return false;
    Fail(offset_,
         fmt::format("truncated: a block needs {} bytes, but only {} are left", bytes, left()));
  }

  std::string Unpack(const BlockHeader& header, const std::string& packed) const {
    std::string content(header.unpacked_bytes, '\0');
    const size_t size =
        ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
    if (ZSTD_isError(size) != 0 || size != content.size()) {
      Fail(block_offset_,
           fmt::format("a block that does not unpack to {} bytes: {}", content.size(),
                       ZSTD_isError(size) != 0 ? ZSTD_getErrorName(size) : "fewer"));
    }
    return content;
  }

  void TakeBlock(const BlockHeader& header, std::string content) {
    const std::string where = Where(block_offset_);
    if ((header.kind == BlockKind::kMetadata) == has_metadata_) {
      throw Error(where + "the metadata is the first block, and no other is");
    }
    if (has_results_) throw Error(where + "a block behind the results, which are the last");
    Texts texts(content, where);
    switch (header.kind) {
      case BlockKind::kMetadata:
        has_metadata_ = true;
        if (!IsMetadata(content)) throw Error(where + "the metadata is not a JSON object");
        trace_.metadata = std::move(content);
        break;
      case BlockKind::kResults:
        has_results_ = true;
        if (!IsMetadata(content)) throw Error(where + "the results are not a JSON object");
        trace_.results = std::move(content);
        break;
      case BlockKind::kTracks:
        if (header.entries > kMaxTracks - trace_.tracks.size()) {
          throw Error(where + fmt::format("{} tracks; at most {}",
                                          trace_.tracks.size() + header.entries, kMaxTracks));
        }
        for (uint32_t i = 0; i < header.entries; ++i) {
          std::string process = texts.Take("track process");
          trace_.tracks.push_back({std::move(process), texts.Take("track name")});
        }
        texts.End();
        break;
      case BlockKind::kNames:
        for (uint32_t i = 0; i < header.entries; ++i) trace_.names.push_back(texts.Take("name"));
        texts.End();
        break;
      case BlockKind::kRecords:
        if (content.size() != uint64_t{header.entries} * sizeof(Record)) {
          throw Error(where + fmt::format("{} records of {} bytes announced, {} bytes are there",
                                          header.entries, sizeof(Record), content.size()));
        }
        UnpackRecords(content, block_);
        for (const Record& record : block_) CheckRecord(where, record);
        trace_.records.insert(trace_.records.end(), block_.begin(), block_.end());
        break;
    }
    trace_.digest = header.digest;
  }

  void CheckRecord(const std::string& where, const Record& record) const {
    if (record.track >= trace_.tracks.size()) {
      throw Error(where + fmt::format("record on track {}, there are {}", record.track,
                                      trace_.tracks.size()));
    }
    if (record.name >= trace_.names.size()) {
      throw Error(where + fmt::format("record with name {}, there are {}", record.name,
                                      trace_.names.size()));
    }
    if (record.end_ps < record.start_ps) {
      throw Error(where + fmt::format("record ends at {} ps, before its start at {} ps",
                                      record.end_ps, record.start_ps));
    }
    const bool is_single_bit =
        record.category != 0 && (record.category & (record.category - 1)) == 0;
    if (!is_single_bit || record.category > kStep) {
      throw Error(where + fmt::format("record of unknown category {:#x}", record.category));
    }
  }

  std::istream& in_;
  const uint64_t size_;
  const std::string& name_;
  uint64_t offset_ = 0, block_offset_ = 0;
  uint64_t unpacked_bytes_ = 0;
  bool has_metadata_ = false, has_results_ = false;
  std::vector<Record> block_;
  Trace trace_;
};

}  // namespace

Trace DecodeTrace(const std::string& bytes, const std::string& name) {
  std::istringstream in(bytes);
  return Reader(in, bytes.size(), name).Read();
}

Trace ReadTrace(const std::string& path) {
  InputFile file = OpenFile(path, "trace", kMaxTraceBytes);
  return Reader(file.stream, file.size_bytes, path).Read();
}

}  // namespace spyre::trace
