// SPDX-License-Identifier: Apache-2.0
#include "model/common/elf_image.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"

namespace spyre::model {
namespace {

// Offsets and values of the ELF specification, 32-bit class.
constexpr uint32_t kHeaderBytes = 52, kProgramHeaderBytes = 32, kSectionHeaderBytes = 40;
constexpr uint32_t kSymbolBytes = 16;
constexpr uint16_t kExecutable = 2, kRiscV = 243;
constexpr uint32_t kLoad = 1, kSymbolTable = 2, kStringTable = 3;
constexpr uint8_t kSectionSymbol = 3, kFileSymbol = 4;
// Longer names only serve to make a reader slow.
constexpr uint64_t kLongestName = 4096;
// Room for the debugging information of any program that fits the controller.
constexpr uint64_t kLargestFile = uint64_t{64} << 20;

class Reader {
 public:
  Reader(const std::vector<uint8_t>& bytes, const std::string& name) : bytes_(bytes), name_(name) {
    image_.name = name;
  }

  ElfImage Read() {
    ReadHeader();
    ReadSegments();
    ReadSymbols();
    return std::move(image_);
  }

 private:
  template <typename... Args>
  Error Bad(fmt::format_string<Args...> format, Args&&... args) const {
    return BadInput("{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }
  void Require(uint64_t offset, uint64_t bytes, const char* what) const {
    if (offset + bytes > bytes_.size()) {
      throw Bad("{} at offset {} with {} bytes lies behind the end of the file, which has {} bytes",
                what, offset, bytes, bytes_.size());
    }
  }
  // Inside what Require has seen.
  uint32_t Number(uint64_t offset, int bytes) const {
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) value = value << 8 | bytes_[offset + i];
    return value;
  }
  uint16_t Half(uint64_t offset) const { return static_cast<uint16_t>(Number(offset, 2)); }
  uint32_t Word(uint64_t offset) const { return Number(offset, 4); }

  void ReadHeader() {
    const std::vector<uint8_t> magic{0x7F, 'E', 'L', 'F'};
    if (bytes_.size() < magic.size() || !std::equal(magic.begin(), magic.end(), bytes_.begin()))
      throw Bad("not an ELF file: it does not start with 7f 45 4c 46");
    Require(0, kHeaderBytes, "the ELF header");
    if (bytes_[4] != 1) throw Bad("ELF class {} instead of 1 (32 bits)", bytes_[4]);
    if (bytes_[5] != 1) throw Bad("ELF data encoding {} instead of 1 (little-endian)", bytes_[5]);
    if (bytes_[6] != 1) throw Bad("ELF version {} instead of 1", bytes_[6]);
    if (Half(16) != kExecutable)
      throw Bad("ELF type {} instead of {} (executable)", Half(16), kExecutable);
    if (Half(18) != kRiscV) throw Bad("ELF machine {} instead of {} (RISC-V)", Half(18), kRiscV);
    image_.entry = Word(24);
  }

  void ReadSegments() {
    const uint64_t table = Word(28);
    const uint32_t count = Half(44);
    if (count != 0 && Half(42) != kProgramHeaderBytes)
      throw Bad("program headers of {} bytes instead of {}", Half(42), kProgramHeaderBytes);
    Require(table, uint64_t{count} * kProgramHeaderBytes, "the table of program headers");
    for (uint32_t i = 0; i < count; ++i) {
      if (Word(table + i * kProgramHeaderBytes) == kLoad)
        ReadSegment(table + i * kProgramHeaderBytes);
    }
    if (image_.segments.empty())
      throw Bad("nothing to load: no segment of type PT_LOAD with bytes");
    RequireApart();
  }

  // The physical address counts: nothing translates addresses here.
  void ReadSegment(uint64_t header) {
    const uint32_t offset = Word(header + 4), file_bytes = Word(header + 16);
    const uint32_t memory_bytes = Word(header + 20);
    ElfSegment segment;
    segment.address = Word(header + 12);
    if (memory_bytes == 0 && file_bytes == 0) return;
    if (file_bytes > memory_bytes) {
      throw Bad("the segment at 0x{:08x} has {} bytes in the file and only {} in memory",
                segment.address, file_bytes, memory_bytes);
    }
    if (segment.address + uint64_t{memory_bytes} > uint64_t{1} << 32) {
      throw Bad("the segment at 0x{:08x} with {} bytes goes beyond 32-bit addresses",
                segment.address, memory_bytes);
    }
    Require(offset, file_bytes, "a segment");
    segment.data.assign(bytes_.begin() + offset, bytes_.begin() + offset + file_bytes);
    segment.zero_bytes = memory_bytes - file_bytes;
    image_.segments.push_back(std::move(segment));
  }

  void RequireApart() const {
    std::vector<std::pair<uint32_t, uint64_t>> ranges;  // start, end
    for (const ElfSegment& segment : image_.segments) {
      ranges.emplace_back(segment.address,
                          segment.address + segment.data.size() + uint64_t{segment.zero_bytes});
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].second) {
        throw Bad("the segments at 0x{:08x} and 0x{:08x} overlap", ranges[i - 1].first,
                  ranges[i].first);
      }
    }
  }

