// SPDX-License-Identifier: Apache-2.0
// The control-block processor seen from its rings: entries written by hand, good and bad, at the
// limits of the rings.
#include <gmock/gmock.h>

#include <cstddef>
#include <map>

#include "model/pcie/config_layout.h"
#include "tests/integration/queue_by_hand.h"

namespace spyre::test::control_test {
namespace {

class ControlTest : public QueueByHand {};

TEST_P(ControlTest, ANopIsAnsweredWithFiveTimesInOrder) {
  OpenByHand();
  Put(Block(Opcode::NOP));
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(0), Status::OK);
  const Response& response = At(0);
  EXPECT_EQ(response.sequence, 1u);
  EXPECT_EQ(response.phase, 1u);
  EXPECT_LT(response.queued_ps, response.fetched_ps);
  EXPECT_LE(response.fetched_ps, response.started_ps);
  EXPECT_LE(response.started_ps, response.finished_ps);
  EXPECT_LT(response.finished_ps, response.posted_ps);
  // The fetch is one round trip: two ways and host memory, and the packets.
  EXPECT_GE(response.fetched_ps - response.queued_ps, 650'000u) << "picoseconds";
}

TEST_P(ControlTest, EveryKindOfBadEntryIsAnsweredByName) {
  OpenByHand();
  ControlBlock crc = Block(Opcode::NOP, 1);
  crc.size_bytes ^= 1;
  Put(crc);
  ControlBlock version = Block(Opcode::NOP, 2);
  version.version = 9;
  Put(version);
  Put([&] {
    ControlBlock opcode = Block(Opcode::NOP, 3);
    opcode.opcode = 77;
    Seal(opcode);
    return opcode;
  }());
  ControlBlock reserved = Block(Opcode::NOP, 4);
  reserved.reserved0 = 1;
  Seal(reserved);
  Put(reserved);
  ControlBlock sequence = Block(Opcode::NOP, 5);
  sequence.sequence = 50;
  Seal(sequence);
  Put(sequence);
  ControlBlock function = Block(Opcode::NOP, 6);
  function.function = 1;
  Seal(function);
  Put(function);
  ControlBlock misaligned = Block(Opcode::DMA_FILL, 7);
  misaligned.device_address = 64;
  misaligned.size_bytes = 128;
  Seal(misaligned);
  Put(misaligned);
  ControlBlock outside = Block(Opcode::DMA_FILL, 8);
  outside.device_address = 1 << 20;
  outside.size_bytes = 128;
  Seal(outside);
  Put(outside);
  ControlBlock host = Block(Opcode::DMA_IN, 9);
  host.host_address = 0x10;
  host.size_bytes = 128;
  Seal(host);
  Put(host);
  Put(Block(Opcode::NOP, 10));
  Ring();
  Settle();
  std::map<uint64_t, Status> by_sequence;
  for (uint32_t i = 0; i < 10; ++i) by_sequence[At(i).sequence] = StatusAt(i);
  const std::map<uint64_t, Status> expected = {{1, Status::BAD_CRC},      {2, Status::BAD_VERSION},
                                               {3, Status::BAD_OPCODE},   {4, Status::BAD_FIELD},
                                               {5, Status::BAD_SEQUENCE}, {6, Status::BAD_FIELD},
                                               {7, Status::MISALIGNED},   {8, Status::PAGE_FAULT},
                                               {9, Status::HOST_FAULT},   {10, Status::OK}};
  EXPECT_EQ(by_sequence, expected);
}

TEST_P(ControlTest, AfterAFailureTheStreamAbortsAndOthersGoOn) {
  OpenByHand();
  ControlBlock bad = Block(Opcode::DMA_FILL, 1);
  bad.device_address = 1 << 20;
  bad.size_bytes = 128;
  Seal(bad);
  Put(bad);
  Put(Block(Opcode::NOP, 1));
  Put(Block(Opcode::NOP, 2));
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(0), Status::PAGE_FAULT);
  EXPECT_EQ(StatusAt(1), Status::ABORTED);
  EXPECT_EQ(StatusAt(2), Status::OK);
  registers_->WriteQueueControl(0);
  Program();  // resets the function
  Put(Block(Opcode::NOP, 1));
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(0), Status::OK) << "a reset clears the stream's error";
}

