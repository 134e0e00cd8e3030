// SPDX-License-Identifier: Apache-2.0
// What a program does, counted: against arithmetic by hand.
#include "model/core/program_work.h"

#include <gtest/gtest.h>

namespace spyre::model {
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
  const std::optional<ProgramWork> work = CountWork(program, kMany);
  ASSERT_TRUE(work);
  // 1 + 2 + 3 + 4 loads of their own, and one of all four that counts once.
  EXPECT_EQ(work->bytes_read, 10u * 256 + 256);
  EXPECT_EQ(work->bytes_written, 128u * 3 * 2);
  EXPECT_EQ(work->macs, 2u * 10 * 64 * (8 * 64 * 64));
  // Load: 4 before the loop, LOOP, load and END a trip, one load. Store: 3, store, LOOP. PT: 3 and
  // LOOP, ten times LOOP, 64 times two, END.
  EXPECT_EQ(work->instructions, 4u * 6 + 10 * 2 + 5 + 2 * (4 + 10 * (1 + 64 * 2 + 1)));
}

TEST(ProgramWork, WhatIsTooLongOrCannotRunIsNotCounted) {
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
  EXPECT_FALSE(CountWork(Assemble(endless), kMany));
  // One word of the table, taken away behind the assembler's back.
  Program beyond_the_table = Assemble(R"(
    .program beyond
    .cores 0x00000001
    .lx 128
    .table 1
    .section pt 0x00000001
      tab r1, 0
  )");
  EXPECT_TRUE(CountWork(beyond_the_table, kMany));
  beyond_the_table.address_table.clear();
  EXPECT_FALSE(CountWork(beyond_the_table, kMany));
}

}  // namespace
}  // namespace spyre::model
