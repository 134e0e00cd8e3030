// SPDX-License-Identifier: Apache-2.0
// The memory tests against memories with one planted fault each: it is found, where it is, and a
// memory without faults has none.
#include "bringup/ladder/memory_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

namespace spyre::bringup::memory_test_test {
namespace {

constexpr size_t kBytes = 8192;
constexpr size_t kCell = 128;

// A plain array, with hooks for what is broken.
class BrokenMemory : public MemoryUnderTest {
 public:
  std::function<uint64_t(uint64_t)> decode = [](uint64_t address) { return address; };
  std::function<void(std::vector<uint8_t>&, const std::vector<uint8_t>&)> after_write =
      [](auto& /*now*/, const auto& /*before*/) {};
  uint64_t unreadable = UINT64_MAX;
  std::function<uint8_t(uint64_t, uint8_t)> on_read = [](uint64_t, uint8_t byte) { return byte; };

  void Write(uint64_t address, const uint8_t* data, size_t bytes) override {
    const std::vector<uint8_t> before = bytes_;
    for (size_t i = 0; i < bytes; ++i) bytes_.at(decode(address + i)) = data[i];
    after_write(bytes_, before);
  }
  bool Read(uint64_t address, uint8_t* data, size_t bytes) override {
    for (size_t i = 0; i < bytes; ++i)
      data[i] = on_read(address + i, bytes_.at(decode(address + i)));
    return address != unreadable;
  }

 private:
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kBytes, 0xA7);
};

Cells AllCells() {
  Cells cells;
  cells.cell_bytes = kCell;
  for (uint64_t address = 0; address < kBytes; address += kCell) cells.addresses.push_back(address);
  return cells;
}

MemoryFaults March(BrokenMemory& memory);

TEST(MemoryTest, ABlockThatCannotBeReadIsAFaultAndTheOthersAreTestedToo) {
  BrokenMemory memory;
  memory.unreadable = 2 * kCell;
  memory.on_read = [](uint64_t address, uint8_t byte) {
    return address == 5 * kCell ? static_cast<uint8_t>(byte | 1) : byte;
  };
  const MemoryFaults faults = March(memory);
  EXPECT_EQ(faults.cells, (std::set<uint64_t>{2 * kCell, 5 * kCell}));
  EXPECT_TRUE(faults.first.front().unreadable);
  EXPECT_EQ(faults.first.front().address, 2 * kCell);
}

MemoryFaults March(BrokenMemory& memory) {
  return MarchCMinus(memory, AllCells(), MarchBackgrounds());
}

// All faults that were found are bits `bits` of the word at `address`.
void ExpectOnly(const MemoryFaults& faults, uint64_t address, uint64_t bits) {
  ASSERT_GT(faults.count, 0u) << "the planted fault was not found";
  for (const MemoryFault& fault : faults.first) {
    EXPECT_EQ(fault.address, address) << fault.step;
    EXPECT_EQ(fault.expected ^ fault.found, bits) << fault.step;
  }
}

TEST(MemoryTest, AMemoryWithoutFaultsHasNone) {
  BrokenMemory memory;
  EXPECT_EQ(March(memory).count, 0u);
  EXPECT_EQ(AddressInAddress(memory, AllCells()).count, 0u);
  EXPECT_EQ(WalkingBits(memory, AllCells()).count, 0u);
}

TEST(MemoryTest, AMarchLocatesEveryStuckBit) {
  std::mt19937 random(8);
  for (int round = 0; round < 40; ++round) {
    const uint64_t byte = random() % kBytes;
    const unsigned bit = random() % 8;
    const bool one = round % 2 == 0;
    BrokenMemory memory;
    memory.on_read = [=](uint64_t address, uint8_t value) {
      if (address != byte) return value;
      return static_cast<uint8_t>(one ? value | 1u << bit : value & ~(1u << bit));
    };
    ExpectOnly(March(memory), byte / 8 * 8, uint64_t{1} << (byte % 8 * 8 + bit));
  }
}

TEST(MemoryTest, AMarchLocatesABitThatCannotRiseOrCannotFall) {
  for (const bool rises : {false, true}) {
    BrokenMemory memory;
    memory.after_write = [=](std::vector<uint8_t>& now, const std::vector<uint8_t>& before) {
      if (rises) now[1003] = static_cast<uint8_t>(now[1003] | (before[1003] & 0x10));
      if (!rises) now[1003] = static_cast<uint8_t>(now[1003] & (before[1003] | ~0x10));
    };
    ExpectOnly(March(memory), 1000, uint64_t{0x10} << 24);
  }
}

// Coupling: a change of the aggressor's bit inverts, or sets, a bit of the victim, whichever of the
// two has the lower address.
TEST(MemoryTest, AMarchLocatesAVictimThatChangesWithAnother) {
  for (const auto& [aggressor, victim] : {std::pair{512, 6000}, std::pair{6000, 512}}) {
    for (const bool inverts : {true, false}) {
      BrokenMemory memory;
      memory.after_write = [=, a = static_cast<size_t>(aggressor), v = static_cast<size_t>(victim)](
                               std::vector<uint8_t>& now, const std::vector<uint8_t>& before) {
        if (((now[a] ^ before[a]) & 1) == 0) return;
        now[v] = static_cast<uint8_t>(inverts ? now[v] ^ 4 : now[v] | 4);
      };
      ExpectOnly(March(memory), static_cast<uint64_t>(victim), 4);
    }
  }
}

// Inside of one byte, where all bits are written at once: only backgrounds that differ find it.
TEST(MemoryTest, BackgroundsTellBitsOfAByteApart) {
  for (int first = 0; first < 8; ++first) {
    for (int second = 0; second < 8; ++second) {
      if (first == second) continue;
      BrokenMemory memory;
      memory.after_write = [=](std::vector<uint8_t>& now, const std::vector<uint8_t>& /*before*/) {
        if ((now[77] >> first & 1) != 0) now[77] = static_cast<uint8_t>(now[77] | 1u << second);
      };
      ExpectOnly(March(memory), 72, uint64_t{1} << (5 * 8 + second));
    }
  }
}

TEST(MemoryTest, AddressInAddressFindsEveryBrokenAddressLine) {
  for (uint64_t line = kCell; line < kBytes; line *= 2) {
    BrokenMemory memory;
    memory.decode = [=](uint64_t address) { return address & ~line; };
    const MemoryFaults faults = AddressInAddress(memory, AllCells());
    ASSERT_GT(faults.count, 0u) << "line " << line;
    EXPECT_EQ(faults.first.front().expected ^ faults.first.front().found, line)
        << "the bits that differ are the line";
    EXPECT_GT(March(memory).count, 0u) << "line " << line;
  }
}

TEST(MemoryTest, WalkingBitsFindsLinesThatAreTiedTogether) {
  for (int first = 0; first < 8; ++first) {
    const int second = (first + 3) % 8;
    BrokenMemory memory;
    memory.on_read = [=](uint64_t address, uint8_t value) {
      if (address % 8 != 2) return value;
      const int tied = (value >> first & 1) & (value >> second & 1);
      return static_cast<uint8_t>((value & ~(1 << first) & ~(1 << second)) | tied << first |
                                  tied << second);
    };
    const MemoryFaults faults = WalkingBits(memory, AllCells());
    ASSERT_GT(faults.count, 0u);
    for (const MemoryFault& fault : faults.first) {
      const uint64_t wrong = (fault.expected ^ fault.found) >> 16;
      EXPECT_TRUE(wrong == 1u << first || wrong == 1u << second) << wrong;
    }
  }
}

}  // namespace
}  // namespace spyre::bringup::memory_test_test
