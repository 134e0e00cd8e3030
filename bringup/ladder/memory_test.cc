// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/memory_test.h"

#include <cstring>
#include <functional>

namespace spyre::bringup {
namespace {

// The word at an address that a step writes or expects.
using Pattern = std::function<uint64_t(uint64_t address)>;

class CellAccess {
 public:
  CellAccess(MemoryUnderTest& memory, size_t cell_bytes)
      : memory_(memory), words_(cell_bytes / sizeof(uint64_t)) {}

  void Write(uint64_t cell, const Pattern& pattern) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] = pattern(cell + i * sizeof(uint64_t));
    memory_.Write(cell, reinterpret_cast<const uint8_t*>(words_.data()), bytes());
  }
  void Check(uint64_t cell, const Pattern& pattern, const char* step) {
    if (!memory_.Read(cell, reinterpret_cast<uint8_t*>(words_.data()), bytes())) {
      faults.count += words_.size();
      faults.cells.insert(cell);
      if (faults.first.size() < MemoryFaults::kKept)
        faults.first.push_back({cell, pattern(cell), 0, step, true});
      return;
    }
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint64_t address = cell + i * sizeof(uint64_t);
      const uint64_t expected = pattern(address);
      if (words_[i] == expected) continue;
      ++faults.count;
      faults.cells.insert(cell);
      if (faults.first.size() < MemoryFaults::kKept)
        faults.first.push_back({address, expected, words_[i], step});
    }
  }

  MemoryFaults faults;

 private:
  size_t bytes() const { return words_.size() * sizeof(uint64_t); }

  MemoryUnderTest& memory_;
  std::vector<uint64_t> words_;
};

Pattern Constant(uint64_t value) {
  return [value](uint64_t /*address*/) { return value; };
}

}  // namespace

const std::vector<uint64_t>& MarchBackgrounds() {
  static const std::vector<uint64_t> backgrounds = {0, 0x5555555555555555, 0x3333333333333333,
                                                    0x0F0F0F0F0F0F0F0F};
  return backgrounds;
}

MemoryFaults MarchCMinus(MemoryUnderTest& memory, const Cells& cells,
                         const std::vector<uint64_t>& backgrounds) {
  CellAccess access(memory, cells.cell_bytes);
  const auto& up = cells.addresses;
  const std::vector<uint64_t> down(up.rbegin(), up.rend());
  for (const uint64_t background : backgrounds) {
    const Pattern zero = Constant(background), one = Constant(~background);
    const auto element = [&](const std::vector<uint64_t>& order, const Pattern& read,
                             const Pattern& write, const char* step) {
      for (const uint64_t cell : order) {
        access.Check(cell, read, step);
        access.Write(cell, write);
      }
    };
    for (const uint64_t cell : up) access.Write(cell, zero);
    element(up, zero, one, "march, up, read 0 write 1");
    element(up, one, zero, "march, up, read 1 write 0");
    element(down, zero, one, "march, down, read 0 write 1");
    element(down, one, zero, "march, down, read 1 write 0");
    for (const uint64_t cell : up) access.Check(cell, zero, "march, read 0");
  }
  return access.faults;
}

MemoryFaults AddressInAddress(MemoryUnderTest& memory, const Cells& cells, bool complement) {
  CellAccess access(memory, cells.cell_bytes);
  const auto pass = [&](const Pattern& pattern, const char* step) {
    for (const uint64_t cell : cells.addresses) access.Write(cell, pattern);
    for (const uint64_t cell : cells.addresses) access.Check(cell, pattern, step);
  };
  pass([](uint64_t address) { return address; }, "address in address");
  if (complement)
    pass([](uint64_t address) { return ~address; }, "complement of address in address");
  return access.faults;
}

MemoryFaults WalkingBits(MemoryUnderTest& memory, const Cells& cells) {
  CellAccess access(memory, cells.cell_bytes);
  for (const bool ones : {false, true}) {
    for (int bit = 0; bit < 64; ++bit) {
      // Neighbouring words have neighbouring bits, so that lines of a wide bus differ too.
      const Pattern pattern = [&](uint64_t address) {
        const uint64_t walking = uint64_t{1} << ((static_cast<uint64_t>(bit) + address / 8) % 64);
        return ones ? ~walking : walking;
      };
      for (const uint64_t cell : cells.addresses) access.Write(cell, pattern);
      for (const uint64_t cell : cells.addresses)
        access.Check(cell, pattern, ones ? "walking zero" : "walking one");
    }
  }
  return access.faults;
}

}  // namespace spyre::bringup
