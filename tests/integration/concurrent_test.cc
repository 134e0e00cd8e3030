// SPDX-License-Identifier: Apache-2.0
// A card whose cores are divided into partitions: programs that need different ones run side by
// side, each with cores, barriers and LX of its own, and slow each other down only where they share
// the ring and memory.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/card_choices.h"
#include "tests/integration/tenants.h"

namespace spyre::test::concurrent_test {
namespace {

constexpr uint64_t kUs = 1'000'000;  // ps
constexpr uint64_t kData = 1 << 20;  // offset in a region

// 27 us on `cores`.
std::string Busy(uint32_t cores) {
  return fmt::format(R"(
.program busy
.cores {0:#x}
.section vector {0:#x}
  li r1, 15000
  loop r2, r1
    nop
  end
)",
                     cores);
}

// Every core of 16 loads 1 MiB of its own, 64 KiB at a time.
std::string Loads() {
  std::string text = ".program loads\n.cores 0xffff\n.lx 65536\n.table 1\n";
  for (unsigned core = 0; core < 16; ++core) {
    text += fmt::format(R"(
.section load {:#x}
  tab r1, 0
  li r2, 65536
  madd r1, r1, r2, {}
  li r3, 1
  li r7, 16
  loop r8, r7
    load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0
    madd r1, r1, r2, 1
  end
)",
                        1u << core, 16 * core);
  }
  return text;
}

// The stick of table entry 0 goes to core 0, from there to core 1 after a barrier of both, and from
// there to entry 1.
constexpr const char* kPassOn = R"(
.program pass
.cores 0x3
.lx 256
.table 2
.section load 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x1
  li r1, 3
  barrier r1, r0 wait=t1
  li r2, 1
  li r3, 128
  li r4, 2
  send r2, r3, r0, r3, r4
.section ring 0x2
  li r1, 3
  barrier r1, r0
.section store 0x2
  tab r1, 1
  li r2, 128
  li r3, 1
  li r5, 128
  store r5, r1, r2, r3, r0, r0, r3, r0, r0 wait=t2
)";
constexpr const char* kEndless = R"(
.program endless
.cores 0xffff
.section vector 0xffff
  nop wait=t7
)";

// card.control.fidelity.
class Concurrent : public Tenants, public ::testing::WithParamInterface<const char*> {
 protected:
  Concurrent() {
    config_.control.fidelity = Named(GetParam());
    config_.concurrency = model::Concurrency::kConcurrent;
  }
  static bool Overlap(const Response& a, const Response& b) {
    return a.started_ps < b.finished_ps && b.started_ps < a.finished_ps;
  }
  static uint64_t Together(const Response& a, const Response& b) {
    return std::max(a.finished_ps, b.finished_ps) - std::min(a.started_ps, b.started_ps);
  }
  // Bytes that the load units of these cores have taken since the card was made.
  uint64_t Loaded(unsigned first, unsigned last) {
    uint64_t bytes = 0;
    for (const model::UnitStatistics& unit : transport_->card().Statistics())
      for (unsigned core = first; core <= last; ++core)
        if (unit.name == fmt::format("core{:02}.load", core)) bytes += unit.bytes;
    return bytes;
  }
};

TEST_P(Concurrent, ProgramsOfHalfTheCoresRunSideBySide) {
  OpenTenants(2);
  for (unsigned vf = 1; vf <= 2; ++vf) LoadAs(vf, Busy(0xFFFF), 0);
  for (const unsigned other : {1u, 2u}) {  // streams of one function, and two functions
    const uint64_t one = PutLaunch(1, 0, 1), two = PutLaunch(other, 0, 2);
    Ring(1);
    if (other != 1) Ring(other);
    Work(200 * kUs);
    EXPECT_EQ(StatusOf(1, one), Status::OK);
    EXPECT_EQ(StatusOf(other, two), Status::OK);
    EXPECT_TRUE(Overlap(Got(1, one), Got(other, two)));
    EXPECT_LT(Together(Got(1, one), Got(other, two)), 50 * kUs);
  }
}

TEST_P(Concurrent, AProgramOfMoreThanHalfTheCoresRunsAlone) {
  OpenTenants(1);
  LoadAs(1, Busy(0xFFFF), 0);
  LoadAs(1, Busy(0x1FFFF), kProgramBytes);
  const uint64_t narrow = PutLaunch(1, 0, 1), wide = PutLaunch(1, kProgramBytes, 2),
                 behind = PutLaunch(1, 0, 3);
  Ring(1);
  Work(300 * kUs);
  // They have their cores one after the other.
  std::vector<uint64_t> ends;
  for (const uint64_t program : {narrow, wide, behind}) {
    EXPECT_EQ(StatusOf(1, program), Status::OK);
    ends.push_back(Got(1, program).finished_ps);
  }
  std::sort(ends.begin(), ends.end());
  EXPECT_EQ(ends[1], Got(1, wide).finished_ps) << "the third one does not pass it";
  EXPECT_GT(ends[1] - ends[0], 25 * kUs);
  EXPECT_GT(ends[2] - ends[1], 25 * kUs);
}

TEST_P(Concurrent, TheyShareRingAndMemory) {
  OpenTenants(1);
  LoadAs(1, Loads(), 0, {kData});
  LoadAs(1, Loads(), kProgramBytes, {kData + (16 << 20)});
  const uint64_t alone = PutLaunch(1, 0);
  Ring(1);
  Work(1'000 * kUs);
  ASSERT_EQ(StatusOf(1, alone), Status::OK);
  const uint64_t one = PutLaunch(1, 0, 1), two = PutLaunch(1, kProgramBytes, 2);
  Ring(1);
  Work(1'000 * kUs);
  const uint64_t alone_ps = TimeOf(Got(1, alone));
  EXPECT_GT(TimeOf(Got(1, one)), alone_ps + alone_ps / 20) << "each is slower than alone";
  EXPECT_GT(TimeOf(Got(1, two)), alone_ps + alone_ps / 20);
  EXPECT_LT(Together(Got(1, one), Got(1, two)), 2 * alone_ps) << "both are faster than in turn";
}

TEST_P(Concurrent, ProgramsHaveBarriersAndPeersOfTheirOwn) {
  OpenTenants(2);
  for (unsigned vf = 1; vf <= 2; ++vf) {
    for (int i = 0; i < 8; ++i)
      LoadAs(vf, kPassOn, static_cast<uint64_t>(i) * kProgramBytes,
             {kData + static_cast<uint64_t>(i) * 128, 2 * kData + static_cast<uint64_t>(i) * 128});
    std::vector<uint8_t> sticks(8 * 128);
    for (size_t i = 0; i < sticks.size(); ++i) sticks[i] = static_cast<uint8_t>(vf * 100 + i / 128);
    WriteAs(vf, kData, sticks);
  }
  std::vector<uint64_t> programs;
  for (uint32_t i = 0; i < 8; ++i)
    for (unsigned vf = 1; vf <= 2; ++vf) programs.push_back(PutLaunch(vf, i * kProgramBytes, i));
  Ring(1);
  Ring(2);
  Work(500 * kUs);
  for (unsigned vf = 1; vf <= 2; ++vf) {
    const std::vector<uint8_t> sticks = ReadAs(vf, 2 * kData, 8 * 128);
    for (size_t i = 0; i < sticks.size(); ++i)
      ASSERT_EQ(sticks[i], static_cast<uint8_t>(vf * 100 + i / 128)) << "VF " << vf << ", " << i;
  }
}

TEST_P(Concurrent, AProgramRunsOnTheCoresOfItsFunction) {
  OpenTenants(3);
  Manager().SetCores(2, 0xFFFF0000);
  Manager().SetCores(3, 0x00FFFF00);
  for (unsigned vf = 1; vf <= 3; ++vf) LoadAs(vf, Loads(), 0, {kData});
  const uint64_t second = PutLaunch(2, 0);
  Ring(2);
  Work(1'000 * kUs);
  EXPECT_EQ(StatusOf(2, second), Status::OK);
  EXPECT_EQ(Loaded(0, 15), 0u);
  EXPECT_EQ(Loaded(16, 31), 16u << 20);
  const uint64_t first = PutLaunch(1, 0);
  const uint64_t third = PutLaunch(3, 0);
  Ring(1);
  Ring(3);
  Work(1'000 * kUs);
  EXPECT_EQ(StatusOf(1, first), Status::OK);
  EXPECT_EQ(Loaded(0, 15), 16u << 20);
  EXPECT_EQ(StatusOf(3, third), Status::PERMISSION) << "no partition is all its own";
}

TEST_P(Concurrent, FunctionsWithPartitionsOfTheirOwnDoNotWaitForEachOther) {
  OpenTenants(2);
  Manager().SetCores(1, 0x0000FFFF);
  Manager().SetCores(2, 0xFFFF0000);
  for (unsigned vf = 1; vf <= 2; ++vf) LoadAs(vf, Busy(0xFFFF), 0);
  for (uint32_t i = 0; i < 20; ++i) PutLaunch(1, 0, i);
  Ring(1);
  Work(50 * kUs);
  const uint64_t program = PutLaunch(2, 0);
  Ring(2);
  Work(2'000 * kUs);
  EXPECT_LT(Got(2, program).posted_ps - Got(2, program).queued_ps, 50 * kUs);
}

TEST_P(Concurrent, WhatIsStoppedInOnePartitionDisturbsNoOther) {
  OpenTenants(2);
  LoadAs(1, kEndless, 0);
  LoadAs(2, kPassOn, 0, {kData, 2 * kData});
  WriteAs(2, kData, std::vector<uint8_t>(128, 0x77));
  Manager().SetTimeLimit(1, 500);
  const uint64_t endless = PutLaunch(1, 0);
  Ring(1);
  std::vector<uint64_t> others;
  for (int i = 0; i < 60; ++i) others.push_back(PutLaunch(2, 0));
  Ring(2);
  Work(1'000 * kUs);
  EXPECT_EQ(StatusOf(1, endless), Status::TIMED_OUT);
  for (const uint64_t program : others) EXPECT_EQ(StatusOf(2, program), Status::OK);
  EXPECT_EQ(ReadAs(2, 2 * kData, 128), std::vector<uint8_t>(128, 0x77));
}

TEST_P(Concurrent, AProgramThatWaitsForCoresHasItsWholeTimeThen) {
  OpenTenants(1);
  LoadAs(1, Busy(0xFFFFFFFF), 0);
  Manager().SetTimeLimit(1, 60);
  std::vector<uint64_t> programs;
  for (uint32_t i = 0; i < 6; ++i) programs.push_back(PutLaunch(1, 0, i));
  Ring(1);
  Work(500 * kUs);
  for (const uint64_t program : programs) EXPECT_EQ(StatusOf(1, program), Status::OK);
}

INSTANTIATE_TEST_SUITE_P(Card, Concurrent, ::testing::Values("timed", "rtl"));

// On every kind of hardware: LX is cleared for another user on the cores that it gets.
class LxOfCores : public Tenants, public ::testing::WithParamInterface<const char*> {};

TEST_P(LxOfCores, AnotherFunctionOnOtherCoresLeavesLxAsItIs) {
  constexpr const char* kLeave = R"(
.program leave
.cores 0x1
.lx 128
.table 1
.section load 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0
)";
  const auto look = [](uint32_t core) {
    return fmt::format(R"(
.program look
.cores {0:#x}
.lx 128
.table 1
.section store {0:#x}
  tab r1, 0
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0
)",
                       core);
  };
  config_.concurrency = Named(GetParam());
  OpenTenants(2);
  Manager().SetCores(2, 0xFFFF0000);
  // On a concurrent card a program's core 0 is the first of its partition.
  const bool concurrent = config_.concurrent();
  LoadAs(1, kLeave, 0, {kData});
  LoadAs(1, look(1), kProgramBytes, {2 * kData});
  LoadAs(2, look(concurrent ? 1 : 1 << 16), 0, {kData});
  WriteAs(1, kData, std::vector<uint8_t>(128, 0x5E));
  WriteAs(2, kData, std::vector<uint8_t>(128, 0xFF));
  const uint64_t leave = PutLaunch(1, 0);
  Ring(1);
  Work(50 * kUs);
  EXPECT_EQ(StatusOf(1, leave), Status::OK);
  const uint64_t other = PutLaunch(2, 0);
  Ring(2);
  Work(50 * kUs);
  EXPECT_EQ(StatusOf(2, other), Status::OK);
  EXPECT_EQ(ReadAs(2, kData, 128), std::vector<uint8_t>(128, 0)) << "not the other one's";
  PutLaunch(1, kProgramBytes);
  Ring(1);
  Work(50 * kUs);
  EXPECT_EQ(ReadAs(1, 2 * kData, 128), std::vector<uint8_t>(128, 0x5E)) << "its own";
}

INSTANTIATE_TEST_SUITE_P(Card, LxOfCores, ::testing::Values("serial", "pipelined", "concurrent"));

}  // namespace
}  // namespace spyre::test::concurrent_test
