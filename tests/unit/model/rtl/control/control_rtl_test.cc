// SPDX-License-Identifier: Apache-2.0
// The control-block processor's RTL by itself, clock by clock: entries, engines and host memory are
// played by the test, with values that use every bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/rtl/rtl_blocks.h"

namespace spyre::model::control_rtl_test {
namespace {

constexpr uint64_t kClockPs = 1000;

// Plays everything around the block. Entries are answered from `ring`, operations end with random
// counters, responses land in `responses`.
class ControlBench {
 public:
  explicit ControlBench(const PowerOn& power_on = {})
      : block_(MakeControlRtl(Settings(), power_on)), rtl_(*block_) {}

  static ControlRtl::Settings Settings() {
    ControlRtl::Settings settings;
    settings.serial = false;
    settings.fetch_batch = 8;
    settings.decode_ps = 20 * kClockPs;
    settings.dispatch_ps = 10 * kClockPs;
    settings.respond_ps = 20 * kClockPs;
    return settings;
  }

  void Open(unsigned function, uint64_t submission_base, uint64_t response_base) {
    ControlRtl::Ring rings;
    rings.submission_base = submission_base;
    rings.submission_entries = kEntries;
    rings.response_base = response_base;
    rings.response_entries = kEntries;
    rings.enabled = true;
    rtl_.SetRing(function, rings);
    Step();
  }
  template <typename Entry>
  void Put(Entry entry) {
    entry.sequence = ring_.size() + 1;
    Seal(entry);
    ring_.emplace_back(kEntryBytes);
    std::memcpy(ring_.back().data(), &entry, kEntryBytes);
  }
  uint64_t Wide() { return random_(); }

