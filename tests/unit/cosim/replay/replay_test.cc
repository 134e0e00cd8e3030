// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "cosim/replay/recording_transport.h"
#include "tests/unit/cosim/replay/fake_card.h"

namespace spyre::cosim::replay_test {
namespace {

using driver::WaitResult;
using test::FakeCard;
using test::FakeCardOptions;
using ::testing::HasSubstr;

constexpr uint64_t kLong = 1'000'000'000'000;

// A host program on rings of eight entries.
class Host {
 public:
  explicit Host(driver::Transport& card, uint64_t buffer_bytes = 1000)
      : card_(card), buffer_(buffer_bytes) {
    submission_io_ = card_.MapHost(0, submission_, sizeof submission_);
    const auto response_io = card_.MapHost(0, responses_, sizeof responses_);
    buffer_io_ = card_.MapHost(0, buffer_.data(), buffer_.size());
    Write(regs::CONTROL, 1);
    Write(regs::SQ_BASE_LO, static_cast<uint32_t>(submission_io_));
    Write(regs::SQ_ENTRIES, 8);
    Write(regs::RQ_BASE_LO, static_cast<uint32_t>(response_io));
    Write(regs::RQ_ENTRIES, 8);
    Write(regs::QUEUE_CONTROL, 1);
  }

  void Write(uint32_t offset, uint32_t value) { card_.Write32(0, 0, offset, value); }
  uint32_t Read(uint32_t offset) { return card_.Read32(0, 0, offset); }

  // Stores an operation of the whole buffer; the card sees it at the next Ring.
  void Put(Opcode opcode) {
    ControlBlock block{};
    block.opcode = static_cast<uint8_t>(opcode);
    block.sequence = ++sequence_;
    block.host_address = buffer_io_;
    block.size_bytes = buffer_.size();
    Seal(block);
    std::memcpy(submission_ + tail_++ % 8 * 128, &block, sizeof block);
  }
  void Ring() { Write(regs::SQ_TAIL, tail_); }
  WaitResult Wait(uint64_t ps = kLong) { return card_.WaitInterrupt(0, 0, card_.NowPs() + ps); }
  bool Answered(uint32_t count) const {
    Response response;
    std::memcpy(&response, responses_ + (count - 1) % 8 * 128, sizeof response);
    return response.magic != 0;
  }

  driver::Transport& card_;
  std::vector<uint8_t> buffer_;

 private:
  alignas(128) uint8_t submission_[1024] = {};
  alignas(128) uint8_t responses_[1024] = {};
  driver::IoAddress submission_io_ = 0, buffer_io_ = 0;
  uint32_t tail_ = 0;
  uint64_t sequence_ = 0;
};

class ReplayTest : public ::testing::Test {
 protected:
  template <typename Program>
  void Record(Program program, const FakeCardOptions& options = {}) {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = info->name();
    std::replace(name.begin(), name.end(), '/', '_');
    const std::string path = ::testing::TempDir() + name + ".rec";
    FakeCard card(options);
    {
      RecordingTransport transport(card, path, "");
      program(transport);
      transport.Finish();
    }
    recording_ = ReadRecording(path);
    std::filesystem::remove(path);
  }
  ReplayResult Replay(const FakeCardOptions& options = {}, bool in_order = true) const {
    FakeCard card(options);
    ReplayOptions replay;
    replay.in_order = in_order;
    return cosim::Replay(recording_, card, replay);
  }
  Divergence Diverges(const FakeCardOptions& options) const {
    const ReplayResult result = Replay(options);
    EXPECT_TRUE(result.divergence.has_value());
    return result.divergence.value_or(Divergence());
  }

