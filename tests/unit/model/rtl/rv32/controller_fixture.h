// SPDX-License-Identifier: Apache-2.0
// A management controller with a program of a test in its SRAM and a bus that writes down what
// passes.
#pragma once

#include <contract/registers.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/rtl/rtl_blocks.h"
#include "tests/unit/model/rtl/rv32/rv32_assembler.h"

namespace spyre::model::rv32 {

constexpr uint32_t kBase = kControllerSramBase;
constexpr uint32_t kBus = 0x10000000;  // the controller's registers

class RecordingBus : public ControllerBus {
 public:
  bool Maps(uint32_t address) const override { return address < kBus + 0x100; }
  uint32_t Read(uint32_t address) override {
    if (throws) throw std::runtime_error("no answer");
    reads.push_back(address);
    if (stops != nullptr) stops->StopAfterAccess();
    return answer;
  }
  void Write(uint32_t address, uint32_t value) override {
    writes.emplace_back(address, value);
    if (stops != nullptr) stops->StopAfterAccess();
  }

  uint32_t answer = 0;
  bool throws = false;
  RtlController* stops = nullptr;  // is stopped by every access
  std::vector<uint32_t> reads;
  std::vector<std::pair<uint32_t, uint32_t>> writes;
};

class ControllerTest : public ::testing::Test {
 protected:
  static ElfImage Image(const std::vector<uint32_t>& words, uint32_t entry = kBase) {
    ElfImage image;
    image.name = "test program";
    image.entry = entry;
    image.segments.push_back({kBase, std::vector<uint8_t>(4 * words.size()), 0});
    std::memcpy(image.segments[0].data.data(), words.data(), 4 * words.size());
    return image;
  }
  // The program starts at the SRAM's base; traps go to kHandler, which tests look at and never run.
  void Load(const std::vector<uint32_t>& words) {
    rtl.Load(Image(words));
    const uint32_t set_mtvec[] = {Auipc(31, 0), Addi(31, 31, 0x100), Csrw(kMtvec, 31)};
    ASSERT_TRUE(rtl.WriteMemory(kScratch, set_mtvec, sizeof set_mtvec));
    rtl.SetPc(kScratch);
    Steps(3);
    rtl.SetPc(kBase);
  }
  void Steps(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(rtl.Step());
  }
  // What register 10 has after the program.
  uint32_t Result(const std::vector<uint32_t>& words,
                  const std::vector<std::pair<unsigned, uint32_t>>& registers = {}) {
    Load(words);
    for (const auto& [number, value] : registers) rtl.SetRegister(number, value);
    for (int i = 0; i < 100 && rtl.pc() != kBase + 4 * words.size(); ++i) rtl.Step();
    EXPECT_EQ(rtl.pc(), kBase + 4 * words.size()) << "the program did not come to its end";
    return rtl.Register(10);
  }
  uint32_t Csr(uint32_t number) {
    uint32_t value = 0;
    EXPECT_TRUE(rtl.Csr(number, &value)) << "CSR " << number;
    return value;
  }
  uint32_t Memory(uint32_t address) {
    uint32_t value = 0;
    EXPECT_TRUE(rtl.ReadMemory(address, &value, sizeof value));
    return value;
  }
  void ExpectTrap(uint32_t cause, uint32_t pc, uint32_t value) {
    EXPECT_EQ(rtl.pc(), kHandler) << "no trap";
    EXPECT_EQ(Csr(kMcause), cause);
    EXPECT_EQ(Csr(kMepc), pc);
    EXPECT_EQ(Csr(kMtval), value);
  }

  static constexpr uint32_t kScratch = kBase + 0x30000, kHandler = kScratch + 0x100;
  RecordingBus bus;
  const std::unique_ptr<RtlController> block = MakeRtlController(bus);
  RtlController& rtl = *block;
};

}  // namespace spyre::model::rv32
