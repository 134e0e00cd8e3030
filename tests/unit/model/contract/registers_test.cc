// SPDX-License-Identifier: Apache-2.0
// The generated contract as C++ and driver code see it, and its checked copy for readers.
#include <contract/register_access.h>
#include <contract/registers.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/paths.h"

namespace spyre::registers_test {
namespace {

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " cannot be opened";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(RegisterTable, IsInAddressOrderWithoutDuplicates) {
  std::set<std::string> names;
  for (size_t i = 0; i < std::size(regs::kRegisters); ++i) {
    const auto& reg = regs::kRegisters[i];
    EXPECT_EQ(reg.offset % 4, 0u) << reg.name;
    if (i > 0) {
      EXPECT_GT(reg.offset, regs::kRegisters[i - 1].offset) << reg.name;
    }
    EXPECT_TRUE(names.insert(reg.name).second) << reg.name;
    EXPECT_EQ(reg.reset & ~reg.mask, 0u) << reg.name << " resets bits that do not exist";
  }
}

TEST(RegisterTable, FitsIntoBar0OfEveryFunctionThatHasTheRegister) {
  for (const auto& reg : regs::kRegisters) {
    EXPECT_LE(reg.offset + 4, reg.pf_only ? kBar0Bytes : kVfBar0Bytes) << reg.name;
  }
}

TEST(RegisterTable, FieldsLieInTheirRegistersMask) {
  for (const auto& field : regs::kRegisterFields) {
    bool found = false;
    for (const auto& reg : regs::kRegisters) {
      if (reg.offset != field.offset) continue;
      found = true;
      EXPECT_EQ(field.mask & ~reg.mask, 0u) << reg.name << "." << field.name;
      EXPECT_EQ(field.mask >> field.shift & 1, 1u) << reg.name << "." << field.name;
    }
    EXPECT_TRUE(found) << field.name << " at " << field.offset;
  }
}

TEST(RegisterTable, VersionRegisterShowsTheVersionOfTheSpec) {
  for (const auto& reg : regs::kRegisters) {
    if (reg.offset == regs::SPEC_VERSION) {
      EXPECT_EQ(reg.reset, kSpecVersion);
    }
  }
}

// Registers as plain memory; remembers the order of accesses.
struct MemoryIo {
  uint32_t Read(uint32_t offset) {
    log->push_back({'R', offset});
    return (*memory)[offset / 4];
  }
  void Write(uint32_t offset, uint32_t value) {
    log->push_back({'W', offset});
    (*memory)[offset / 4] = value;
  }
  std::vector<uint32_t>* memory;
  std::vector<std::pair<char, uint32_t>>* log;
};

class RegisterAccessTest : public testing::Test {
 protected:
  using Log = std::vector<std::pair<char, uint32_t>>;
  std::vector<uint32_t> memory_ = std::vector<uint32_t>(kBar0Bytes / 4);
  Log log_;
  driver::RegisterAccess<MemoryIo> registers_{MemoryIo{&memory_, &log_}};
};

TEST_F(RegisterAccessTest, ReachesTheRegisterThatItNames) {
  registers_.WriteSqTail(17);
  EXPECT_EQ(memory_[regs::SQ_TAIL / 4], 17u);
  memory_[regs::SQ_HEAD / 4] = 5;
  EXPECT_EQ(registers_.ReadSqHead(), 5u);
}

TEST_F(RegisterAccessTest, ReadsA64BitValueLowHalfFirstBecauseThatLatchesTheHighHalf) {
  memory_[regs::TIME_LO / 4] = 0x89ABCDEF;
  memory_[regs::TIME_HI / 4] = 0x01234567;
  EXPECT_EQ(registers_.ReadTime(), 0x0123456789ABCDEFull);
  EXPECT_EQ(log_, (Log{{'R', regs::TIME_LO}, {'R', regs::TIME_HI}}));
}

TEST_F(RegisterAccessTest, WritesA64BitValueInTwoHalves) {
  registers_.WriteSqBase(0x0123456789ABCD80ull);
  EXPECT_EQ(memory_[regs::SQ_BASE_LO / 4], 0x89ABCD80u);
  EXPECT_EQ(memory_[regs::SQ_BASE_HI / 4], 0x01234567u);
  EXPECT_EQ(registers_.ReadSqBase(), 0x0123456789ABCD80ull);
}

TEST_F(RegisterAccessTest, TakesFieldsOutOfAValueAndPutsThemIn) {
  memory_[regs::CAPABILITIES / 4] = 1u << 16 | 8u << 8 | 32u;
  EXPECT_EQ(registers_.ReadCapabilitiesCores(), 32u);
  EXPECT_EQ(registers_.ReadCapabilitiesRegions(), 8u);
  EXPECT_EQ(registers_.ReadCapabilitiesPipelined(), 1u);
  EXPECT_EQ(registers_.WithQueueControlEnable(0xF0, 1), 0xF1u);
  EXPECT_EQ(registers_.WithQueueControlEnable(0xF1, 0), 0xF0u);
}

template <class T>
using WriteMagic = decltype(std::declval<T>().WriteMagic(0));
template <class T>
using ReadControl = decltype(std::declval<T>().ReadControl());
template <template <class> class Call, class T, class = void>
struct Exists : std::false_type {};
template <template <class> class Call, class T>
struct Exists<Call, T, std::void_t<Call<T>>> : std::true_type {};

TEST_F(RegisterAccessTest, HasNoWriteForAReadOnlyRegisterAndNoReadForAWriteOnlyOne) {
  using Registers = driver::RegisterAccess<MemoryIo>;
  EXPECT_FALSE((Exists<WriteMagic, Registers>::value));
  EXPECT_FALSE((Exists<ReadControl, Registers>::value));
}

TEST(RegisterReference, InDocsIsTheGeneratedOne) {
  const std::string generated = SPYRE_BUILD_DIR "/generated/contract/registers.md";
  const std::string copy = SPYRE_SOURCE_DIR "/docs/registers.md";
  EXPECT_TRUE(FileText(generated) == FileText(copy))
      << "docs/registers.md is out of date. Refresh it:\n  cp " << generated << " " << copy;
}

}  // namespace
}  // namespace spyre::registers_test