TEST_P(ControlTest, ABadEntryIsAnsweredInItsPlaceAndSparesOlderWorkOfItsStream) {
  OpenByHand();
  ControlBlock fill = Block(Opcode::DMA_FILL, 1);
  fill.size_bytes = 1 << 20;
  Seal(fill);
  Put(fill);
  ControlBlock bad = Block(Opcode::NOP, 1);
  bad.opcode = 77;
  Seal(bad);
  Put(bad);
  Ring();
  Settle();
  EXPECT_EQ(At(0).sequence, 1u);
  EXPECT_EQ(StatusAt(0), Status::OK);
  EXPECT_EQ(StatusAt(1), Status::BAD_OPCODE);
}

TEST_P(ControlTest, RingsWrapAndThePhaseTurnsWithEachPass) {
  OpenByHand();
  for (uint32_t i = 0; i < 100; ++i) {
    Put(Block(Opcode::NOP));
    Ring();
    Settle();
    ASSERT_EQ(StatusAt(i), Status::OK) << "entry " << i;
    ASSERT_EQ(At(i).sequence, i + 1);
    ASSERT_EQ(At(i).phase, (i / 16) % 2 == 0 ? 1u : 0u);
    registers_->WriteRqHead(i + 1);
  }
  EXPECT_EQ(registers_->ReadSqHead(), 100u);
}

TEST_P(ControlTest, ResponsesThatNobodyTakesHoldTheCardBack) {
  OpenByHand(2);
  for (int i = 0; i < 5; ++i) Put(Block(Opcode::NOP));
  Ring();
  Settle();
  EXPECT_EQ(registers_->ReadRqTail(), 2u);
  registers_->WriteRqHead(1);
  Settle();
  EXPECT_EQ(registers_->ReadRqTail(), 3u);
  registers_->WriteRqHead(3);
  Settle();
  EXPECT_EQ(registers_->ReadRqTail(), 5u);
}

TEST_P(ControlTest, ADoorbellBeyondTheRingStopsTheQueueWithAReason) {
  OpenByHand();
  registers_->WriteSqTail(kSubmissionEntries + 1);
  Settle();
  EXPECT_EQ(registers_->ReadStatusError(), 1u);
  EXPECT_EQ(registers_->ReadErrorCode(), static_cast<uint32_t>(Status::BAD_FIELD));
  EXPECT_EQ(registers_->ReadIntStatusError(), 1u);
}

TEST_P(ControlTest, ARingThatTheHostDoesNotMapStopsTheQueue) {
  OpenByHand();
  registers_->WriteSqBase(0x80);
  Put(Block(Opcode::NOP));
  Ring();
  Settle();
  EXPECT_EQ(registers_->ReadErrorCode(), static_cast<uint32_t>(Status::HOST_FAULT));
}

TEST_P(ControlTest, AnEventHoldsItsStreamUntilAnotherSignalsIt) {
  OpenByHand();
  ControlBlock wait = Block(Opcode::EVENT_WAIT, 1);
  wait.value = EventValue(42, 1);
  Seal(wait);
  Put(wait);
  Put(Block(Opcode::TIMESTAMP, 1));
  Put(Block(Opcode::TIMESTAMP, 2));
  ControlBlock signal = Block(Opcode::EVENT_SIGNAL, 2);
  signal.value = EventValue(42, 1);
  Seal(signal);
  Put(signal);
  Ring();
  Settle();
  std::vector<uint64_t> order;
  for (uint32_t i = 0; i < 4; ++i) order.push_back(At(i).sequence);
  EXPECT_THAT(order, ::testing::ElementsAre(3, 4, 1, 2));
}

TEST_P(ControlTest, AFenceWaitsForEverythingBeforeItAndHoldsEverythingBehind) {
  config_.concurrency = model::Concurrency::kPipelined;
  OpenByHand();
  ControlBlock fill = Block(Opcode::DMA_FILL, 1);
  fill.size_bytes = 1 << 20;
  Seal(fill);
  Put(fill);
  Put(Block(Opcode::FENCE, 2));
  Put(Block(Opcode::NOP, 3));
  Ring();
  Settle();
  EXPECT_EQ(At(0).sequence, 1u);
  EXPECT_EQ(At(1).sequence, 2u);
  EXPECT_EQ(At(2).sequence, 3u);
  EXPECT_GE(At(1).started_ps, At(0).finished_ps);
}

