// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_block.h"

#include <xxhash.h>
#include <zstd.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace spyre::trace {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "numbers are stored as they are in memory");

// The fastest: the columns are so regular that more effort gains little.
constexpr int kZstdLevel = 1;
// A block of texts ends with the text that reaches this.
constexpr size_t kTextBlockBytes = 1 << 20;

template <typename T>
void Append(std::string& out, T value) {
  static_assert(std::is_integral_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendText(std::string& out, const std::string& text) {
  Append(out, static_cast<uint32_t>(text.size()));
  out += text;
}

// Blocks of what `append` writes for the entries [first, count).
template <typename AppendEntry>
std::string EncodeEntries(BlockKind kind, size_t first, size_t count, uint64_t digest,
                          AppendEntry append) {
  std::string blocks, content;
  uint32_t entries = 0;
  for (size_t i = first; i < count; ++i) {
    append(content, i);
    ++entries;
    if (content.size() < kTextBlockBytes && i + 1 < count) continue;
    blocks += EncodeBlock(kind, entries, content, digest);
    content.clear();
    entries = 0;
  }
  return blocks;
}

// value(i) of all records, one behind the other.
template <typename T, typename Value>
void AppendColumn(std::string& out, size_t count, Value value) {
  const size_t at = out.size();
  out.resize(at + count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T stored = value(i);
    std::memcpy(out.data() + at + i * sizeof(T), &stored, sizeof stored);
  }
}

template <typename T, typename Take>
void TakeColumn(const char*& columns, size_t count, Take take) {
  for (size_t i = 0; i < count; ++i, columns += sizeof(T)) {
    T stored;
    std::memcpy(&stored, columns, sizeof stored);
    take(i, stored);
  }
}

}  // namespace

std::string EncodeFileHeader(const FileHeader& header) {
  std::string out(kTraceMagic);
  Append(out, kTraceVersion);
  Append(out, static_cast<uint32_t>(sizeof(Record)));
  Append(out, header.file_bytes);
  Append(out, header.dropped);
  Append(out, header.whole_from_ps);
  Append(out, uint64_t{XXH3_64bits(out.data(), out.size())});
  return out;
}

uint64_t BlockChecksum(const BlockHeader& header, std::string_view packed) {
  const uint64_t seed = XXH3_64bits(&header, offsetof(BlockHeader, checksum));
  return XXH3_64bits_withSeed(packed.data(), packed.size(), seed);
}

std::string EncodeBlock(BlockKind kind, uint32_t entries, std::string_view content,
                        uint64_t digest) {
  std::string out(kBlockHeaderBytes + ZSTD_compressBound(content.size()), '\0');
  const size_t packed =
      ZSTD_compress(out.data() + kBlockHeaderBytes, out.size() - kBlockHeaderBytes, content.data(),
                    content.size(), kZstdLevel);
  if (ZSTD_isError(packed) != 0)
    throw InternalError("a block of the trace cannot be packed: {}", ZSTD_getErrorName(packed));
  out.resize(kBlockHeaderBytes + packed);
  BlockHeader header{
      kind,   entries, static_cast<uint32_t>(content.size()), static_cast<uint32_t>(packed),
      digest, 0};
  header.checksum = BlockChecksum(header, std::string_view(out).substr(kBlockHeaderBytes));
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

std::string PackRecords(const Record* records, size_t count) {
  std::string out;
  out.reserve(count * sizeof(Record));
  const auto before = [&](size_t i) { return i == 0 ? Record{} : records[i - 1]; };
  AppendColumn<uint64_t>(out, count,
                         [&](size_t i) { return records[i].start_ps - before(i).start_ps; });
  AppendColumn<uint64_t>(out, count,
                         [&](size_t i) { return records[i].end_ps - records[i].start_ps; });
  AppendColumn<uint64_t>(out, count, [&](size_t i) { return records[i].flow - before(i).flow; });
  AppendColumn<uint64_t>(out, count, [&](size_t i) { return records[i].bytes; });
  AppendColumn<uint32_t>(out, count, [&](size_t i) { return records[i].track; });
  AppendColumn<uint32_t>(out, count, [&](size_t i) { return records[i].name; });
  AppendColumn<uint32_t>(out, count, [&](size_t i) { return records[i].category; });
  AppendColumn<uint32_t>(out, count, [&](size_t i) { return records[i].detail; });
  return out;
}

void UnpackRecords(std::string_view columns, std::vector<Record>& records) {
  const size_t count = columns.size() / sizeof(Record);
  records.resize(count);
  const char* at = columns.data();
  uint64_t start = 0, flow = 0;
  TakeColumn<uint64_t>(at, count,
                       [&](size_t i, uint64_t value) { records[i].start_ps = start += value; });
  TakeColumn<uint64_t>(at, count, [&](size_t i, uint64_t value) {
    records[i].end_ps = records[i].start_ps + value;
  });
  TakeColumn<uint64_t>(at, count,
                       [&](size_t i, uint64_t value) { records[i].flow = flow += value; });
  TakeColumn<uint64_t>(at, count, [&](size_t i, uint64_t value) { records[i].bytes = value; });
  TakeColumn<uint32_t>(at, count, [&](size_t i, uint32_t value) { records[i].track = value; });
  TakeColumn<uint32_t>(at, count, [&](size_t i, uint32_t value) { records[i].name = value; });
  TakeColumn<uint32_t>(at, count, [&](size_t i, uint32_t value) { records[i].category = value; });
  TakeColumn<uint32_t>(at, count, [&](size_t i, uint32_t value) { records[i].detail = value; });
}

std::string EncodeTexts(const std::vector<Track>& tracks, size_t first_track,
                        const std::vector<std::string>& names, size_t first_name, uint64_t digest) {
  return EncodeEntries(BlockKind::kTracks, first_track, tracks.size(), digest,
                       [&](std::string& out, size_t i) {
                         AppendText(out, tracks[i].process);
                         AppendText(out, tracks[i].name);
                       }) +
         EncodeEntries(BlockKind::kNames, first_name, names.size(), digest,
                       [&](std::string& out, size_t i) { AppendText(out, names[i]); });
}

std::string EncodeMetadata(std::string_view metadata) {
  return EncodeBlock(BlockKind::kMetadata, 1, metadata, 0);
}

std::string EncodeResults(std::string_view results, uint64_t digest) {
  return EncodeBlock(BlockKind::kResults, 1, results, digest);
}

std::string EncodeRecords(const Record* records, size_t count, uint64_t digest) {
  return EncodeBlock(BlockKind::kRecords, static_cast<uint32_t>(count), PackRecords(records, count),
                     digest);
}

}  // namespace spyre::trace
