// SPDX-License-Identifier: Apache-2.0
// What the writer and the reader of trace files share: the header, and the blocks behind it.
//
// Layout, little-endian, version 2:
//   0   "SPYRETRC"
//   8   u32 version, u32 bytes per record (48)
//   16  u64 bytes of the whole file; 0: its run has not ended, or was killed
//   24  u64 records that were dropped before the first one here
//   32  u64 window in ps: everything that ends later is in the file; 0 if nothing was dropped
//   40  u64 xxh3 of all before
//   48  blocks, up to the end:
//       0   u32 kind: 1 metadata (the first block, and no other), 2 tracks, 3 names, 4 records,
//           5 results (the last block, if it is there)
//       4   u32 entries: of tracks, names or records; 1 of metadata and results
//       8   u32 bytes unpacked, u32 bytes packed
//       16  u64 digest of the run when the block was written
//       24  u64 xxh3 of the packed bytes, seeded with that of the 24 bytes before
//       32  one zstd frame
//   metadata, results: a JSON object; track: u32 bytes + process, u32 bytes + name; name: u32 bytes
//   + text; records: PackRecords(). A block of tracks or names stands before the first record that
//   uses them.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/recording/recorder.h"

namespace spyre::trace {

inline constexpr std::string_view kTraceMagic = "SPYRETRC";
inline constexpr uint32_t kTraceVersion = 2;
// The records of a block: enough to pack well, and what a killed run loses.
inline constexpr size_t kBlockRecords = 1 << 16;
// Unpacked; what the reader takes at a time. A text of kMaxTextBytes has room.
inline constexpr uint32_t kMaxBlockBytes = 32 << 20;

struct FileHeader {
  uint64_t file_bytes = 0;
  uint64_t dropped = 0;
  uint64_t whole_from_ps = 0;
};
inline constexpr size_t kFileHeaderBytes = 48;
std::string EncodeFileHeader(const FileHeader& header);

enum class BlockKind : uint32_t { kMetadata = 1, kTracks, kNames, kRecords, kResults };

struct BlockHeader {
  BlockKind kind = BlockKind::kMetadata;
  uint32_t entries = 0;
  uint32_t unpacked_bytes = 0;
  uint32_t packed_bytes = 0;
  uint64_t digest = 0;
  uint64_t checksum = 0;
};
inline constexpr size_t kBlockHeaderBytes = 32;
static_assert(sizeof(BlockHeader) == kBlockHeaderBytes);
// The header's own checksum is left out.
uint64_t BlockChecksum(const BlockHeader& header, std::string_view packed);
// Header and packed bytes. content: at most kMaxBlockBytes.
std::string EncodeBlock(BlockKind kind, uint32_t entries, std::string_view content,
                        uint64_t digest);

// Columns pack better than rows: all starts, as differences to the record before; all lengths; all
// flows, as differences; then bytes, tracks, names, categories and details as they are.
std::string PackRecords(const Record* records, size_t count);
// columns: count * 48 bytes.
void UnpackRecords(std::string_view columns, std::vector<Record>& records);

// The blocks of all tracks and names from the given ones on.
std::string EncodeTexts(const std::vector<Track>& tracks, size_t first_track,
                        const std::vector<std::string>& names, size_t first_name, uint64_t digest);
std::string EncodeMetadata(std::string_view metadata);
std::string EncodeResults(std::string_view results, uint64_t digest);
// One block of at most kBlockRecords.
std::string EncodeRecords(const Record* records, size_t count, uint64_t digest);

}  // namespace spyre::trace
