// SPDX-License-Identifier: Apache-2.0
// The prepare engine of a pipelined card: COMPUTE with PREPARE runs on the service core, beside
// what runs on the cores. Entries and programs by hand, on the timed and on the RTL control
// processor.
#include <gmock/gmock.h>

#include <map>
#include <optional>

#include "bringup/ladder/raw_queue.h"
#include "model/contract/control_block.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::prepare_engine_test {
namespace {

using bringup::RawQueue;
using Stick = std::vector<uint64_t>;  // 16 words

// Copies a stick from table entry 0 to entry 1 through LX address 0, where it stays for 30 us.
constexpr const char* kSlowCopy = R"(
.program slow
.cores 0x1
.lx 128
.table 2
.section load 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section vector 0x1
  li r1, 30000
  nop wait=t1
  loop r2, r1
    nop
  end
  nop signal=t2
.section store 0x1
  tab r1, 1
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t2
)";
constexpr const char* kPoke = R"(
.program poke
.cores 0x1
.lx 128
.table 2
.section load 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0
)";
constexpr const char* kPeek = R"(
.program peek
.cores 0x1
.lx 128
.table 2
.section store 0x1
  tab r1, 1
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0
)";
constexpr const char* kOfTwoCores = R"(
.program two
.cores 0x3
.section vector 0x3
  nop
)";
constexpr const char* kOfCoreOne = R"(
.program one
.cores 0x2
.section vector 0x2
  nop
)";
constexpr const char* kSend = R"(
.program send
.cores 0x1
.lx 128
.section ring 0x1
  li r1, 128
  send r0, r0, r0, r1, r0
)";
constexpr const char* kMulticast = R"(
.program multicast
.cores 0x1
.lx 128
.section load 0x1
  li r2, 128
  li r3, 1
  load r0, r0, r2, r3, r0, r0, r3, r0, r0, r3
  li r4, 3
  load r0, r0, r2, r3, r0, r0, r3, r0, r0, r4
)";
constexpr const char* kHang = R"(
.program hang
.cores 0x1
.section vector 0x1
  nop wait=t1
)";

