// SPDX-License-Identifier: Apache-2.0
// Writes 32-bit RISC-V executables byte by byte, right ones and, by Patch, wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace spyre::model {

class ElfWriter {
 public:
  struct Segment {
    uint32_t address;
    std::vector<uint8_t> data;
    uint32_t memory_bytes;
  };
  uint32_t entry = 0x80000000;
  std::vector<Segment> segments;
  std::vector<std::pair<std::string, uint32_t>> symbols;

  void AddWords(uint32_t address, const std::vector<uint32_t>& words) {
    std::vector<uint8_t> data(4 * words.size());
    std::memcpy(data.data(), words.data(), data.size());
    segments.push_back({address, std::move(data), static_cast<uint32_t>(4 * words.size())});
  }

  // Header, program headers, data, symbols, their strings, section headers: none, symbols, strings.
  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> elf(52 + 32 * segments.size());
    for (size_t i = 0; i < segments.size(); ++i) {
      const Segment& segment = segments[i];
      const uint32_t header[] = {
          1, Size(elf), segment.address, segment.address, Size(segment.data), segment.memory_bytes,
          7, 4};
      std::memcpy(&elf[ProgramHeader(i)], header, sizeof header);
      elf.insert(elf.end(), segment.data.begin(), segment.data.end());
    }
    std::vector<uint8_t> strings(1), table(16);
    for (const auto& [name, value] : symbols) {
      const uint32_t symbol[] = {Size(strings), value, 4, 0x00010010};  // global, in section 1
      const auto* bytes = reinterpret_cast<const uint8_t*>(symbol);
      table.insert(table.end(), bytes, bytes + sizeof symbol);
      strings.insert(strings.end(), name.begin(), name.end());
      strings.push_back(0);
    }
    uint32_t sections[3][10] = {};
    const uint32_t symbol_section[] = {0, 2, 0, 0, Size(elf), Size(table), 2, 0, 4, 16};
    const uint32_t string_section[] = {0, 3, 0, 0, Size(elf) + Size(table), Size(strings),
                                       0, 0, 1, 0};
    std::memcpy(sections[1], symbol_section, sizeof symbol_section);
    std::memcpy(sections[2], string_section, sizeof string_section);
    elf.insert(elf.end(), table.begin(), table.end());
    elf.insert(elf.end(), strings.begin(), strings.end());
    Header(elf);
    const auto* bytes = reinterpret_cast<const uint8_t*>(sections);
    elf.insert(elf.end(), bytes, bytes + sizeof sections);
    return elf;
  }

  static size_t ProgramHeader(size_t index) { return 52 + 32 * index; }
  // Where section header `index` of Bytes() is: 1 symbols, 2 strings.
  static size_t SectionHeader(const std::vector<uint8_t>& elf, size_t index) {
    return elf.size() - 40 * (3 - index);
  }
  static void Patch(std::vector<uint8_t>& elf, size_t offset, uint32_t value, size_t bytes = 4) {
    std::memcpy(&elf[offset], &value, bytes);
  }

 private:
  static uint32_t Size(const std::vector<uint8_t>& bytes) {
    return static_cast<uint32_t>(bytes.size());
  }
  void Header(std::vector<uint8_t>& elf) const {
    const uint8_t identity[] = {0x7F, 'E', 'L', 'F', 1, 1, 1};
    std::memcpy(elf.data(), identity, sizeof identity);
    const uint16_t kind[] = {2, 243};
    std::memcpy(&elf[16], kind, sizeof kind);
    const uint32_t addresses[] = {1, entry, 52, Size(elf), 0};
    std::memcpy(&elf[20], addresses, sizeof addresses);
    const uint16_t sizes[] = {52, 32, static_cast<uint16_t>(segments.size()), 40, 3, 2};
    std::memcpy(&elf[40], sizes, sizeof sizes);
  }
};

}  // namespace spyre::model