  Recording recording_;
};

void CopyOut(driver::Transport& card) {
  Host host(card);
  host.Read(regs::CAPABILITIES);
  host.Put(Opcode::DMA_OUT);
  host.Ring();
  EXPECT_EQ(host.Wait(), WaitResult::kInterrupt);
}

void CopyOutLarge(driver::Transport& card) {
  Host host(card, 100'000);
  host.Put(Opcode::DMA_OUT);
  host.Ring();
  host.Wait();
}

void ThreeWaits(driver::Transport& card) {
  Host host(card);
  for (int i = 0; i < 3; ++i) host.Put(Opcode::NOP);
  host.Ring();
  for (int i = 0; i < 3; ++i) host.Wait();
}

void PollTheRing(driver::Transport& card) {
  Host host(card);
  for (uint32_t i = 1; i <= 3; ++i) {
    host.Put(Opcode::NOP);
    host.Ring();
    while (!host.Answered(i)) card.Advance(100'000);
  }
}

void PollARegister(driver::Transport& card) {
  Host host(card);
  host.Write(regs::ADMIN_COMMAND, 1);
  while (host.Read(regs::ADMIN_STATUS) == kAdminBusy) card.Advance(100'000);
  host.Write(regs::SCRATCH, 1);
}

FakeCardOptions Slow() {
  FakeCardOptions options;
  options.latency_ps = options.admin_ps = 50'000'000;
  return options;
}
FakeCardOptions Fast() {
  FakeCardOptions options;
  options.latency_ps = options.admin_ps = 1;
  return options;
}

struct Program {
  const char* name;
  void (*run)(driver::Transport&);
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

class EveryProgram : public ReplayTest, public ::testing::WithParamInterface<Program> {};

TEST_P(EveryProgram, TakesTheSameTimeOnTheSameCard) {
  Record(GetParam().run);
  const ReplayResult result = Replay();
  EXPECT_FALSE(result.divergence.has_value());
  EXPECT_EQ(result.replayed_ps, result.recorded_ps);
  EXPECT_EQ(result.records, recording_.records.size());
}

TEST_P(EveryProgram, IsEqualOnASlowerCard) {
  Record(GetParam().run);
  const ReplayResult result = Replay(Slow());
  EXPECT_FALSE(result.divergence.has_value()) << result.divergence->access;
  EXPECT_GT(result.replayed_ps, result.recorded_ps);
}

TEST_P(EveryProgram, IsEqualAndFasterOnAFasterCard) {
  Record(GetParam().run);
  const ReplayResult result = Replay(Fast());
  EXPECT_FALSE(result.divergence.has_value()) << result.divergence->access;
  EXPECT_LT(result.replayed_ps, result.recorded_ps);
}

TEST_P(EveryProgram, OfASlowCardIsEqualOnAFastOne) {
  Record(GetParam().run, Slow());
  const ReplayResult result = Replay(Fast());
  EXPECT_FALSE(result.divergence.has_value()) << result.divergence->access;
  EXPECT_LT(result.replayed_ps * 2, result.recorded_ps);
}

INSTANTIATE_TEST_SUITE_P(Replays, EveryProgram,
                         ::testing::Values(Program{"CopyOut", CopyOut},
                                           Program{"CopyOutLarge", CopyOutLarge},
                                           Program{"ThreeWaits", ThreeWaits},
                                           Program{"PollTheRing", PollTheRing},
                                           Program{"PollARegister", PollARegister}),
                         [](const auto& program) { return program.param.name; });

TEST_F(ReplayTest, CountsWhatItReplays) {
  Record(CopyOut);
  const ReplayResult result = Replay();
  EXPECT_EQ(result.accesses, 8);
  EXPECT_EQ(result.interrupts, 1);
  EXPECT_EQ(result.responses, 1);
  EXPECT_EQ(result.output_bytes, 1000);
}

TEST_F(ReplayTest, AnotherRegisterValueIsShownWithItsFields) {
  Record(CopyOut);
  FakeCardOptions card;
  card.cores = 8;
  const Divergence divergence = Diverges(card);
  EXPECT_EQ(divergence.access, "read of CAPABILITIES (BAR0 0x000c), function 0");
  EXPECT_THAT(divergence.recorded, HasSubstr("CORES 32"));
  EXPECT_THAT(divergence.replayed, HasSubstr("CORES 8"));
  EXPECT_EQ(divergence.replayed_ps, divergence.recorded_ps);
}

TEST_F(ReplayTest, AnotherStatusIsAFieldOfTheResponse) {
  Record(CopyOut);
  FakeCardOptions card;
  card.status = Status::PAGE_FAULT;
  const Divergence divergence = Diverges(card);
  ASSERT_EQ(divergence.fields.size(), 1u);
  EXPECT_EQ(divergence.fields[0].name, "status");
  EXPECT_EQ(divergence.fields[0].recorded, "OK");
  EXPECT_EQ(divergence.fields[0].replayed, "PAGE_FAULT");
}

TEST_F(ReplayTest, AnotherByteOfASmallOutputIsNamed) {
  Record(CopyOut);
  FakeCardOptions card;
  card.wrong_byte = 777;
  const Divergence divergence = Diverges(card);
  EXPECT_THAT(divergence.access, HasSubstr("byte 777 of 1000"));
  EXPECT_EQ(divergence.recorded, "0x5a");
  EXPECT_EQ(divergence.replayed, "0x5b");
}

TEST_F(ReplayTest, ThePageOfAnotherByteOfALargeOutputIsNamed) {
  Record(CopyOutLarge);
  FakeCardOptions card;
  card.wrong_byte = 99'000;
  EXPECT_THAT(Diverges(card).access, HasSubstr("bytes 98304 to 99999 of 100000"));
}

TEST_F(ReplayTest, ALostInterruptIsFoundThoughTheResponseCame) {
  Record(CopyOut);
  FakeCardOptions card;
  card.lost_interrupt = 1;
  const Divergence divergence = Diverges(card);
  EXPECT_EQ(divergence.access, "wait for interrupt 0 of function 0");
  EXPECT_THAT(divergence.replayed, HasSubstr("although the response has come"));
}

TEST_F(ReplayTest, AMissingResponseSaysWhoWaits) {
  Record(PollTheRing);
  FakeCardOptions card;
  card.lost_response = 2;
  const Divergence divergence = Diverges(card);
  EXPECT_EQ(divergence.recorded, "sequence 2, NOP, OK");
  EXPECT_EQ(divergence.replayed, "none");
  EXPECT_EQ(divergence.waits, "the fake card waits");
}

TEST_F(ReplayTest, ASecondResponseToOneOperationIsFound) {
  Record(CopyOut);
  FakeCardOptions card;
  card.doubled_response = 1;
  EXPECT_THAT(Diverges(card).replayed, HasSubstr("of no operation that is outstanding"));
}

TEST_F(ReplayTest, AnotherOrderDivergesUnlessOperationsOverlap) {
  Record(ThreeWaits);
  FakeCardOptions card;
  card.reversed = true;
  const Divergence divergence = Diverges(card);
  EXPECT_EQ(divergence.access, "response of function 0, order");
  EXPECT_FALSE(Replay(card, false).divergence.has_value());
}

TEST_F(ReplayTest, AnInterruptBeforeItsDeadlinePassedServesALaterWait) {
  Record(
      [](driver::Transport& card) {
        Host host(card);
        host.Put(Opcode::NOP);
        host.Ring();
        EXPECT_EQ(host.Wait(1000), WaitResult::kDeadline);
        EXPECT_EQ(host.Wait(), WaitResult::kInterrupt);
      },
      Slow());
  EXPECT_FALSE(Replay(Fast()).divergence.has_value());
}

TEST_F(ReplayTest, AnInterruptWhereTheCardHadNoneDiverges) {
  FakeCardOptions broken;
  broken.lost_interrupt = 1;
  Record(
      [](driver::Transport& card) {
        Host host(card);
        host.Put(Opcode::NOP);
        host.Ring();
        EXPECT_EQ(host.Wait(), WaitResult::kStalled);
      },
      broken);
  EXPECT_FALSE(Replay(broken).divergence.has_value());
  EXPECT_EQ(Diverges({}).replayed, "an interrupt");
}

TEST_F(ReplayTest, SourcesOfCopiesAreRecordedAndOnlyWhatChanges) {
  Record([](driver::Transport& card) {
    Host host(card, 1 << 20);
    for (const uint8_t value : {1, 2}) {
      host.buffer_[500'000] = value;
      host.Put(Opcode::DMA_IN);
      host.Ring();
      host.Wait();
    }
  });
  std::vector<uint64_t> sizes;
  for (const cosim::Record& record : recording_.records) {
    if (record.kind == RecordKind::kHostData) sizes.push_back(record.data.size());
  }
  EXPECT_EQ(sizes, std::vector<uint64_t>(4, 128)) << "an entry and a stick of the buffer, twice";
}

TEST_F(ReplayTest, SequenceNumbersMayStartAnewAfterAReset) {
  Record([](driver::Transport& card) {
    for (int i = 0; i < 2; ++i) CopyOut(card);
  });
  EXPECT_FALSE(Replay(Slow()).divergence.has_value());
}

}  // namespace
}  // namespace spyre::cosim::replay_test
