// SPDX-License-Identifier: Apache-2.0
// A trace file as its documented layout has it, for tests that change one: docs/traces.md in code,
// and nothing of the writer's.
#pragma once

#include <xxhash.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace spyre::trace {

template <typename T>
T NumberAt(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

struct FileBlock {
  uint32_t kind = 0, entries = 0;
  uint64_t digest = 0;
  std::string content;
};

// header: 48 bytes, whose checksum is put right, as those of the blocks. A size in the header that
// is not 0 is put right too.
struct FileParts {
  std::string header;
  std::vector<FileBlock> blocks;
};

inline FileParts Split(const std::string& bytes) {
  FileParts parts{bytes.substr(0, 48), {}};
  for (size_t at = 48; at < bytes.size();) {
    FileBlock block{NumberAt<uint32_t>(bytes, at), NumberAt<uint32_t>(bytes, at + 4),
                    NumberAt<uint64_t>(bytes, at + 16),
                    std::string(NumberAt<uint32_t>(bytes, at + 8), '\0')};
    const auto packed = NumberAt<uint32_t>(bytes, at + 12);
    ZSTD_decompress(block.content.data(), block.content.size(), bytes.data() + at + 32, packed);
    parts.blocks.push_back(std::move(block));
    at += 32 + packed;
  }
  return parts;
}

// The header and the packed bytes of a block, from the header's first 24 bytes on signed.
inline std::string Signed(std::string header, const std::string& packed) {
  const uint64_t seed = XXH3_64bits(header.data(), 24);
  return With(std::move(header), 24,
              uint64_t{XXH3_64bits_withSeed(packed.data(), packed.size(), seed)}) +
         packed;
}

inline std::string Joined(const FileBlock& block) {
  std::string packed(ZSTD_compressBound(block.content.size()), '\0');
  packed.resize(
      ZSTD_compress(packed.data(), packed.size(), block.content.data(), block.content.size(), 1));
  std::string header(32, '\0');
  header = With(header, 0, block.kind);
  header = With(header, 4, block.entries);
  header = With(header, 8, static_cast<uint32_t>(block.content.size()));
  header = With(header, 12, static_cast<uint32_t>(packed.size()));
  return Signed(With(header, 16, block.digest), packed);
}

inline std::string SignedHeader(std::string header) {
  const uint64_t checksum = XXH3_64bits(header.data(), 40);
  return With(std::move(header), 40, checksum);
}

inline std::string Joined(FileParts parts) {
  std::string blocks;
  for (const FileBlock& block : parts.blocks) blocks += Joined(block);
  if (NumberAt<uint64_t>(parts.header, 16) != 0)
    parts.header = With(parts.header, 16, uint64_t{48 + blocks.size()});
  return SignedHeader(parts.header) + blocks;
}

}  // namespace spyre::trace
