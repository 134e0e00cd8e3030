// SPDX-License-Identifier: Apache-2.0
// A virtual function that goes from one user to another: the second must find what one finds that
// nobody has used, and nothing that the first has begun may reach the second. On every kind of
// control processor and management controller.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "base/ranges.h"
#include "driver/host_buffer.h"
#include "driver/pci.h"
#include "model/pcie/config_layout.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::owner_change_test {
namespace {

namespace config = model::config;

constexpr uint64_t kRegion = 1 << 20;
constexpr uint64_t kBase = 4ull << 30;
constexpr driver::FunctionId kFirst = 1, kOther = 2;

class OwnerChange : public CardFixture,
                    public ::testing::WithParamInterface<
                        std::tuple<const char*, const char*, const char*, const char*>> {
 protected:
  OwnerChange() {
    config_.num_vfs = 2;
    config_.control.fidelity = Named(std::get<0>(GetParam()));
    config_.management.fidelity = Named(std::get<1>(GetParam()));
    config_.concurrency = Named(std::get<2>(GetParam()));
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    Give();
  }
  driver::PhysicalFunction Manager() { return driver::PhysicalFunction(*admin_); }
  void Give() {
    Manager().EnableVirtualFunctions(2);
    Manager().AssignRegion(kFirst, 0, kBase, kRegion);
    Manager().AssignRegion(kFirst, 1, kBase + kRegion, kRegion);
  }
  void Change() {
    const std::string way = std::get<3>(GetParam());
    if (way == "reset") {
      transport_->Reset(kFirst);
      transport_->Advance(100'000'000'000);
    } else if (way == "off_and_on") {
      Manager().EnableVirtualFunctions(0);
      Manager().EnableVirtualFunctions(2);
    } else {
      admin_->Reset();
      Give();
    }
  }

  // What software sees of the function that nothing has been done to, but for the clock; by
  // address.
  std::map<uint32_t, uint32_t> Registers() {
    transport_->ConfigWrite(kFirst, driver::pci::kCommandStatus,
                            driver::pci::kCommandMemory | driver::pci::kCommandBusMaster);
    std::map<uint32_t, uint32_t> values;
    for (const auto& spec : regs::kRegisters) {
      if (spec.offset == regs::TIME_LO || spec.offset == regs::TIME_HI) continue;
      values[spec.offset] = transport_->Read32(kFirst, 0, spec.offset);
    }
    return values;
  }
  // Errors and their headers outlive resets of the function, as PCI Express has it; only software
  // and power clear them.
  std::map<uint32_t, uint32_t> ConfigSpace() {
    const bool sticky = std::string(std::get<3>(GetParam())) == "reset";
    std::map<uint32_t, uint32_t> values;
    for (uint32_t offset = 0; offset < model::kConfigBytes; offset += 4) {
      const bool error = offset >= config::kAer && offset < config::kAri;
      if (sticky && error) continue;
      values[offset] = transport_->ConfigRead(kFirst, offset);
    }
    return values;
  }

  // A function used by hand.
  struct User {
    User(driver::Transport& transport, driver::FunctionId function)
        : device(transport, function), buffer(transport, function, kRegion) {}
    driver::Device device;
    driver::HostBuffer buffer;
  };
  static Message Make(Opcode opcode, uint32_t stream = 0) {
    Message message;
    message.opcode = static_cast<uint8_t>(opcode);
    message.stream = stream;
    return message;
  }
  static Message Copy(const User& user, Opcode opcode, uint32_t region, uint64_t bytes) {
    Message message = Make(opcode);
    message.host_address = user.buffer.io_address();
    message.device_region = region;
    message.size_bytes = bytes;
    return message;
  }
  static void Submit(User& user, const Message& message) {
    driver::Entry entry = message;
    user.device.queue().Submit(entry);
    user.device.queue().RingDoorbell();
  }
  static Response Do(User& user, const Message& message) {
    Submit(user, message);
    return user.device.queue().Wait();
  }
};

TEST_P(OwnerChange, RegistersAndConfigurationSpaceAreThoseOfAFreshFunction) {
  const auto registers = Registers();
  transport_->ConfigWrite(kFirst, driver::pci::kCommandStatus, 0);
  const auto config = ConfigSpace();

  const uint32_t secret = 0x5EC2E75E;
  for (const auto& spec : regs::kRegisters) transport_->Write32(kFirst, 0, spec.offset, secret);
  for (const uint32_t offset : {config::kMsiAddressLow, config::kMsiAddressHigh, config::kMsiData,
                                config::kMsiMask, config::kMsi, config::kInterruptLine})
    transport_->ConfigWrite(kFirst, offset, secret);
  {
    // Causes, counters, an interrupt that a mask holds back, a queue that has stopped.
    driver::Device user(*transport_, kFirst);
    user.registers().WriteScratch(secret);
    user.registers().WriteRegionSelect(1);
    transport_->ConfigWrite(kFirst, config::kMsiMask, 0xFF);
    driver::Entry nop = Make(Opcode::NOP);
    user.queue().Submit(nop);
    EXPECT_EQ(user.queue().Wait().status, 0u);
    user.registers().WriteSqTail(50000);
    transport_->Advance(10'000'000);
    EXPECT_NE(user.registers().ReadErrorCode(), 0u);
  }
  transport_->Read32(kFirst, 2, 0x5EC0);  // an error, with the address in its header
  transport_->ConfigWrite(kFirst, config::kPowerControl, 3);
  EXPECT_NE(ConfigSpace(), config);

  Change();
  EXPECT_EQ(ConfigSpace(), config);
  EXPECT_EQ(Registers(), registers);
}

TEST_P(OwnerChange, NoOperationEventFailureOrNumberIsLeft) {
  {
    User user(*transport_, kFirst);
    Message signal = Make(Opcode::EVENT_SIGNAL);
    signal.value = EventValue(5, 100);
    EXPECT_EQ(Do(user, signal).status, 0u);
    Message broken = Make(Opcode::DMA_OUT, 3);
    broken.device_region = 7;
    broken.size_bytes = 128;
    EXPECT_NE(Do(user, broken).status, 0u);
    Message wait = Make(Opcode::EVENT_WAIT, 4);  // stays
    wait.value = EventValue(6, 1000);
    Submit(user, wait);
    transport_->Advance(10'000'000);
  }
  Change();
  User user(*transport_, kFirst);
  const Response first = Do(user, Make(Opcode::NOP, 3));
  EXPECT_EQ(first.sequence, 1u);
  EXPECT_EQ(static_cast<Status>(first.status), Status::OK) << "of a stream that had failed";
  Message wait = Make(Opcode::EVENT_WAIT, 1);
  wait.value = EventValue(5, 1);
  Submit(user, wait);
  transport_->Advance(1'000'000'000);
  EXPECT_FALSE(user.device.queue().Poll()) << "an event that somebody else has signalled";
}

// Of what the first user's operations were about.
TEST_P(OwnerChange, ResponsesSayNothingOfWhatWasBefore) {
  const auto answer = [&] {
    User user(*transport_, kFirst);
    Message nop = Make(Opcode::NOP, 2);
    nop.correlation = 42;
    Response response = Do(user, nop);
    EXPECT_GT(response.posted_ps, 0u);
    response.queued_ps = response.fetched_ps = response.started_ps = response.finished_ps =
        response.posted_ps = 0;
    Seal(response);
    std::vector<uint8_t> bytes(sizeof(response));
    std::memcpy(bytes.data(), &response, sizeof(response));
    return bytes;
  };
  const auto fresh = answer();
  {
    User user(*transport_, kFirst);
    Message copy = Copy(user, Opcode::DMA_IN, 0, 65536);
    copy.stream = 2;
    copy.correlation = 0x5EC2E75EC2E7;
    EXPECT_EQ(Do(user, copy).status, 0u);
    copy.device_offset = kRegion;
    EXPECT_NE(Do(user, copy).fault_address, 0u);
  }
  Change();
  EXPECT_EQ(answer(), fresh);
}

// The second user's memory lies where that of the first was, as the host's addresses go.
TEST_P(OwnerChange, CopiesUnderWayDoNotReachTheMemoryOfTheNext) {
  for (const uint64_t after_ps : {1'000'000, 3'000'000, 5'000'000, 8'000'000}) {
    std::vector<uint8_t> next(kRegion, 0);
    driver::IoAddress address = 0;
    {
      User user(*transport_, kFirst);
      std::fill_n(user.buffer.data(), kRegion, uint8_t{0x5E});
      EXPECT_EQ(Do(user, Copy(user, Opcode::DMA_IN, 0, kRegion)).status, 0u);
      address = user.buffer.io_address();
      Submit(user, Copy(user, Opcode::DMA_OUT, 0, kRegion));
      transport_->Advance(after_ps);
      transport_->Reset(kFirst);
    }
    transport_->MapHostAt(kFirst, address, next.data(), next.size());
    transport_->Advance(1'000'000'000);
    EXPECT_TRUE(AllFit(next, [](uint8_t byte) { return byte == 0; }))
        << "reset after " << after_ps << " ps";
    transport_->UnmapHost(kFirst, address);
    Change();
  }
}

using OwnerChangeKind = std::tuple<const char*, const char*, const char*, const char*>;
std::string NameOf(const ::testing::TestParamInfo<OwnerChangeKind>& kind) {
  return std::string(std::get<0>(kind.param)) + "_" + std::get<1>(kind.param) + "_" +
         std::get<2>(kind.param) + "_" + std::get<3>(kind.param);
}
INSTANTIATE_TEST_SUITE_P(Card, OwnerChange,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("behavioural", "rtl"),
                                            ::testing::Values("serial", "pipelined"),
                                            ::testing::Values("reset", "off_and_on", "pf_reset")),
                         NameOf);

// The PF takes memory from a program that runs, and gives it to somebody else.
class MemoryTaken : public CardFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  MemoryTaken() {
    config_.num_vfs = 2;
    config_.concurrency = Named(GetParam());
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    Manager().EnableVirtualFunctions(2);
    Manager().AssignRegion(kFirst, 0, kBase, kRegion);
    Manager().AssignRegion(kFirst, 1, kBase + kRegion, kRegion);
  }
  driver::PhysicalFunction Manager() { return driver::PhysicalFunction(*admin_); }
  static Response Do(driver::Device& vf, const Message& message) {
    driver::Entry entry = message;
    vf.queue().Submit(entry);
    return vf.queue().Wait();
  }
  static Message Copy(const driver::HostBuffer& buffer, Opcode opcode, uint32_t region) {
    Message message;
    message.opcode = static_cast<uint8_t>(opcode);
    message.host_address = buffer.io_address();
    message.device_region = region;
    message.size_bytes = buffer.size();
    return message;
  }
  // Runs `program`, which goes on for ever, on VF 1; gives its region 0 to VF 2, which fills it,
  // and expects that the program stops, and the memory stays.
  void ExpectStopped(const char* program) {
    driver::Device first(*transport_, kFirst), second(*transport_, kOther);
    driver::HostBuffer image(*transport_, kFirst, 4096), memory(*transport_, kOther, 65536);
    const std::vector<uint8_t> bytes = Encode(Assemble(program));
    std::copy(bytes.begin(), bytes.end(), image.data());
    EXPECT_EQ(Do(first, Copy(image, Opcode::DMA_IN, 1)).status, 0u);
    Message launch;
    launch.opcode = static_cast<uint8_t>(Opcode::COMPUTE);
    launch.program_region = 1;
    launch.program_bytes = 4096;
    driver::Entry entry = launch;
    first.queue().Submit(entry);
    first.queue().RingDoorbell();
    transport_->Advance(50'000'000);
    EXPECT_FALSE(first.queue().Poll()) << "it runs";

    Manager().ReleaseRegion(kFirst, 0);
    Manager().AssignRegion(kOther, 0, kBase, kRegion);
    std::fill_n(memory.data(), memory.size(), uint8_t{0xA5});
    EXPECT_EQ(Do(second, Copy(memory, Opcode::DMA_IN, 0)).status, 0u);
    transport_->Advance(100'000'000);
    std::fill_n(memory.data(), memory.size(), uint8_t{0});
    EXPECT_EQ(Do(second, Copy(memory, Opcode::DMA_OUT, 0)).status, 0u);
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + memory.size(),
                            [](uint8_t byte) { return byte == 0xA5; }));
    const std::optional<Response> end = first.queue().Poll();
    ASSERT_TRUE(end.has_value()) << transport_->Diagnose();
    EXPECT_EQ(static_cast<Status>(end->status), Status::PAGE_FAULT);
  }
};

TEST_P(MemoryTaken, InTheMiddleOfAStore) {
  ExpectStopped(R"(
.program store
.cores 0x1
.lx 128
.section store 0x1
  li r2, 128
  li r3, 1
  li r5, 4294967296
  store r0, r0, r2, r5, r0, r0, r3, r0, r0
)");
}

TEST_P(MemoryTaken, InTheMiddleOfALoad) {
  ExpectStopped(R"(
.program load
.cores 0x1
.lx 128
.section load 0x1
  li r2, 128
  li r3, 1
  li r5, 4294967296
  load r0, r0, r2, r5, r0, r0, r3, r0, r0, r0
)");
}

TEST_P(MemoryTaken, InTheMiddleOfALoadOfSeveralCores) {
  ExpectStopped(R"(
.program multicast
.cores 0x3
.lx 128
.section load 0x3
  li r2, 128
  li r3, 1
  li r4, 3
  li r5, 4294967296
  load r0, r0, r2, r5, r0, r0, r3, r0, r0, r4
)");
}

INSTANTIATE_TEST_SUITE_P(Order, MemoryTaken, ::testing::Values("serial", "pipelined"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace spyre::test::owner_change_test
