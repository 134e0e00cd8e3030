// SPDX-License-Identifier: Apache-2.0
// Random copies and programs of three functions, in several streams each, leave the same bytes on
// serial, pipelined and concurrent hardware, on both control processors: those that a loop over
// arrays on the host gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/card_choices.h"
#include "tests/integration/parity/two_cards.h"
#include "tests/integration/tenants.h"

namespace spyre::test::concurrency_parity_test {
namespace {

constexpr unsigned kFunctions = 3;
constexpr uint32_t kStreams = 4;
constexpr unsigned kSlots = 4;  // of a stream
constexpr uint64_t kSlotBytes = 32 * 128;
constexpr uint64_t kPrograms = 8 << 20;  // offset in a region; the slots lie below
constexpr std::array<unsigned, 5> kCoreCounts = {1, 3, 8, 16, 32};

// Each of the first `cores` cores copies a stick of its own from slot to slot, through LX, where
// all programs use the same place; all meet at a barrier on the way.
std::string Copies(unsigned cores) {
  const uint64_t all = (1ull << cores) - 1;
  std::string text = fmt::format(".program copy{}\n.cores {:#x}\n.lx 128\n.table 2\n", cores, all);
  text += fmt::format(
      ".section ring {0:#x}\n  li r1, {0:#x}\n  barrier r1, r0 wait=t1\n  nop signal=t2\n", all);
  for (unsigned core = 0; core < cores; ++core) {
    for (const bool store : {false, true}) {
      text += fmt::format(
          ".section {} {:#x}\n  tab r1, {}\n  li r2, 128\n  madd r1, r1, r2, {}\n  li r3, 1\n  {} "
          "r0, r1, r2, r3, r0, r0, r3, r0, r0{}\n",
          store ? "store" : "load", 1u << core, store ? 1 : 0, core, store ? "store" : "load",
          store ? " wait=t2" : ", r0 signal=t1");
    }
  }
  return text;
}

// card.control.fidelity, card.concurrency, partitions.
using Hardware = std::tuple<const char*, const char*, unsigned>;

class ConcurrencyParity : public Tenants, public ::testing::WithParamInterface<uint32_t> {
 protected:
  // What a slot of a stream is to a function: an offset in its region.
  static uint64_t OffsetOf(uint32_t stream, unsigned slot) {
    return (stream * kSlots + slot) * kSlotBytes;
  }
  static uint64_t ProgramOf(uint32_t stream, unsigned from, unsigned to, size_t kind) {
    const uint64_t pair = (stream * kSlots + from) * kSlots + to;
    return kPrograms + (pair * kCoreCounts.size() + kind) * kProgramBytes;
  }

  // The bytes of every slot afterwards. *expected: those of the arrays.
  std::string Run(const Hardware& hardware, std::string* expected) {
    config_.control.fidelity = Named(std::get<0>(hardware));
    config_.concurrency = Named(std::get<1>(hardware));
    config_.partitions = std::get<2>(hardware);
    OpenTenants(kFunctions);
    std::mt19937 random(GetParam());
    const auto below = [&random](size_t limit) { return random() % limit; };
    std::vector<std::vector<uint8_t>> memory(
        kFunctions + 1, std::vector<uint8_t>(kStreams * kSlots * kSlotBytes, 0));
    std::map<std::pair<unsigned, uint64_t>, bool> loaded;
    for (unsigned vf = 1; vf <= kFunctions; ++vf)
      Manager().SetWeight(static_cast<driver::FunctionId>(vf), static_cast<uint32_t>(1 + below(4)));
    for (int round = 0; round < 3; ++round) {
      // Programs first: they are data as well.
      struct Step {
        uint32_t stream;
        unsigned from, to;
        size_t kind;  // of a program; kCoreCounts.size(): a copy from the host
      };
      std::vector<std::vector<Step>> steps(kFunctions + 1);
      for (unsigned vf = 1; vf <= kFunctions; ++vf) {
        for (int i = 0; i < 14; ++i) {
          const Step step{static_cast<uint32_t>(below(kStreams)),
                          static_cast<unsigned>(below(kSlots)),
                          static_cast<unsigned>(below(kSlots)), below(kCoreCounts.size() + 2)};
          steps[vf].push_back(step);
          if (step.kind >= kCoreCounts.size()) continue;
          const uint64_t program = ProgramOf(step.stream, step.from, step.to, step.kind);
          if (std::exchange(loaded[{vf, program}], true)) continue;
          LoadAs(vf, Copies(kCoreCounts[step.kind]), program,
                 {OffsetOf(step.stream, step.from), OffsetOf(step.stream, step.to)});
        }
      }
      std::vector<std::pair<unsigned, uint64_t>> put;
      for (unsigned vf = 1; vf <= kFunctions; ++vf) {
        for (const Step& step : steps[vf]) {
          const uint64_t to = OffsetOf(step.stream, step.to);
          uint8_t* const target = &memory[vf][to];
          if (step.kind < kCoreCounts.size()) {
            put.emplace_back(
                vf, PutLaunch(vf, ProgramOf(step.stream, step.from, step.to, step.kind),
                              step.stream, step.kind == 0 && below(2) == 0 ? kFlagPrepare : 0));
            std::memmove(target, &memory[vf][OffsetOf(step.stream, step.from)],
                         kCoreCounts[step.kind] * 128);
          } else {
            put.emplace_back(vf, PutCopy(vf, Opcode::DMA_IN, to, kSlotBytes, step.stream));
            uint8_t* const host = LastBuffer(vf);
            for (uint64_t i = 0; i < kSlotBytes; ++i) host[i] = static_cast<uint8_t>(random());
            std::memcpy(target, host, kSlotBytes);
          }
        }
      }
      for (unsigned vf = 1; vf <= kFunctions; ++vf) Ring(vf);
      Work(2'000'000'000);
      for (const auto& [vf, sequence] : put) EXPECT_EQ(StatusOf(vf, sequence), Status::OK);
    }
    std::string bytes;
    for (unsigned vf = 1; vf <= kFunctions; ++vf) {
      const std::vector<uint8_t> region = ReadAs(vf, 0, memory[vf].size());
      bytes.append(region.begin(), region.end());
      expected->append(memory[vf].begin(), memory[vf].end());
    }
    return bytes;
  }
};

TEST_P(ConcurrencyParity, RandomWorkOfSeveralFunctionsLeavesTheBytesOfArrays) {
  for (const Hardware& hardware :
       {Hardware{"timed", "serial", 2}, Hardware{"timed", "pipelined", 2},
        Hardware{"timed", "concurrent", 2}, Hardware{"timed", "concurrent", 8},
        Hardware{"rtl", "serial", 2}, Hardware{"rtl", "concurrent", 4}}) {
    SCOPED_TRACE(fmt::format("{} {}", std::get<0>(hardware), std::get<1>(hardware)));
    InChild([&] {
      std::string expected;
      const std::string bytes = Run(hardware, &expected);
      EXPECT_TRUE(bytes == expected);
      return std::string();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ConcurrencyParity, ::testing::Range(1u, 4u));

}  // namespace
}  // namespace spyre::test::concurrency_parity_test
