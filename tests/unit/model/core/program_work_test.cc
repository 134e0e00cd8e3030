// SPDX-License-Identifier: Apache-2.0
// What a program does, counted: against arithmetic by hand.
#include "model/core/program_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace spyre::model::program_work_test {
namespace {

constexpr uint64_t kMany = 1'000'000;

TEST(ProgramWork, LoopsCoresAndMembersAreCounted) {
  const Program program = Assemble(R"(
    .program counted
    .cores 0x0000000F
    .lx 4096
    .core_width 1
    .core 0: 1
    .core 1: 2
    .core 2: 3
    .core 3: 4
    .section load 0x0000000F
      creg r1, 0
      li r2, 256
      li r3, 1
      li r4, 15
      loop r5, r1
        load r0, r0, r2, r3, r0, r0, r3, r0, r0, r0
      end
      load r0, r0, r2, r3, r0, r0, r3, r0, r0, r4
    .section store 0x00000001
      li r1, 128
      li r2, 3
      li r3, 2
      store r0, r0, r1, r2, r1, r1, r3, r0, r0
      loop r4, r0
        store r0, r0, r1, r2, r1, r1, r3, r0, r0
      end
    .section pt 0x00000006
      li r1, 8
      li r2, 64
      li r3, 10
      loop r4, r3
        loop r5, r2
          matmul r0, r0, r0, r1, r2, r2, r0, r0, r0, r0
        end
      end
  )");
  const std::optional<ProgramSurvey> survey = SurveyProgram(program, {}, kMany);
  ASSERT_TRUE(survey);
  EXPECT_TRUE(survey->sound);
  const ProgramWork* const work = &survey->work;
  // 1 + 2 + 3 + 4 loads of their own, and one of all four that counts once.
  EXPECT_EQ(work->bytes_read, 10u * 256 + 256);
  EXPECT_EQ(work->bytes_written, 128u * 3 * 2);
  EXPECT_EQ(work->macs, 2u * 10 * 64 * (8 * 64 * 64));
  // Load: 4 before the loop, LOOP, load and END a trip, one load. Store: 3, store, LOOP. PT: 3 and
  // LOOP, ten times LOOP, 64 times two, END.
  EXPECT_EQ(work->instructions, 4u * 6 + 10 * 2 + 5 + 2 * (4 + 10 * (1 + 64 * 2 + 1)));
}

TEST(ProgramWork, WhatIsTooLongOrCannotRunIsSaid) {
  const char* endless = R"(
    .program endless
    .cores 0x00000001
    .lx 128
    .section pt 0x00000001
      li r1, 4611686018427387904
      loop r2, r1
        nop
      end
  )";
  EXPECT_FALSE(SurveyProgram(Assemble(endless), {}, kMany));
  // One word of the table, taken away behind the assembler's back.
  Program beyond_the_table = Assemble(R"(
    .program beyond
    .cores 0x00000001
    .lx 128
    .table 1
    .section pt 0x00000001
      tab r1, 0
  )");
  EXPECT_TRUE(SurveyProgram(beyond_the_table, {}, kMany)->sound);
  beyond_the_table.address_table.clear();
  EXPECT_FALSE(SurveyProgram(beyond_the_table, {}, kMany)->sound);
}

// Two tensors: boxes of 2 planes x 3 rows x 256 bytes, 512 and 4096 bytes apart, of each, for each
// of four turns 8192 bytes further; one stick before the second; and one at an address of its own.
constexpr const char* kReaches = R"(
    .program reaches
    .cores 0x00000001
    .lx 65536
    .table 16
    .section load 0x00000001
      li r1, 4
      li r2, 256
      li r3, 3
      li r4, 512
      li r5, 2
      li r6, 4096
      li r8, 1
      tab r10, 0
      loop r7, r1
        madd r11, r10, r7, 8192
        load r0, r11, r2, r3, r4, r2, r5, r6, r6, r0
      end
      li r12, 128
      tab r13, 8
      madd r13, r13, r12, -1
      load r0, r13, r12, r8, r0, r0, r8, r0, r0, r0
      li r14, 1280
      load r0, r14, r12, r8, r0, r0, r8, r0, r0, r0
    .section store 0x00000001
      li r1, 128
      li r8, 1
      tab r10, 8
      store r0, r10, r1, r8, r0, r0, r8, r0, r0
  )";