// card.control.fidelity.
class PrepareEngine : public CardFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr uint64_t kProgramBytes = 4096;
  static constexpr uint64_t kRegion = 32 << 20;  // of VF 1, physical

  PrepareEngine() {
    config_.control.fidelity = test::Named(GetParam());
    config_.concurrency = model::Concurrency::kPipelined;
    config_.num_vfs = 1;
  }

  void OpenByHand() {
    transport_ =
        std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, &*recorder_);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    driver::PhysicalFunction physical(*admin_);
    physical.MapRange(0, 64 << 20, kPermissionRead | kPermissionWrite | kPermissionExecute);
    physical.EnableVirtualFunctions(1);
    physical.AssignRegion(1, 0, kRegion, 1 << 20);
    virtual_ = std::make_unique<driver::Device>(*transport_, 1);
    queue_.emplace(*transport_, 0, 64, 64);
    guest_.emplace(*transport_, 1, 64, 64);
  }
  void Copy(Opcode opcode, void* host, uint64_t device, uint64_t bytes) {
    ControlBlock block = queue_->Make<ControlBlock>(opcode, 100);
    block.host_address = transport_->MapHost(0, host, bytes);
    block.device_address = device;
    block.size_bytes = bytes;
    queue_->Put(block);
    queue_->Ring();
    EXPECT_EQ(queue_->Settle().at(block.sequence), Status::OK);
    transport_->UnmapHost(0, block.host_address);
  }
  void Write(uint64_t device, Stick stick) { Copy(Opcode::DMA_IN, stick.data(), device, 128); }
  Stick Read(uint64_t device) {
    Stick stick(16);
    Copy(Opcode::DMA_OUT, stick.data(), device, 128);
    return stick;
  }
  // The image of `text` at physical address `at`, from `source` to `target` as its function sees
  // them.
  void Load(const char* text, uint64_t at, uint64_t source = 0, uint64_t target = 0) {
    Program program = Assemble(text);
    if (!program.address_table.empty()) program.address_table = {source, target};
    std::vector<uint8_t> image = Encode(program);
    image.resize(kProgramBytes);
    Copy(Opcode::DMA_IN, image.data(), at, image.size());
  }
  // Returns the sequence number.
  uint64_t Launch(uint32_t stream, uint64_t program, uint16_t flags = 0) {
    ControlBlock block = queue_->Make<ControlBlock>(Opcode::COMPUTE, stream);
    block.flags = flags;
    block.program_base = program;
    block.program_bytes = kProgramBytes;
    queue_->Put(block);
    return block.sequence;
  }
  void LaunchAsGuest(uint64_t offset) {
    Message message = guest_->Make<Message>(Opcode::COMPUTE);
    message.flags = kFlagPrepare;
    message.program_offset = offset;
    message.program_bytes = kProgramBytes;
    guest_->Put(message);
    guest_->Ring();
  }
  std::map<uint64_t, Response> Run() {
    queue_->Ring();
    transport_->Advance(200'000'000);
    std::map<uint64_t, Response> responses;
    for (const Response& response : queue_->Take()) responses[response.sequence] = response;
    return responses;
  }
  static Status StatusOf(const Response& response) { return static_cast<Status>(response.status); }

  // A slow copy on the cores and another copy with PREPARE behind it, both through LX address 0.
  // Returns the responses of both.
  std::pair<Response, Response> SlowAndPrepared() {
    OpenByHand();
    Load(kSlowCopy, 1 << 20, 0, 128);
    Load(kSlowCopy, 2 << 20, 256, 384);
    Write(0, Stick(16, 0x1111));
    Write(256, Stick(16, 0x2222));
    const uint64_t slow = Launch(1, 1 << 20);
    const uint64_t prepared = Launch(2, 2 << 20, kFlagPrepare);
    auto responses = Run();
    EXPECT_EQ(StatusOf(responses[slow]), Status::OK);
    EXPECT_EQ(StatusOf(responses[prepared]), Status::OK);
    EXPECT_EQ(Read(128), Stick(16, 0x1111)) << "through LX of core 0";
    EXPECT_EQ(Read(384), Stick(16, 0x2222)) << "through LX of the service core, or later";
    return {responses[slow], responses[prepared]};
  }

  std::unique_ptr<driver::Device> virtual_;
  std::optional<RawQueue> queue_, guest_;
};

INSTANTIATE_TEST_SUITE_P(Fidelity, PrepareEngine, ::testing::Values("timed", "rtl"));

TEST_P(PrepareEngine, RunsBesideTheCoresOnLxOfItsOwn) {
  const auto [slow, prepared] = SlowAndPrepared();
  EXPECT_LT(prepared.started_ps, slow.started_ps + 1'000'000) << "ps";
  EXPECT_LT(prepared.started_ps, slow.finished_ps);
  EXPECT_GT(slow.finished_ps - slow.started_ps, 25'000'000u) << "ps";
}

TEST_P(PrepareEngine, SerialHardwareHasNoneAndRunsTheProgramOnTheCoresInItsTurn) {
  config_.concurrency = model::Concurrency::kSerial;
  const auto [slow, prepared] = SlowAndPrepared();
  EXPECT_GE(prepared.started_ps, slow.finished_ps);
}

TEST_P(PrepareEngine, LeavesInLxOfTheCoresWhatAKernelLeftThere) {
  OpenByHand();
  Load(kPoke, 1 << 20, 0);
  Load(kPoke, 2 << 20, 256);
  Load(kPeek, 3 << 20, 0, 512);
  Load(kPeek, 4 << 20, 0, 640);
  Write(0, Stick(16, 0x1111));
  Write(256, Stick(16, 0x2222));
  Launch(1, 1 << 20);
  Launch(1, 2 << 20, kFlagPrepare);
  Launch(1, 3 << 20);
  Launch(1, 4 << 20, kFlagPrepare);
  for (const auto& [sequence, response] : Run()) EXPECT_EQ(StatusOf(response), Status::OK);
  EXPECT_EQ(Read(512), Stick(16, 0x1111)) << "of core 0";
  EXPECT_EQ(Read(640), Stick(16, 0x2222)) << "of the service core";
}