  // One clock, and answers to what it asked for.
  void Step() {
    rtl_.Clock(now_ps_ += kClockPs);
    ++clocks_;
    ControlRtl::Read read;
    if (rtl_.TakeRead(&read)) {
      reads_.push_back(read);
      next_ = rtl_.submission_head(read.function);
      left_ = read.entries;
      rtl_.PresentEntry(ring_[next_].data());
    }
    if (rtl_.entry_next()) rtl_.PresentEntry(--left_ > 0 ? ring_[++next_].data() : nullptr);
    if (rtl_.entries_drop()) rtl_.PresentEntry(nullptr);
    if (rtl_.message()) rtl_.AnswerMessage(answer_status_, answer_fault_, answer_);
    ControlRtl::Started started{};
    if (rtl_.TakeStart(&started)) {
      Response outcome;
      outcome.status = static_cast<uint16_t>(engine_status_);
      outcome.fault_address = Wide();
      outcome.fault_core = static_cast<uint16_t>(Wide());
      outcome.device_bytes_read = Wide();
      outcome.device_bytes_written = Wide();
      outcome.macs = Wide();
      outcomes_.push_back(outcome);
      rtl_.EndOperation(started.port, outcome);
    }
    ControlRtl::Write write;
    if (rtl_.TakeWrite(&write)) {
      writes_.push_back(write);
      rtl_.EndWrite(host_takes_);
    }
  }
  // Until all that was put has its response.
  void Serve(unsigned function) {
    rtl_.Doorbell(function, static_cast<uint32_t>(ring_.size()), now_ps_);
    for (int i = 0; i < 20'000 && writes_.size() < ring_.size(); ++i) {
      Step();
      if (rtl_.idle()) now_ps_ = std::max(now_ps_, std::min(rtl_.wake_ps(), now_ps_ + 100'000));
    }
    ASSERT_EQ(writes_.size(), ring_.size());
    Step();
  }

  static constexpr uint32_t kEntries = 64;
  static constexpr size_t kEntryBytes = sizeof(ControlBlock);
  std::mt19937_64 random_{169};
  uint64_t now_ps_ = 0;
  uint64_t clocks_ = 0;
  const std::unique_ptr<ControlRtl> block_;
  ControlRtl& rtl_;
  std::vector<std::vector<uint8_t>> ring_;
  size_t next_ = 0;
  uint32_t left_ = 0;
  Status answer_status_ = Status::OK;
  uint64_t answer_fault_ = 0;
  ControlBlock answer_;
  Status engine_status_ = Status::OK;
  bool host_takes_ = true;
  std::vector<ControlRtl::Read> reads_;
  std::vector<Response> outcomes_;
  std::vector<ControlRtl::Write> writes_;
};

class ControlRtlTest : public ::testing::Test, public ControlBench {};

void ExpectAsleep(const ControlRtl& rtl) {
  EXPECT_TRUE(rtl.idle());
  EXPECT_EQ(rtl.wake_ps(), UINT64_MAX);
  for (unsigned function = 0; function < kMaxFunctions; ++function) {
    EXPECT_EQ(rtl.submission_head(function), 0u);
    EXPECT_EQ(rtl.response_tail(function), 0u);
    EXPECT_EQ(rtl.error(function), Status::OK);
    EXPECT_TRUE(rtl.doorbell_ready(function));
  }
}

TEST_F(ControlRtlTest, AfterPowerOnItSleepsUntilSomethingIsPutIn) { ExpectAsleep(rtl_); }

// Writes of some operations of a function, and the clocks that they took.
std::pair<std::vector<std::string>, uint64_t> WritesAfter(const PowerOn& power_on,
                                                          unsigned function) {
  ControlBench bench(power_on);
  ExpectAsleep(bench.rtl_);
  bench.Open(function, 0x1000, 0x2000);
  for (const Opcode opcode : {Opcode::NOP, Opcode::COMPUTE, Opcode::FENCE}) {
    if (function == 0) {
      ControlBlock block;
      block.opcode = static_cast<uint8_t>(opcode);
      bench.Put(block);
    } else {
      Message message;
      message.opcode = static_cast<uint8_t>(opcode);
      bench.Put(message);
    }
  }
  bench.Serve(function);
  std::vector<std::string> writes;
  for (const ControlRtl::Write& write : bench.writes_) {
    writes.emplace_back(reinterpret_cast<const char*>(&write.response), sizeof write.response);
    writes.back() += std::to_string(write.address) + "/" + std::to_string(write.function);
  }
  return {writes, bench.clocks_};
}

TEST(ControlRtlPowerOn, NothingDependsOnWhatItsRegistersHeldBefore) {
  for (const unsigned function : {0u, 7u}) {
    const auto expected = WritesAfter({}, function);
    ASSERT_EQ(expected.first.size(), 3u);
    for (uint32_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(seed);
      EXPECT_EQ(WritesAfter({seed}, function), expected);
    }
  }
}

// Also: an exception of the module is one of this program.
// Function 1 is asked for; its host does not answer, and function 2 is fetched and answered.
TEST_F(ControlRtlTest, AReadThatIsPutAsideHoldsUpNoOtherFunction) {
  Open(1, 0x1000, 0x2000);
  Open(2, 0x3000, 0x4000);
  Message message;
  message.opcode = static_cast<uint8_t>(Opcode::NOP);
  Put(message);
  rtl_.Doorbell(1, 1, now_ps_);
  ControlRtl::Read read{};
  while (!rtl_.TakeRead(&read)) rtl_.Clock(now_ps_ += kClockPs);
  EXPECT_EQ(read.function, 1u);
  rtl_.PutReadAside();
  rtl_.SetSilent(1u << 1);
  Serve(2);
  EXPECT_EQ(writes_.at(0).function, 2u);
  ASSERT_EQ(reads_.size(), 1u) << "function 1 is not asked for while it is silent";
  rtl_.SetSilent(0);
  for (int i = 0; i < 2'000 && writes_.size() < 2; ++i) Step();
  ASSERT_EQ(reads_.size(), 2u);
  EXPECT_EQ(reads_[1].function, 1u);
  EXPECT_EQ(reads_[1].address, read.address) << "the same read again";
  ASSERT_EQ(writes_.size(), 2u);
  EXPECT_EQ(writes_[1].function, 1u);
}

TEST_F(ControlRtlTest, AnEngineThatEndsWhatHasNotStartedIsADeviceFault) {
  rtl_.EndOperation(2, {});
  try {
    Step();
    FAIL() << "nobody noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("an engine ends what has not started"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("engine_ports.sv"));
  }
}

TEST_F(ControlRtlTest, TwoCommandsInOneClockAreADeviceFault) {
  rtl_.ClearError(1);
  rtl_.CancelDoorbell(1);
  EXPECT_THROW(Step(), Error);
}

TEST_F(ControlRtlTest, ANopTakesFewerThanSixtyClocksAwake) {
  Open(0, 0x1000, 0x2000);
  Put(ControlBlock{});
  Serve(0);
  EXPECT_LT(clocks_, 60u);
  EXPECT_EQ(reads_.at(0).address, 0x1000u);
  EXPECT_EQ(writes_.at(0).address, 0x2000u);
  EXPECT_EQ(Check(writes_[0].response), Status::OK);
}

TEST_F(ControlRtlTest, EveryBitOfAnEntryAndOfAnOutcomeReachesTheResponse) {
  Open(0, ~0x3FFFull, 0x7FFFFFFFFFFF0000);
  for (int i = 0; i < 40; ++i) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(Opcode::COMPUTE);
    block.stream = static_cast<uint32_t>(Wide());
    block.correlation = Wide();
    block.value = Wide();
    block.host_address = Wide();
    Put(block);
  }
  now_ps_ = 0x5555'5555'5555'0000;
  Serve(0);
  ASSERT_EQ(outcomes_.size(), 40u);
  for (size_t i = 0; i < ring_.size(); ++i) {
    SCOPED_TRACE(i);
    ControlBlock block;
    std::memcpy(&block, ring_[i].data(), kEntryBytes);
    const Response& response = writes_[i].response;
    EXPECT_EQ(Check(response), Status::OK);
    EXPECT_EQ(writes_[i].address, 0x7FFFFFFFFFFF0000 + i * kEntryBytes);
    EXPECT_EQ(response.sequence, i + 1);
    EXPECT_EQ(response.stream, block.stream);
    EXPECT_EQ(response.correlation, block.correlation);
    EXPECT_EQ(response.fault_address, outcomes_[i].fault_address);
    EXPECT_EQ(response.fault_core, outcomes_[i].fault_core);
    EXPECT_EQ(response.device_bytes_read, outcomes_[i].device_bytes_read);
    EXPECT_EQ(response.device_bytes_written, outcomes_[i].device_bytes_written);
    EXPECT_EQ(response.macs, outcomes_[i].macs);
  }
}

TEST_F(ControlRtlTest, AMessageIsAnsweredWithWhatTheManagementControllerSaid) {
  Open(16, 0xAAAAAAAAAAAAAA80, 0x5555555555555500);
  for (int i = 0; i < 20; ++i) {
    Message message;
    message.stream = static_cast<uint32_t>(i);
    message.correlation = Wide();
    Put(message);
  }
  answer_status_ = Status::PERMISSION;
  answer_fault_ = 0xFEDCBA9876543210;
  Serve(16);
  for (const ControlRtl::Write& write : writes_) {
    EXPECT_EQ(write.function, 16u);
    EXPECT_EQ(static_cast<Status>(write.response.status), Status::PERMISSION);
    EXPECT_EQ(write.response.fault_address, answer_fault_);
  }
}

TEST_F(ControlRtlTest, AHostThatRefusesAResponseStopsTheQueue) {
  Open(3, 0, 0x100000);
  Put(Message{});
  host_takes_ = false;
  Serve(3);
  for (int i = 0; i < 3 && rtl_.error(3) == Status::OK; ++i) Step();
  EXPECT_EQ(rtl_.error(3), Status::HOST_FAULT);
  rtl_.ClearError(3);
  Step();
  EXPECT_EQ(rtl_.error(3), Status::OK);
}

TEST_F(ControlRtlTest, AResetForgetsEverythingOfItsFunctionAndNothingOfOthers) {
  Open(1, 0, 0x100000);
  for (int i = 0; i < 5; ++i) Put(Message{});
  Serve(1);
  rtl_.Reset(2);
  Step();
  EXPECT_EQ(rtl_.submission_head(1), 5u);
  EXPECT_EQ(rtl_.response_tail(1), 5u);
  rtl_.Reset(1);
  Step();
  EXPECT_EQ(rtl_.submission_head(1), 0u);
  EXPECT_EQ(rtl_.response_tail(1), 0u);
}

}  // namespace
}  // namespace spyre::model::control_rtl_test