TEST(ProgramWork, ReachesAreCountedFromTheAddressesOfTheTable) {
  Program program = Assemble(kReaches);
  program.address_table[0] = 1 << 20;
  program.address_table[8] = 7 << 20;
  const std::optional<ProgramSurvey> survey = SurveyProgram(program, {}, kMany);
  ASSERT_TRUE(survey);
  EXPECT_TRUE(survey->sound);
  EXPECT_FALSE(survey->needs_table);
  ASSERT_EQ(survey->reaches.size(), 4u);
  const auto expect = [&](uint32_t entry, bool write, int64_t begin, int64_t end) {
    for (const MemoryReach& reach : survey->reaches) {
      if (reach.entry != entry || reach.write != write) continue;
      EXPECT_EQ(reach.begin, begin);
      EXPECT_EQ(reach.end, end);
      return;
    }
    ADD_FAILURE() << "no reach of entry " << entry;
  };
  expect(0, false, 0, 3 * 8192 + 4096 + 2 * 512 + 256);
  expect(8, false, -128, 0);
  expect(MemoryReach::kNoEntry, false, 1280, 1280 + 128);
  expect(8, true, 0, 128);

  // With other addresses, what is asked for is there.
  std::vector<std::array<uint64_t, 3>> asked;
  const auto note = [&](uint64_t address, uint64_t bytes, bool write) {
    asked.push_back({address, bytes, write});
    return true;
  };
  std::vector<uint64_t> table(16);
  table[0] = 1 << 30;
  table[8] = uint64_t{2} << 30;
  EXPECT_TRUE(ReachesOnly(*survey, table, note));
  std::sort(asked.begin(), asked.end());
  const std::vector<std::array<uint64_t, 3>> expected = {
      {1280, 128, 0},
      {1 << 30, 3 * 8192 + 4096 + 2 * 512 + 256, 0},
      {(uint64_t{2} << 30) - 128, 128, 0},
      {uint64_t{2} << 30, 128, 1}};
  EXPECT_EQ(asked, expected);
  EXPECT_FALSE(ReachesOnly(*survey, table, [](uint64_t, uint64_t, bool write) { return !write; }));
}

TEST(ProgramWork, AddressesThatServeAsNumbersAreNoticed) {
  const auto needs_table = [](const std::string& code) {
    Program program = Assemble(
        ".program numbers\n.cores 0x00000001\n.lx 4096\n.table 16\n.section load 0x00000001\n" +
        code);
    program.address_table[0] = program.address_table[8] = 256;
    const std::optional<ProgramSurvey> survey = SurveyProgram(program, {}, kMany);
    EXPECT_TRUE(survey && survey->sound) << code;
    return survey->needs_table;
  };
  const std::string one = "li r2, 1\nli r3, 128\n";
  const std::string load = "load r0, r1, r3, r2, r0, r0, r2, r0, r0, r0\n";
  EXPECT_FALSE(needs_table(one + "tab r1, 0\n" + load));
  EXPECT_FALSE(needs_table(one + "tab r1, 0\nmadd r1, r3, r1, 1\n" + load));
  // Strides are numbers, and are the same in all tables.
  EXPECT_FALSE(needs_table(one + "tab r4, 1\ntab r1, 0\nmadd r1, r1, r4, 128\n" + load));
  EXPECT_FALSE(needs_table("tab r1, 1\nloop r2, r1\nnop\nend\n"));
  EXPECT_TRUE(needs_table("tab r1, 0\nloop r2, r1\nnop\nend\n"));
  EXPECT_TRUE(needs_table(one + "tab r1, 0\ntab r4, 8\nmadd r1, r1, r4, -1\n" + load));
  EXPECT_TRUE(needs_table(one + "tab r1, 0\nmul r1, r1, r2, 0\n" + load));
  EXPECT_TRUE(needs_table(one + "tab r1, 0\nmin r1, r1, r3\n" + load));
  EXPECT_TRUE(needs_table(one + "tab r1, 0\nload r0, r0, r1, r2, r0, r0, r2, r0, r0, r0\n"));
  // A loop without a turn leaves its counter as it is.
  EXPECT_FALSE(needs_table(one + "tab r1, 0\nloop r1, r0\nend\n" + load));
}

TEST(ProgramWork, MembersOfAMulticastMustAskForTheSame) {
  const auto sound = [](const std::string& second) {
    const std::optional<ProgramSurvey> survey =
        SurveyProgram(Assemble(".program members\n.cores 0x00000003\n.lx 4096\n"
                               ".section load 0x00000001\nli r1, 128\nli r2, 1\nli r3, 3\n"
                               "load r0, r0, r1, r2, r0, r0, r2, r0, r0, r3\n"
                               ".section load 0x00000002\nli r1, 128\nli r2, 1\nli r3, 3\n" +
                               second),
                      {}, kMany);
    return survey && survey->sound;
  };
  EXPECT_TRUE(sound("load r1, r0, r1, r2, r0, r0, r2, r0, r0, r3\n"));
  EXPECT_FALSE(sound("load r0, r1, r1, r2, r0, r0, r2, r0, r0, r3\n"));
  EXPECT_FALSE(sound(""));
}

}  // namespace
}  // namespace spyre::model::program_work_test
