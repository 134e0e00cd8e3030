// SPDX-License-Identifier: Apache-2.0
// card.fidelity = "fast" finds every fault that "timed" finds: random programs that do the same
// again and again, launched with the addresses of several sets of tensors, one of them with a fault
// anywhere: late in the program, in one unit of one core, or in the addresses of one launch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/integration/card_fixture.h"
#include "tests/integration/parity/two_cards.h"

namespace spyre::test::fast_faults_test {
namespace {

constexpr int kCores = 4;
constexpr int kTurns = 300;
constexpr int kSets = 3;  // of tensors; each is launched twice
constexpr uint64_t kTileBytes = 16384;
constexpr uint64_t kTensorBytes = kTileBytes * kTurns * kCores;
constexpr uint64_t kSharedBytes = 4096;

// What goes wrong: a register of the section gets so much more with every turn behind the turn of
// the fault. The registers are those of the program below.
struct Plant {
  const char* name;
  const char* section;
  int reg;
  const char* more;
  bool one_core = true;  // only the core of the plant faults
};
constexpr Plant kPlants[] = {
    {"nothing", "", 0, "0"},
    {"a load beyond its tensor", "load", 11, "1073741824"},
    {"a load below its tensor", "load", 11, "-17179869184"},
    {"a load from the middle of a stick", "load", 11, "64"},
    {"a load behind LX", "load", 10, "2031616"},
    {"a load of too many rows", "load", 13, "8589934592"},
    {"a load that LX has no room for", "load", 13, "5000"},
    {"a multicast of others", "load", 27, "17"},
    {"a multicast of other bytes", "load", 26, "128", false},
    {"a store beyond its tensor", "store", 11, "1073741824"},
    {"a store to no memory", "store", 11, "140737488355328"},
    {"a store behind LX", "store", 10, "2031616"},
    {"a matmul of too many rows", "pt", 13, "2097152"},
    {"a matmul that writes behind LX", "pt", 10, "2031616"},
    {"a matmul of half a stick", "pt", 14, "32"},
    {"sums that overlap", "pt", 16, "-256"},
    {"a vector operand behind LX", "vector", 11, "2031616"},
    {"a vector operand that is not aligned", "vector", 10, "2"},
    {"a vector instruction of too many rows", "vector", 13, "65536"},
    {"a message to a core that is not there", "ring", 10, "29"},
    {"a message behind LX", "ring", 11, "2031616"},
};

struct Case {
  const Plant* plant;
  int turn;            // the last one without the fault
  int core;            // that has the fault
  int rows;            // of a load: tiles are 4 x rows sticks
  int bad_launch;      // its output is where no memory is, or its number another; -1: none
  bool marks;          // the program marks its steps
  bool takes_numbers;  // the number of turns is in the place of an address
};

std::string Planted(const Case& test, const std::string& section) {
  if (section != test.plant->section) return "";
  return fmt::format("    madd r{0}, r{0}, r5, 1\n", test.plant->reg);
}

// Loads a tile of A and a shared stick, computes, sends, stores a tile of C.
std::string TextOf(const Case& test) {
  std::string text =
      ".program planted\n.flags timing_only\n.cores 0x0000000F\n.lx 65536\n.table 24\n"
      ".core_width 2\n";
  for (int core = 0; core < kCores; ++core)
    text += fmt::format(".core {}: {} {}\n", core, core, core == test.core ? 1 : 0);
  const auto begin = [&](const char* section) {
    text += fmt::format(".section {} 0x0000000F\n", section);
    text += test.takes_numbers ? "  tab r1, 16\n" : fmt::format("  li r1, {}\n", kTurns);
    text += fmt::format("  creg r2, 0\n  creg r3, 1\n  li r6, {}\n", -test.turn);
    text += "  loop r4, r1\n";
    // r5: 0 up to the turn of the fault, then 1, 2 and so on times what it makes wrong.
    text +=
        "    li r8, 1\n    madd r5, r6, r4, 1\n    min r7, r5, r0\n    madd r5, r5, r7, -1\n"
        "    mul r5, r5, r3, 0\n";
    text += fmt::format("    li r7, {}\n    mul r5, r5, r7, 0\n", test.plant->more);
  };
  const auto device = [&](int entry) {
    text += fmt::format(
        "    tab r11, {}\n    li r9, {}\n    mul r9, r9, r2, 0\n    madd r11, r11, r9, 1\n"
        "    madd r11, r11, r4, {}\n",
        entry, kTensorBytes / kCores, kTileBytes);
  };
  const auto box = [&](int rows) {
    text +=
        fmt::format("    li r12, 512\n    li r13, {}\n    li r14, 512\n    li r15, 512\n", rows);
  };
  begin("load");
  text += "    li r10, 0\n";
  device(0);
  box(test.rows);
  text += fmt::format("    li r25, 8192\n    tab r26, {}\n    li r27, 15\n",
                      test.takes_numbers ? 0 : 16);
  text += Planted(test, "load");
  // Two turns are under way at a time; but a load unit that waits for a token does not hear of a
  // multicast that has failed.
  if (test.plant->one_core) text += "    nop wait=t6\n";
  text +=
      "    load r10, r11, r12, r13, r14, r15, r8, r0, r0, r0 signal=t1\n"
      "    load r25, r26, r12, r8, r0, r0, r8, r0, r0, r27 signal=t2\n"
      "  end\n";
  begin("pt");
  text +=
      "    li r10, 16384\n    li r11, 0\n    li r12, 8192\n    li r13, 16\n    li r14, 128\n"
      "    li r15, 64\n    li r16, 4096\n";
  text += Planted(test, "pt");
  text += "    matmul r10, r11, r12, r13, r14, r15, r0, r0, r16, r0 wait=t2 signal=t3\n  end\n";
  begin("vector");
  text += "    li r10, 32768\n    li r11, 0\n    li r13, 16\n    li r14, 128\n";
  text += Planted(test, "vector");
  text += "    vunary.neg r10, r11, r0, r13, r8, r0, r0, r0, r14, r14 wait=t1 signal=t4\n  end\n";
  begin("ring");
  text += "    madd r10, r2, r0, 0\n    li r11, 40960\n    li r12, 32768\n    li r13, 128\n";
  text += Planted(test, "ring");
  text += "    send r10, r11, r12, r13, r0 wait=t4 signal=t5\n";
  if (test.marks) text += "    mark r4, 1\n";
  text += "  end\n";
  begin("store");
  text.insert(text.rfind("  loop"), "  nop signal=t6\n  nop signal=t6\n");
  text += "    li r10, 32768\n";
  device(8);
  box(test.rows);
  text += Planted(test, "store");
  text +=
      "    nop wait=t3\n"
      "    store r10, r11, r12, r13, r14, r15, r8, r0, r0 wait=t5 signal=t6\n  end\n";
  return text;
}

class FastFaults : public CardFixture {
 public:
  void TestBody() override {}
  // What came of every launch, and how many were not simulated whole.
  std::string Run(const model::CardConfig& config, unsigned vfs, const std::vector<Case>& cases) {
    config_ = config;
    flex::RuntimeOptions options;
    options.bounds_check = false;
    Open(vfs, options);
    struct Set {
      flex::DeviceHandle in, out, shared;
    };
    std::vector<Set> sets;
    for (int i = 0; i < kSets; ++i) {
      sets.push_back({context_->Allocate(kTensorBytes), context_->Allocate(kTensorBytes),
                      context_->Allocate(kSharedBytes)});
    }
    std::string log;
    for (const Case& test : cases) {
      const std::string text = TextOf(test);
      for (int launch = 0; launch < 2 * kSets; ++launch) {
        const Set& set = sets[static_cast<size_t>(launch % kSets)];
        Program program = Assemble(text);
        const bool bad = launch == test.bad_launch;
        program.address_table[0] = flex::ToDeviceVirtual(set.in);
        program.address_table[8] = flex::ToDeviceVirtual(set.out);
        if (bad) program.address_table[8] += 64 * (uint64_t{1} << 30);
        program.address_table[16] =
            test.takes_numbers ? kTurns - (bad ? 7 : 0) : flex::ToDeviceVirtual(set.shared);
        try {
          const flex::DeviceHandle image = Load(program);
          context_->DefaultStream().Launch(image);
          context_->DefaultStream().Synchronize();
          log += fmt::format("{}: OK, {} macs, {} bytes\n", launch,
                             context_->CompletedOperations().back().macs,
                             context_->CompletedOperations().back().device_bytes_read);
          context_->Free(image);
        } catch (const Error& error) {
          const std::string what = error.what();
          // Where several cores fault, what ran before decides which of them is the first.
          const bool one_core = !bad && test.plant->one_core;
          log += fmt::format("{}: {}\n", launch,
                             what.substr(0, what.find(one_core ? " (sequence" : ", fault")));
          context_->Reset();
        }
      }
    }
    if (const model::FastStatistics* fast = transport_->card().fast()) {
      EXPECT_GT(fast->partly, 0u);
      EXPECT_GT(fast->repeated, 0u);
    }
    return log;
  }
};

class PlantedFaults : public ::testing::TestWithParam<uint32_t> {};

TEST_P(PlantedFaults, FailInFastAsInTimed) {
  std::mt19937 random(GetParam());
  const auto below = [&](size_t limit) { return static_cast<int>(random() % limit); };
  std::vector<Case> cases = {{&kPlants[0], 0, 0, 16, -1, false, false}};
  for (int i = 0; i < 5; ++i) {
    const bool plants = below(3) != 0;
    const Plant& plant = kPlants[plants ? 1 + below(std::size(kPlants) - 1) : 0];
    const int bad_launch = plants ? -1 : below(2 * kSets);
    cases.push_back({&plant, below(kTurns - 1), below(kCores), 8 * (1 + below(3)), bad_launch,
                     below(5) == 0, below(6) == 0});
  }
  model::CardConfig timed;
  timed.num_vfs = 1;
  model::CardConfig fast = timed;
  fast.fidelity = model::Fidelity::kFast;
  fast.fast.steady_us = 2;
  fast.fast.tolerance_percent = 5;
  const unsigned vfs = GetParam() % 3 == 0 ? 1 : 0;
  const auto [one, other] = OnTwoCards(
      [&](const model::CardConfig& config) { return FastFaults().Run(config, vfs, cases); }, timed,
      fast);
  EXPECT_EQ(other, one);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlantedFaults, ::testing::Range(1u, 13u));

// Each of them alone, so that none is left to chance.
class EveryPlant : public ::testing::TestWithParam<Plant> {};

TEST_P(EveryPlant, FailsInFastAsInTimed) {
  const std::vector<Case> cases = {{&kPlants[0], 0, 0, 16, -1, false, false},
                                   {&GetParam(), kTurns - 5, 2, 16, -1, false, false}};
  const model::CardConfig timed;
  model::CardConfig fast = timed;
  fast.fidelity = model::Fidelity::kFast;
  fast.fast.steady_us = 2;
  fast.fast.tolerance_percent = 5;
  const auto [one, other] = OnTwoCards(
      [&](const model::CardConfig& config) { return FastFaults().Run(config, 0, cases); }, timed,
      fast);
  EXPECT_EQ(other, one);
  const bool faults = one.find("failed") != std::string::npos;
  EXPECT_EQ(faults, std::string(GetParam().name) != "nothing") << one;
}

INSTANTIATE_TEST_SUITE_P(Plants, EveryPlant, ::testing::ValuesIn(kPlants), [](const auto& test) {
  std::string name = test.param.name;
  for (char& letter : name) letter = letter == ' ' ? '_' : letter;
  return name;
});

}  // namespace
}  // namespace spyre::test::fast_faults_test
