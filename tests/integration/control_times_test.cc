// SPDX-License-Identifier: Apache-2.0
// What each step of the control path costs, in exact picoseconds from the five times of a response:
// fetch, decode, message, dispatch, start and end, response.
#include <gmock/gmock.h>

#include <optional>

#include "bringup/ladder/raw_queue.h"
#include "driver/physical_function.h"
#include "model/contract/control_block.h"
#include "model/contract/program.h"
#include "model/pcie/link.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::control_times_test {
namespace {

class ControlTimesTest : public CardFixture {
 protected:
  static constexpr uint32_t kEntries = 64;
  static constexpr uint64_t kProgram = 1 << 20;  // device address

  void Start(driver::FunctionId function = 0) {
    transport_ =
        std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, &*recorder_);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    driver::PhysicalFunction physical(*admin_);
    if (function != 0) {
      physical.EnableVirtualFunctions(1);
      physical.AssignRegion(1, 0, 0, kRegionBytes);
      virtual_ = std::make_unique<driver::Device>(*transport_, 1);
    } else {
      physical.MapRange(0, 64 << 20, kPermissionRead | kPermissionWrite | kPermissionExecute);
    }
    queue_.emplace(*transport_, function, kEntries, kEntries);
  }
  void Nops(int count) {
    for (int i = 0; i < count; ++i) queue_->Put(queue_->Make<ControlBlock>(Opcode::NOP));
  }
  // One doorbell for all that has been put; responses in order.
  std::vector<Response> Run() {
    queue_->Ring();
    transport_->Advance(400'000'000);
    std::vector<Response> responses = queue_->Take();
    for (const Response& response : responses)
      EXPECT_EQ(static_cast<Status>(response.status), Status::OK) << response.sequence;
    return responses;
  }
  // The read of `entries` ring entries over PCIe from `ps` on.
  uint64_t FetchedAt(uint64_t ps, uint64_t entries) const {
    return model::PcieLink(config_.pcie, true, nullptr).ReadHost(ps, 0, entries * 128, 0).done_ps;
  }
  // Loads `text`, launches it twice, and returns how long the second took on the device: the first
  // meets its program's own writes on the way to memory.
  uint64_t DevicePs(const std::string& text) {
    std::vector<uint8_t> image = Encode(Assemble(text));
    image.resize(AlignUp(image.size(), kStickBytes));
    ControlBlock load = queue_->Make<ControlBlock>(Opcode::DMA_IN);
    load.host_address = transport_->MapHost(0, image.data(), image.size());
    load.device_address = kProgram;
    load.size_bytes = image.size();
    queue_->Put(load);
    EXPECT_EQ(Run().size(), 1u);
    Launch(image.size());
    return Launch(image.size());
  }
  uint64_t Launch(uint64_t program_bytes) {
    ControlBlock launch = queue_->Make<ControlBlock>(Opcode::COMPUTE);
    launch.program_base = kProgram;
    launch.program_bytes = program_bytes;
    queue_->Put(launch);
    const std::vector<Response> responses = Run();
    return responses.size() == 1 ? responses[0].finished_ps - responses[0].started_ps : 0;
  }

  uint64_t decode_ps_ = config_.control.decode_ns * 1000;
  uint64_t dispatch_ps_ = config_.control.dispatch_ns * 1000;
  uint64_t respond_ps_ = config_.control.respond_ns * 1000;
  std::unique_ptr<driver::Device> virtual_;
  std::optional<bringup::RawQueue> queue_;
};

TEST_F(ControlTimesTest, AnEntryIsFetchedInOneReadAndDecodedOnce) {
  Start();
  Nops(1);
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].fetched_ps, FetchedAt(responses[0].queued_ps, 1) + decode_ps_);
}

TEST_F(ControlTimesTest, AVirtualFunctionsEntryIsAMessageAndCostsThatOnceMore) {
  Start(1);
  for (int i = 0; i < 2; ++i) queue_->Put(queue_->Make<Message>(Opcode::NOP));
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 2u);
  const uint64_t message_ps = config_.management.message_ns * 1000;
  EXPECT_EQ(responses[0].fetched_ps,
            FetchedAt(responses[0].queued_ps, 2) + decode_ps_ + message_ps);
  EXPECT_EQ(responses[1].fetched_ps, responses[0].fetched_ps + decode_ps_ + message_ps);
}

TEST_F(ControlTimesTest, OperationsOfTheControlProcessorStartAtOnceAndTakeNoTime) {
  Start();
  for (const Opcode opcode :
       {Opcode::NOP, Opcode::EVENT_SIGNAL, Opcode::EVENT_WAIT, Opcode::TIMESTAMP, Opcode::FENCE}) {
    queue_->Put(queue_->Make<ControlBlock>(opcode));
  }
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 5u);
  for (size_t i = 0; i < responses.size(); ++i) {
    EXPECT_EQ(responses[i].fetched_ps, FetchedAt(responses[0].queued_ps, 5) + (i + 1) * decode_ps_);
    EXPECT_EQ(responses[i].started_ps, responses[i].fetched_ps) << i;
    EXPECT_EQ(responses[i].finished_ps, responses[i].started_ps) << i;
    EXPECT_EQ(responses[i].posted_ps, responses[i].finished_ps + respond_ps_) << i;
  }
}

TEST_F(ControlTimesTest, AnOperationOfAnEngineIsDispatchedOnceAndSetUpOnce) {
  Start();
  queue_->Put(queue_->Make<ControlBlock>(Opcode::DMA_FILL));  // of no bytes
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].started_ps, responses[0].fetched_ps + dispatch_ps_);
  EXPECT_EQ(responses[0].finished_ps, responses[0].started_ps + config_.dma.setup_ns * 1000);
  EXPECT_EQ(responses[0].posted_ps, responses[0].finished_ps + respond_ps_);
}