INSTANTIATE_TEST_SUITE_P(Fidelity, ControlTest, ::testing::Values("timed", "rtl"));

// DMA in on one stream and DMA out on another; returns whether they overlapped.
class OverlapTest : public ControlTest {
 protected:
  bool Overlaps() {
    std::vector<uint8_t> host(1 << 18);
    OpenByHand();
    const auto address = transport_->MapHost(0, host.data(), host.size());
    for (const Opcode opcode : {Opcode::DMA_IN, Opcode::DMA_OUT}) {
      ControlBlock block = Block(opcode, static_cast<uint32_t>(opcode));
      block.host_address = address;
      block.device_address = opcode == Opcode::DMA_IN ? 0 : 1 << 19;
      block.size_bytes = host.size();
      Seal(block);
      Put(block);
    }
    Ring();
    Settle();
    EXPECT_EQ(StatusAt(0), Status::OK);
    EXPECT_EQ(StatusAt(1), Status::OK);
    return At(1).started_ps < At(0).finished_ps;
  }
};

INSTANTIATE_TEST_SUITE_P(Fidelity, OverlapTest, ::testing::Values("timed", "rtl"));

TEST_P(OverlapTest, SerialHardwareRunsOneOperationAtATime) { EXPECT_FALSE(Overlaps()); }

TEST_P(OverlapTest, PipelinedHardwareMovesBothWaysAtOnce) {
  config_.concurrency = model::Concurrency::kPipelined;
  EXPECT_TRUE(Overlaps());
}

// Copies one stick from segment 2 to segment 3, both bound by a table that the PF brings.
constexpr const char* kSegmentCopy = R"(
.program segments
.cores 0x1
.lx 128
.table 2
.entry 0 34359738368
.entry 1 51539607552
.section load 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section store 0x1
  tab r1, 1
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t1
)";

TEST_P(ControlTest, ThePhysicalFunctionMayBringItsOwnSegmentTable) {
  OpenByHand();
  std::vector<uint8_t> image = Encode(Assemble(kSegmentCopy));
  image.resize(AlignUp(image.size(), kStickBytes));
  driver::PhysicalFunction(*admin_).MapRange(
      1 << 20, image.size(), kPermissionRead | kPermissionWrite | kPermissionExecute);
  std::vector<uint64_t> table(16, 0);
  constexpr uint64_t kTable = 128, kSource = 4096, kTarget = 8192;
  table[2 * 2] = kSource;
  table[2 * 2 + 1] = 128 | kPermissionRead;
  table[2 * 3] = kTarget;
  table[2 * 3 + 1] = 128 | kPermissionRead | kPermissionWrite;
  std::vector<uint64_t> source(16, 0x0123456789ABCDEF), target(16, 0);
  const auto copy = [&](Opcode opcode, void* host, uint64_t device, uint64_t bytes) {
    ControlBlock block = Block(opcode);
    block.host_address = transport_->MapHost(0, host, bytes);
    block.device_address = device;
    block.size_bytes = bytes;
    Seal(block);
    Put(block);
  };
  const auto launch = [&](uint32_t stream, uint64_t segment_table) {
    ControlBlock block = Block(Opcode::COMPUTE, stream);
    block.program_base = 1 << 20;
    block.program_bytes = image.size();
    block.segment_table = segment_table;
    Seal(block);
    Put(block);
  };
  copy(Opcode::DMA_IN, table.data(), kTable, 128);
  copy(Opcode::DMA_IN, source.data(), kSource, 128);
  copy(Opcode::DMA_IN, image.data(), 1 << 20, image.size());
  launch(0, kTable);
  copy(Opcode::DMA_OUT, target.data(), kTarget, 128);
  launch(9, 0);  // no table: the function's own segments, which map addresses 2 x 16 GiB that are
                 // not this PF's
  Ring();
  Settle();
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(StatusAt(i), Status::OK) << "entry " << i;
  EXPECT_EQ(target, source);
  EXPECT_EQ(StatusAt(5), Status::PAGE_FAULT);
}

