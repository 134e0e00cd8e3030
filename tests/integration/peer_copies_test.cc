// SPDX-License-Identifier: Apache-2.0
// Copies from card to card behind a switch: the bytes arrive, and what is not there, not mapped or
// not allowed is a fault of the operation, as host memory that is not mapped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/pci.h"
#include "driver/physical_function.h"
#include "runtime/flex/peer_memory.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/error_of.h"

namespace spyre::test::peer_copies_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 40960;

// Two cards; the window of card 1 is open.
class PeerCopies : public ::testing::Test {
 protected:
  PeerCopies() : cards_(cosim::InProcessTransport::Several({{}, {}}, &switch_)) {
    first_ = std::make_unique<flex::RuntimeContext>(*cards_[0], 0);
    second_ = std::make_unique<flex::RuntimeContext>(*cards_[1], 0);
    driver::PhysicalFunction(second_->device()).OpenPeerWindow(0);
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<uint8_t>(i * 7 + i / 251);
    mine_ = first_->Allocate(kBytes);
    theirs_ = second_->Allocate(kBytes);
    first_->DefaultStream().CopyToDevice(data_.data(), mine_, kBytes);
    first_->Synchronize();
    peer_ = std::make_unique<flex::PeerMemory>(*first_, 1, flex::RawOffset(theirs_), kBytes);
  }
  static std::vector<uint8_t> Read(flex::RuntimeContext& context, const flex::DeviceHandle& from) {
    std::vector<uint8_t> bytes(kBytes);
    context.DefaultStream().CopyFromDevice(bytes.data(), from, kBytes);
    context.Synchronize();
    return bytes;
  }
  std::string CopyFails() {
    first_->DefaultStream().CopyToPeer(mine_, *peer_, 0, kBytes);
    return ErrorOf(ErrorKind::kDeviceFault, [&] { first_->Synchronize(); });
  }

  const model::SwitchConfig switch_;
  std::vector<std::unique_ptr<cosim::InProcessTransport>> cards_;
  std::unique_ptr<flex::RuntimeContext> first_, second_;
  std::vector<uint8_t> data_ = std::vector<uint8_t>(kBytes);
  flex::DeviceHandle mine_, theirs_;
  std::unique_ptr<flex::PeerMemory> peer_;
};

TEST_F(PeerCopies, BringTheBytesToTheOtherCardAndBack) {
  first_->DefaultStream().CopyToPeer(mine_, *peer_, 0, kBytes);
  first_->Synchronize();
  EXPECT_EQ(Read(*second_, theirs_), data_);
  const flex::DeviceHandle back = first_->Allocate(kBytes);
  first_->DefaultStream().CopyFromPeer(*peer_, 0, back, kBytes);
  first_->Synchronize();
  EXPECT_EQ(Read(*first_, back), data_);
}

TEST_F(PeerCopies, TakeTheTimeOfTheLinkAndNoneOfTheUplink) {
  const auto up = [&] { return cards_[0]->pcie_switch()->Statistics()[0].bytes; };
  const uint64_t before = up();
  first_->DefaultStream().CopyToPeer(mine_, *peer_, 0, kBytes);
  first_->Synchronize();
  EXPECT_LT(up() - before, 1000u) << "bytes: a response and an interrupt, no data";
  const flex::CompletedOperation operation = first_->CompletedOperations().back();
  // 80 packets of 512 + 32 bytes at 15.869 ps a byte are 0.69 us.
  EXPECT_GT(operation.finished_ps - operation.started_ps, 690'000u);
  EXPECT_LT(operation.finished_ps - operation.started_ps, 1'500'000u);
}

TEST_F(PeerCopies, ToMemoryThatIsNotMappedAnyMoreAreHostFaults) {
  cards_[0]->UnmapPeer(0, peer_->address());
  EXPECT_THAT(CopyFails(), HasSubstr("HOST_FAULT"));
  EXPECT_NE(Read(*second_, theirs_), data_);
}

TEST_F(PeerCopies, ToACardThatWasPulledOutAreHostFaults) {
  cards_[1]->SetPresent(false);
  EXPECT_THAT(CopyFails(), HasSubstr("HOST_FAULT"));
}

TEST_F(PeerCopies, ToAWindowThatIsSwitchedOffAreHostFaults) {
  const uint32_t command = cards_[1]->ConfigRead(0, driver::pci::kCommandStatus) & 0xFFFF;
  cards_[1]->ConfigWrite(0, driver::pci::kCommandStatus, command & ~driver::pci::kCommandMemory);
  EXPECT_THAT(CopyFails(), HasSubstr("HOST_FAULT"));
}

TEST_F(PeerCopies, OfACardThatMayNotMasterTheBusReachNobody) {
  const std::vector<uint8_t> before = Read(*second_, theirs_);
  const uint32_t command = cards_[0]->ConfigRead(0, driver::pci::kCommandStatus) & 0xFFFF;
  cards_[0]->ConfigWrite(0, driver::pci::kCommandStatus, command & ~driver::pci::kCommandBusMaster);
  EXPECT_NE(FailureOf([&] {
              first_->DefaultStream().CopyToPeer(mine_, *peer_, 0, kBytes);
              first_->Synchronize();
            }),
            "no error");
  EXPECT_EQ(Read(*second_, theirs_), before);
}

TEST_F(PeerCopies, AreCheckedAgainstWhatIsMapped) {
  EXPECT_THAT(BadInputOf([&] { first_->DefaultStream().CopyToPeer(mine_, *peer_, 128, kBytes); }),
              HasSubstr("of the memory of card 1, of which 40960 are mapped"));
  EXPECT_THAT(BadInputOf([&] { flex::PeerMemory(*first_, 0, 0, 128); }), HasSubstr("no peer 0"));
  EXPECT_THAT(BadInputOf([&] { flex::PeerMemory(*first_, 2, 0, 128); }), HasSubstr("no peer 2"));
  EXPECT_THAT(BadInputOf([&] { flex::PeerMemory(*first_, 1, kBar2Bytes, 128); }),
              HasSubstr("memory window of card 1"));
}

TEST(OneCard, HasNoPeers) {
  cosim::InProcessTransport card(model::CardConfig{}, cosim::HostTiming{}, nullptr);
  flex::RuntimeContext context(card, 0);
  EXPECT_THAT(BadInputOf([&] { flex::PeerMemory(context, 1, 0, 128); }),
              HasSubstr("reaches no card 1"));
  EXPECT_THAT(BadInputOf([&] { driver::PhysicalFunction(context.device()).OpenPeerWindow(0); }),
              HasSubstr("no other cards"));
}

}  // namespace
}  // namespace spyre::test::peer_copies_test