TEST_F(ControlTimesTest, StepsAreParameters) {
  config_.control.decode_ns = 7;
  config_.control.dispatch_ns = 11;
  config_.control.respond_ns = 13;
  Start();
  queue_->Put(queue_->Make<ControlBlock>(Opcode::DMA_FILL));
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].fetched_ps, FetchedAt(responses[0].queued_ps, 1) + 7'000);
  EXPECT_EQ(responses[0].started_ps, responses[0].fetched_ps + 11'000);
  EXPECT_EQ(responses[0].posted_ps, responses[0].finished_ps + 13'000);
}

TEST_F(ControlTimesTest, EntriesAreFetchedInBatches) {
  config_.control.fetch_batch = 4;
  Start();
  Nops(8);
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 8u);
  EXPECT_EQ(responses[3].fetched_ps, FetchedAt(responses[0].queued_ps, 4) + 4 * decode_ps_);
  EXPECT_EQ(responses[4].fetched_ps, FetchedAt(responses[3].fetched_ps, 4) + decode_ps_)
      << "the next batch is read when the last is decoded";
}

TEST_F(ControlTimesTest, NopsRunAtABatchPerRoundTrip) {
  Start();
  Nops(48);
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 48u);
  // 16 entries: a read of 2 KiB, behind the response that leaves at that moment, and 16 decodes.
  const uint64_t batch = responses[47].posted_ps - responses[31].posted_ps;
  const uint64_t begin = responses[31].fetched_ps;
  ASSERT_EQ(responses[30].posted_ps, begin);
  model::PcieLink link(config_.pcie, true, nullptr);
  link.WriteHost(begin, 0, 128, 0);
  EXPECT_EQ(batch, link.ReadHost(begin, 0, 2048, 0).done_ps - begin + 16 * decode_ps_);
  EXPECT_LT(batch / 16, 100'000u) << "ps for one operation: above ten million a second";
}

TEST_F(ControlTimesTest, TheNextEntriesAreFetchedWhileAnOperationRuns) {
  config_.control.fetch_batch = 1;
  Start();
  ControlBlock fill = queue_->Make<ControlBlock>(Opcode::DMA_FILL, 1);
  fill.size_bytes = 1 << 20;
  queue_->Put(fill);
  queue_->Put(queue_->Make<ControlBlock>(Opcode::NOP, 2));
  const auto responses = Run();
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_LT(responses[1].fetched_ps, responses[0].finished_ps);
  EXPECT_EQ(responses[1].started_ps, responses[0].finished_ps) << "serial hardware: one at a time";
}

// Rate of one copy of 16 MiB, in bytes/us from start to finish.
class CopyRateTest : public ControlTimesTest {
 protected:
  double BytesPerUs(Opcode opcode) {
    Start();
    std::vector<uint8_t> host(16 << 20);
    ControlBlock copy = queue_->Make<ControlBlock>(opcode);
    copy.host_address = transport_->MapHost(0, host.data(), host.size());
    copy.size_bytes = host.size();
    queue_->Put(copy);
    const std::vector<Response> responses = Run();
    if (responses.size() != 1) return 0;
    return 1e6 * static_cast<double>(host.size()) /
           static_cast<double>(responses[0].finished_ps - responses[0].started_ps);
  }
};

TEST_F(CopyRateTest, ALargeCopyInRunsAtTheLinkLessCompletionOverhead) {
  const double rate = BytesPerUs(Opcode::DMA_IN);
  EXPECT_LE(rate, 59'748) << "bytes/us: 63,015.4 x 512/540";
  EXPECT_GT(rate, 59'748 * 0.99) << "set-up and one round trip less";
}

TEST_F(CopyRateTest, ALargeCopyOutRunsAtTheLinkLessRequestOverhead) {
  const double rate = BytesPerUs(Opcode::DMA_OUT);
  EXPECT_LE(rate, 59'309) << "bytes/us: 63,015.4 x 512/544";
  EXPECT_GT(rate, 59'309 * 0.99) << "set-up and the first read of device memory less";
}

constexpr const char* kEmptyKernel = R"(
.program empty
.cores 0xFFFFFFFF
.section vector 0xFFFFFFFF
  nop
)";

TEST_F(ControlTimesTest, AnEmptyKernelIsTheFetchOfItsProgramAndLittleElse) {
  config_.memory.refresh = model::RefreshKind::kNone;  // may fall into it, and is not a part of it
  Start();
  const uint64_t device_ps = DevicePs(kEmptyKernel);
  EXPECT_GT(device_ps, 100'000u) << "two reads of device memory";
  EXPECT_LT(device_ps, 350'000u) << "nothing but the fetch and the dispatch";
}

TEST_F(ControlTimesTest, ALongProgramIsFetchedAtTheRateOfTheRingNotOneRoundTripABurst) {
  Start();
  const uint64_t empty = DevicePs(kEmptyKernel);
  std::string text = kEmptyKernel;  // 40 KiB that nobody runs: a loop of no trips
  text += "  loop r1, r0\n";
  for (int i = 0; i < 2500; ++i) text += "  nop\n";
  const uint64_t longer = DevicePs(text + "  end\n") - empty;
  // 10 bursts of 4 KiB, each 32 cycles of the ring's 1300 MHz, about 48 ns, and the cores' walk.
  EXPECT_LT(longer, 700'000u) << "ps; a round trip of 200 ns a burst would be 2,000,000";
}

}  // namespace
}  // namespace spyre::test::control_times_test