TEST_P(ControlTest, AFunctionLevelResetInTheMiddleOfACopyDropsItAndTheFunctionWorksAgain) {
  OpenByHand();
  std::vector<uint8_t> host(1 << 20);
  ControlBlock copy = Block(Opcode::DMA_IN);
  copy.host_address = transport_->MapHost(0, host.data(), host.size());
  copy.size_bytes = host.size();
  Seal(copy);
  Put(copy);
  Ring();
  transport_->Advance(5'000'000);  // 5 us: the copy takes about 17
  EXPECT_EQ(registers_->ReadStatusBusy(), 1u);
  const uint32_t control = transport_->ConfigRead(0, model::config::kDeviceControl);
  transport_->ConfigWrite(0, model::config::kDeviceControl, control | model::config::kInitiateFlr);
  admin_->Reset();  // opens the function again
  Settle();
  EXPECT_EQ(At(0).magic, 0u) << "no response of the earlier life";
  driver::PhysicalFunction(*admin_).MapRange(0, 1 << 20, kPermissionRead | kPermissionWrite);
  registers_->WriteQueueControl(0);
  Program();
  Put(Block(Opcode::NOP));
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(0), Status::OK);
}

// docs/configuration-space.md, "Interrupts".
TEST_P(ControlTest, ACauseThatIsPendingSuppressesNoInterrupt) {
  OpenByHand();
  registers_->WriteIntEnable(1);
  transport_->Read32(0, 0, regs::INT_COUNT);  // clears it
  for (uint32_t i = 0; i < 3; ++i) {
    ControlBlock nop = Block(Opcode::NOP);
    nop.flags = kFlagInterrupt;
    Seal(nop);
    Put(nop);
    Ring();
    EXPECT_EQ(transport_->WaitInterrupt(0, 0, transport_->NowPs() + 100'000'000),
              driver::WaitResult::kInterrupt)
        << "INT_STATUS is " << transport_->Read32(0, 0, regs::INT_STATUS);
    EXPECT_EQ(transport_->Read32(0, 0, regs::INT_STATUS), 1u) << "nobody clears it";
  }
  EXPECT_EQ(transport_->Read32(0, 0, regs::INT_COUNT), 3u);
}

// docs/configuration-space.md, "What is visible when".
TEST_P(ControlTest, DataAreInHostMemoryBeforeTheResponseAndThatIsThereAtOnce) {
  OpenByHand();
  std::vector<uint8_t> host(3 * 4096, 0xEE);
  ControlBlock copy = Block(Opcode::DMA_OUT);
  copy.host_address = transport_->MapHost(0, host.data(), host.size());
  copy.size_bytes = host.size();
  Seal(copy);
  Put(copy);
  uint64_t data_bytes = 0, responses = 0;
  transport_->ObserveHostWrites([&](driver::FunctionId, driver::IoAddress address, uint64_t bytes) {
    if (address >= copy.host_address && address < copy.host_address + host.size()) {
      EXPECT_EQ(responses, 0u) << "data after their response";
      data_bytes += bytes;
      return;
    }
    ++responses;
    EXPECT_EQ(bytes, 128u);
    EXPECT_EQ(data_bytes, host.size()) << "a response before its data";
    EXPECT_EQ(StatusAt(0), Status::OK) << "whole";
  });
  Ring();
  Settle();
  EXPECT_EQ(responses, 1u);
  EXPECT_EQ(host, std::vector<uint8_t>(host.size(), 0));
}

TEST_P(ControlTest, DebugStateReadsAndUnknownOffsetsDoNotDisturb) {
  OpenByHand();
  EXPECT_EQ(transport_->Read32(0, 0, 0xFF00), 0u);
  transport_->Write32(0, 0, 0xFF00, 1);
  EXPECT_EQ(transport_->Read32(7, 0, 0), 0xFFFFFFFFu) << "no such function";
  Put(Block(Opcode::NOP));
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(0), Status::OK);
}

}  // namespace
}  // namespace spyre::test::control_test