TEST_P(PrepareEngine, RefusesProgramsOfOtherCores) {
  OpenByHand();
  Load(kOfTwoCores, 1 << 20);
  Load(kOfCoreOne, 2 << 20);
  const uint64_t two = Launch(1, 1 << 20, kFlagPrepare);
  const uint64_t one = Launch(2, 2 << 20, kFlagPrepare);
  const uint64_t cores = Launch(3, 1 << 20);
  auto responses = Run();
  EXPECT_EQ(StatusOf(responses[two]), Status::BAD_PROGRAM);
  EXPECT_EQ(StatusOf(responses[one]), Status::BAD_PROGRAM);
  EXPECT_EQ(StatusOf(responses[cores]), Status::OK);
}

TEST_P(PrepareEngine, IsNoMemberOfGroupsOfCores) {
  OpenByHand();
  Load(kSend, 1 << 20);
  Load(kMulticast, 2 << 20);
  const uint64_t send = Launch(1, 1 << 20, kFlagPrepare);
  const uint64_t multicast = Launch(2, 2 << 20, kFlagPrepare);
  auto responses = Run();
  EXPECT_EQ(StatusOf(responses[send]), Status::ILLEGAL_INSTRUCTION);
  EXPECT_EQ(StatusOf(responses[multicast]), Status::ILLEGAL_INSTRUCTION);
  EXPECT_EQ(responses[multicast].device_bytes_read, kStickBytes + responses[send].device_bytes_read)
      << "a group of itself alone is a load";
}

TEST_P(PrepareEngine, AResetOfItsFunctionEndsAHangingJobAndTheCoresGoOn) {
  OpenByHand();
  Load(kSlowCopy, 1 << 20, 0, 128);
  Load(kHang, kRegion);
  Load(kPeek, kRegion + 4096, 0, 8192);
  Write(0, Stick(16, 0x1111));
  Write(kRegion + 8192, Stick(16, 0x3333));
  LaunchAsGuest(0);
  transport_->Advance(5'000'000);
  const uint64_t slow = Launch(1, 1 << 20);
  queue_->Ring();
  transport_->Advance(10'000'000);  // in the middle of the slow copy
  EXPECT_THAT(transport_->Diagnose(), ::testing::HasSubstr("function 1 stream 0 runs COMPUTE"));
  EXPECT_THAT(transport_->Diagnose(), ::testing::HasSubstr("service core vector at instruction 0"));
  guest_->Start();
  LaunchAsGuest(4096);
  auto responses = Run();
  EXPECT_EQ(StatusOf(responses[slow]), Status::OK);
  EXPECT_GT(responses[slow].finished_ps - responses[slow].started_ps, 25'000'000u) << "ps";
  EXPECT_EQ(Read(128), Stick(16, 0x1111));
  EXPECT_EQ(guest_->Settle(), (std::map<uint64_t, Status>{{1, Status::OK}}));
}

TEST_P(PrepareEngine, ItsLxIsClearedForAnotherFunction) {
  OpenByHand();
  Load(kPoke, 1 << 20, 0);
  Load(kPeek, kRegion, 0, 8192);
  Write(0, Stick(16, 0x1111));
  Write(kRegion + 8192, Stick(16, 0x3333));
  Launch(1, 1 << 20, kFlagPrepare);
  Run();
  LaunchAsGuest(0);
  EXPECT_EQ(guest_->Settle(), (std::map<uint64_t, Status>{{1, Status::OK}}));
  EXPECT_EQ(Read(kRegion + 8192), Stick(16, 0));
}

TEST_P(PrepareEngine, ItsUnitsHaveStatisticsOfTheirOwn) {
  OpenByHand();
  Load(kPoke, 1 << 20, 0);
  Launch(1, 1 << 20, kFlagPrepare);
  Run();
  std::map<std::string, uint64_t> bytes;
  for (const model::UnitStatistics& unit : transport_->card().Statistics())
    bytes[unit.name] = unit.bytes;
  EXPECT_EQ(bytes.at("service_core.load"), kStickBytes);
  EXPECT_EQ(bytes.at("core00.load"), 0u);
}

}  // namespace
}  // namespace spyre::test::prepare_engine_test