  void ReadSymbols() {
    const uint64_t table = Word(32);
    const uint32_t count = Half(48);
    if (count == 0) return;
    if (Half(46) != kSectionHeaderBytes)
      throw Bad("section headers of {} bytes instead of {}", Half(46), kSectionHeaderBytes);
    Require(table, uint64_t{count} * kSectionHeaderBytes, "the table of section headers");
    bool found = false;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t header = table + i * kSectionHeaderBytes;
      if (Word(header + 4) != kSymbolTable) continue;
      if (found) throw Bad("two symbol tables; an ELF file has one at most");
      found = true;
      const uint32_t strings = Word(header + 24);
      if (strings >= count || Word(table + strings * kSectionHeaderBytes + 4) != kStringTable)
        throw Bad("the symbol table names section {} as its strings, which is not a string table",
                  strings);
      ReadSymbolTable(header, table + strings * kSectionHeaderBytes);
    }
  }

  void ReadSymbolTable(uint64_t header, uint64_t strings_header) {
    const uint64_t symbols = Word(header + 16), bytes = Word(header + 20);
    const uint64_t strings = Word(strings_header + 16), string_bytes = Word(strings_header + 20);
    Require(symbols, bytes, "the symbol table");
    Require(strings, string_bytes, "the string table");
    if (Word(header + 36) != kSymbolBytes || bytes % kSymbolBytes != 0)
      throw Bad("the symbol table is not made of symbols of {} bytes", kSymbolBytes);
    for (uint64_t symbol = symbols; symbol < symbols + bytes; symbol += kSymbolBytes) {
      const uint32_t name = Word(symbol);
      const uint8_t type = bytes_[symbol + 12] & 0xF;
      const bool defined = Half(symbol + 14) != 0;
      if (name == 0 || !defined || type == kSectionSymbol || type == kFileSymbol) continue;
      if (name >= string_bytes)
        throw Bad("a symbol's name at {} lies behind its string table of {} bytes", name,
                  string_bytes);
      const auto start = bytes_.begin() + strings + name;
      const auto limit = start + std::min(string_bytes - name, kLongestName);
      const auto end = std::find(start, limit, uint8_t{0});
      if (end == limit) throw Bad("the symbol name at {} of the string table does not end", name);
      // $x and $d mark code and data for disassemblers.
      if (start != end && *start != '$')
        image_.symbols.emplace(std::string(start, end), Word(symbol + 4));
    }
  }

  const std::vector<uint8_t>& bytes_;
  const std::string& name_;
  ElfImage image_;
};

}  // namespace

std::string ElfImage::Describe(uint32_t address) const {
  const std::pair<const std::string, uint32_t>* best = nullptr;
  for (const ElfSegment& segment : segments) {
    const uint64_t bytes = segment.data.size() + uint64_t{segment.zero_bytes};
    if (address < segment.address || address - segment.address >= bytes) continue;
    for (const auto& symbol : symbols) {
      if (symbol.second < segment.address || symbol.second > address) continue;
      if (best == nullptr || symbol.second > best->second) best = &symbol;
    }
  }
  if (best == nullptr) return fmt::format("0x{:08x}", address);
  if (best->second == address) return best->first;
  return fmt::format("{}+0x{:x}", best->first, address - best->second);
}

ElfImage ParseElf(const std::vector<uint8_t>& bytes, const std::string& name) {
  return Reader(bytes, name).Read();
}

ElfImage ReadElf(const std::string& path) {
  const std::string file = ReadFile(path, "ELF executable", kLargestFile);
  return ParseElf({file.begin(), file.end()}, path);
}

FirmwareProgram FlattenElf(const ElfImage& image) {
  std::vector<const ElfSegment*> loaded;
  for (const ElfSegment& segment : image.segments) {
    const uint64_t bytes = segment.data.size() + uint64_t{segment.zero_bytes};
    const uint64_t offset = uint64_t{segment.address} - kControllerSramBase;
    if (segment.address < kControllerSramBase || offset > kControllerSramBytes ||
        bytes > kControllerSramBytes - offset) {
      throw BadInput(
          "{}: a segment of {} bytes at 0x{:08x} is outside the SRAM, {} bytes at 0x{:08x}",
          image.name, bytes, segment.address, kControllerSramBytes, kControllerSramBase);
    }
    if (!segment.data.empty()) loaded.push_back(&segment);
  }
  std::sort(loaded.begin(), loaded.end(),
            [](const auto* a, const auto* b) { return a->address < b->address; });
  FirmwareProgram program;
  if (!loaded.empty()) program.load_address = loaded.front()->address / 4 * 4;
  program.entry = image.entry;
  for (const ElfSegment* segment : loaded) {
    const uint32_t offset = segment->address - program.load_address;
    program.payload.resize(offset);  // ParseElf refuses segments that overlap
    program.payload.insert(program.payload.end(), segment->data.begin(), segment->data.end());
  }
  program.payload.resize((program.payload.size() + 3) / 4 * 4);
  if (program.entry < program.load_address ||
      program.entry - program.load_address >= program.payload.size()) {
    throw BadInput("{}: its entry 0x{:08x} is in none of its segments", image.name, program.entry);
  }
  return program;
}

}  // namespace spyre::model
