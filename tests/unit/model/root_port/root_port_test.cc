// SPDX-License-Identifier: Apache-2.0
// What a bus of the TLM-2.0 base protocol sees of the card: addresses, sizes, byte enables, errors.
#include "model/root_port/root_port.h"

#include "tests/unit/model/root_port/root_port_bench.h"

namespace spyre::model::root_port_test {
namespace {

using Bench = RootPortBench;
constexpr uint64_t kEcam = Bench::kEcam;

class RootPortTest : public ::testing::Test {
 protected:
  Bench bench_;
};

TEST_F(RootPortTest, ConfigurationSpaceIsReadAndWrittenByOneTwoFourAndEightBytes) {
  EXPECT_EQ(bench_.Read(kEcam, 4), 0x06a71014u);
  EXPECT_EQ(bench_.Read(kEcam + 2, 2), 0x06a7u);
  EXPECT_EQ(bench_.Read(kEcam + 1, 1), 0x10u);
  const uint64_t eight = bench_.Read(kEcam, 8);
  EXPECT_EQ(eight, bench_.Read(kEcam, 4) | bench_.Read(kEcam + 4, 4) << 32);
  bench_.Write(kEcam + config::kInterruptLine, 0x5A, 1);
  EXPECT_EQ(bench_.Read(kEcam + config::kInterruptLine, 1), 0x5Au);
  bench_.Write(kEcam + config::kMsiData, 0x1234, 2);
  bench_.Write(kEcam + config::kMsiData + 1, 0x77, 1);
  EXPECT_EQ(bench_.Read(kEcam + config::kMsiData, 4), 0x7734u) << "the other byte stays";
}

TEST_F(RootPortTest, AFunctionThatDoesNotExistReadsAsAllOnes) {
  EXPECT_EQ(bench_.Read(kEcam + (1 << 12), 4), 0xFFFFFFFFu);
  EXPECT_EQ(bench_.Read(kEcam + (200 << 12) + 2, 2), 0xFFFFu);
  bench_.Write(kEcam + (200 << 12), 0, 4);
  EXPECT_EQ(bench_.Read(kEcam + 4094, 4), 0xFFFFFFFFu) << "across the end of a space";
}

TEST_F(RootPortTest, AnAddressReachesTheBarThatHoldsIt) {
  uint32_t data = 0;
  bench_.Write(kEcam + config::kCommandStatus, config::kCommandMemory, 2);
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, 0, &data, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE)
      << "a BAR without a place holds nothing, not even address 0";
  bench_.Enable();
  bench_.registers[0].values[0x40] = 0x12345678;
  EXPECT_EQ(bench_.Read(Bench::kBar0 + 0x40, 4), 0x12345678u);
  bench_.Write(Bench::kBar4 + 16, 0xABCD, 8);
  EXPECT_EQ(bench_.Read(Bench::kBar4 + 16, 8), 0xABCDu);
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kBar0 - 4, &data, 4),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kBar0 + kBar0Bytes, &data, 4),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);

  const uint64_t moved = 0x80'0000'0000;
  bench_.Write(kEcam + config::kBar0, moved, 8);
  EXPECT_EQ(bench_.Read(moved + 0x40, 4), 0x12345678u);
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kBar0 + 0x40, &data, 4),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);
  bench_.Write(kEcam + config::kCommandStatus, 0, 2);
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, moved + 0x40, &data, 4),
            tlm::TLM_ADDRESS_ERROR_RESPONSE)
      << "memory space is off";
}

TEST_F(RootPortTest, EachVirtualFunctionHasItsPartOfTheVfBar) {
  bench_.Enable();
  bench_.Write(kEcam + config::kVfBar0, Bench::kVfBar0, 8);
  bench_.Write(kEcam + config::kNumVfs, 2, 2);
  bench_.Write(kEcam + config::kSriovControl, config::kVfEnable | config::kVfMemoryEnable, 2);
  EXPECT_EQ(bench_.Read(kEcam + (2 << 12) + 2, 2), 0x06a8u) << "a VF in configuration space";
  for (unsigned vf = 1; vf <= 2; ++vf) bench_.registers[vf].values[8] = 100 + vf;
  EXPECT_EQ(bench_.Read(Bench::kVfBar0 + 8, 4), 101u);
  EXPECT_EQ(bench_.Read(Bench::kVfBar0 + kVfBar0Bytes + 8, 4), 102u);
  uint32_t data = 0;
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kVfBar0 + 2 * kVfBar0Bytes + 8, &data, 4),
            tlm::TLM_ADDRESS_ERROR_RESPONSE)
      << "VF 3 is not enabled";
}

TEST_F(RootPortTest, RegistersAreReachedByWordsWithTheBytesThatAreMeant) {
  bench_.Enable();
  auto& registers = bench_.registers[0];
  bench_.Write(Bench::kBar0 + 0x10, 0x8877665544332211, 8);
  EXPECT_EQ(registers.values[0x10], 0x44332211u);
  EXPECT_EQ(registers.values[0x14], 0x88776655u);
  EXPECT_EQ(registers.accesses, (std::vector<uint32_t>{0x10, 0x14})) << "low word first";
  bench_.Write(Bench::kBar0 + 0x11, 0xAA, 1);
  bench_.Write(Bench::kBar0 + 0x16, 0xBBCC, 2);
  EXPECT_EQ(registers.values[0x10], 0x4433AA11u);
  EXPECT_EQ(registers.values[0x14], 0xBBCC6655u);
  EXPECT_EQ(bench_.Read(Bench::kBar0 + 0x12, 2), 0x4433u);
  EXPECT_EQ(bench_.Read(Bench::kBar0 + 0x10, 8), 0xBBCC66554433AA11u);

  bench_.enables = {0x00, 0xFF};  // repeats: the odd bytes
  bench_.Write(Bench::kBar0 + 0x10, 0, 4);
  EXPECT_EQ(registers.values[0x10], 0x00330011u);
  registers.accesses.clear();
  bench_.enables = {0, 0, 0, 0};
  bench_.Write(Bench::kBar0 + 0x10, 0, 4);
  EXPECT_TRUE(registers.accesses.empty()) << "no byte is meant";
  uint32_t data = 0xEEEEEEEE;
  bench_.enables = {0xFF, 0, 0, 0};
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kBar0 + 0x10, &data, 4),
            tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(data, 0xEEEEEE11u) << "a read leaves the other bytes alone";
}

TEST_F(RootPortTest, WhatNoProcessorSendsIsRefused) {
  bench_.Enable();
  std::array<uint8_t, 16> data{};
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kBar0, data.data(), 16),
            tlm::TLM_ADDRESS_ERROR_RESPONSE)
      << "16 bytes of registers";
  EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, Bench::kBar4, data.data(), 0),
            tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench_.Access(tlm::TLM_IGNORE_COMMAND, Bench::kBar4, data.data(), 4),
            tlm::TLM_COMMAND_ERROR_RESPONSE);
}

TEST_F(RootPortTest, WindowAndSramTakeAnyLengthAndHonourByteEnables) {
  bench_.Enable();
  bench_.endpoint->SetWindowBase(0x2000);
  for (const uint64_t base : {Bench::kBar2, Bench::kBar4}) {
    std::vector<uint8_t> sent(1000), got(1000);
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>(i * 7 + 1);
    bench_.enables = {};
    EXPECT_EQ(bench_.Access(tlm::TLM_WRITE_COMMAND, base + 3, sent.data(), 1000),
              tlm::TLM_OK_RESPONSE);
    bench_.enables = {0xFF, 0, 0};
    std::vector<uint8_t> zeros(1000);
    EXPECT_EQ(bench_.Access(tlm::TLM_WRITE_COMMAND, base + 3, zeros.data(), 1000),
              tlm::TLM_OK_RESPONSE);
    bench_.enables = {};
    EXPECT_EQ(bench_.Access(tlm::TLM_READ_COMMAND, base + 3, got.data(), 1000),
              tlm::TLM_OK_RESPONSE);
    for (size_t i = 0; i < sent.size(); ++i)
      ASSERT_EQ(got[i], i % 3 == 0 ? 0 : sent[i]) << std::hex << base << " byte " << i;
  }
  EXPECT_EQ(*bench_.memory->contents().At(0x2004), 8) << "the window begins at its base";
}

TEST_F(RootPortTest, ADebuggerSeesMemoryWithoutTimeOrEffects) {
  bench_.Enable();
  uint32_t value = 0x11223344;
  const uint64_t before = NowPs();
  for (const uint64_t base : {Bench::kBar2, Bench::kBar4}) {
    EXPECT_EQ(bench_.Debug(tlm::TLM_WRITE_COMMAND, base + 8, &value, 4), 4u);
    uint32_t got = 0;
    EXPECT_EQ(bench_.Debug(tlm::TLM_READ_COMMAND, base + 8, &got, 4), 4u);
    EXPECT_EQ(got, value);
  }
  EXPECT_EQ(bench_.Debug(tlm::TLM_READ_COMMAND, kEcam, &value, 4), 4u);
  EXPECT_EQ(value, 0x06a71014u);
  EXPECT_EQ(bench_.Debug(tlm::TLM_WRITE_COMMAND, kEcam, &value, 4), 0u);
  EXPECT_EQ(bench_.Debug(tlm::TLM_READ_COMMAND, Bench::kBar0, &value, 4), 0u)
      << "reading a register may have an effect";
  EXPECT_TRUE(bench_.registers[0].accesses.empty());
  EXPECT_EQ(bench_.Debug(tlm::TLM_READ_COMMAND, 0x1234, &value, 4), 0u);
  EXPECT_EQ(NowPs(), before);
}

TEST_F(RootPortTest, ADirectPointerShowsTheWindowUntilItMoves) {
  bench_.Enable();
  bench_.endpoint->SetWindowBase(0x4000);
  tlm::tlm_dmi direct;
  ASSERT_TRUE(bench_.Direct(Bench::kBar2 + 0x100, direct));
  EXPECT_EQ(direct.get_start_address(), Bench::kBar2);
  EXPECT_EQ(direct.get_end_address(), Bench::kBar2 + kBar2Bytes - 1);
  EXPECT_TRUE(direct.is_read_write_allowed());
  bench_.Write(Bench::kBar2 + 0x100, 0x5A, 1);
  EXPECT_EQ(direct.get_dmi_ptr()[0x100], 0x5A);
  direct.get_dmi_ptr()[0x101] = 0xA5;
  EXPECT_EQ(bench_.Read(Bench::kBar2 + 0x101, 1), 0xA5u);
  EXPECT_EQ(bench_.revoked, 0);
  bench_.endpoint->SetWindowBase(0x8000);
  EXPECT_EQ(bench_.revoked, 1);
  EXPECT_TRUE(bench_.Direct(Bench::kBar2, direct));
  bench_.Write(kEcam + config::kCommandStatus, 0, 2);
  EXPECT_EQ(bench_.revoked, 2) << "the BAR answers no more";
  EXPECT_FALSE(bench_.Direct(Bench::kBar2, direct));
  EXPECT_FALSE(bench_.Direct(Bench::kBar0, direct));
  EXPECT_FALSE(bench_.Direct(kEcam, direct));
}

// The worker of the functional queue may still be writing what the kernel has passed.
TEST_F(RootPortTest, ADirectPointerIsTakenBackWhenTheCardMovesData) {
  struct Client final : TransferClient {
    void Complete(tlm::tlm_generic_payload& /*payload*/, uint64_t /*done_ps*/) override {}
  } client;
  bench_.Enable();
  std::array<uint8_t, 64> lx{};
  bench_.functional.AddLx({lx.data(), lx.size()});
  tlm::tlm_dmi direct;
  TransferPayload transfer;
  transfer.info.functional = &bench_.functional;
  transfer.info.client = &client;
  for (int times = 1; times <= 2; ++times) {
    ASSERT_TRUE(bench_.Direct(Bench::kBar2, direct));
    lx.fill(static_cast<uint8_t>(times));
    bench_.core.Send(transfer.Prepare(tlm::TLM_WRITE_COMMAND, 0, lx.data(), lx.size()),
                     sc_core::SC_ZERO_TIME);
    EXPECT_EQ(bench_.revoked, times);
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
    ASSERT_TRUE(bench_.Direct(Bench::kBar2, direct));
    EXPECT_EQ(direct.get_dmi_ptr()[63], times) << "what had been put off is there";
  }
}

TEST_F(RootPortTest, WritesOfTheCardArriveAtTheirTimeAndInOrder) {
  bench_.Enable();
  std::vector<uint8_t> data(4096, 1);
  uint32_t message = 0x20;
  EXPECT_EQ(bench_.Dma(tlm::TLM_WRITE_COMMAND, 0x1000, data.data(), 4096), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench_.Dma(tlm::TLM_WRITE_COMMAND, 0x3000, data.data(), 4096), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench_.Dma(tlm::TLM_WRITE_COMMAND, 0xFEE00000, &message, 4), tlm::TLM_OK_RESPONSE);
  data.assign(4096, 9);  // the card's buffer is its own again
  EXPECT_TRUE(bench_.arrivals.empty());
  sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
  ASSERT_EQ(bench_.arrivals.size(), 3u);
  EXPECT_EQ(bench_.arrivals[0].address, 0x1000u);
  EXPECT_EQ(bench_.arrivals[0].data, std::vector<uint8_t>(4096, 1));
  EXPECT_EQ(bench_.arrivals[1].address, 0x3000u);
  EXPECT_EQ(bench_.arrivals[2].address, 0xFEE00000u);
  EXPECT_GT(bench_.arrivals[0].ps, 0u) << "the link takes time";
  // 4 KiB at no more than 64 GB/s, the raw rate of 16 lanes of 32 GT/s.
  EXPECT_GE(bench_.arrivals[1].ps - bench_.arrivals[0].ps, 64000u) << "ps";
  EXPECT_GT(bench_.arrivals[2].ps, bench_.arrivals[1].ps);
}

TEST_F(RootPortTest, AReadOfTheCardSeesItsEarlierWritesThatHaveNotArrived) {
  bench_.Enable();
  std::vector<uint8_t> sent(8, 7), got(16);
  for (uint64_t i = 0; i < 16; ++i) bench_.host[0x1000 + i] = 3;
  EXPECT_EQ(bench_.Dma(tlm::TLM_WRITE_COMMAND, 0x1004, sent.data(), 8), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench_.Dma(tlm::TLM_READ_COMMAND, 0x1000, got.data(), 16), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(got, (std::vector<uint8_t>{3, 3, 3, 3, 7, 7, 7, 7, 7, 7, 7, 7, 3, 3, 3, 3}));
}

TEST_F(RootPortTest, TransfersThatMoveNoDataReachNoMemory) {
  bench_.Enable();
  std::vector<uint8_t> data(64);
  for (const auto command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND})
    EXPECT_EQ(bench_.Dma(command, 0x1000, data.data(), 64, false), tlm::TLM_OK_RESPONSE);
  sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
  EXPECT_TRUE(bench_.arrivals.empty());
}

TEST_F(RootPortTest, WhatTheBusRefusesIsAnErrorOfReadsAndAWarningOfWrites) {
  static std::string warning;
  sc_core::sc_report_handler::set_handler(
      [](const sc_core::sc_report& report, const sc_core::sc_actions&) {
        warning = report.get_msg();
      });
  bench_.Enable();
  bench_.bus_status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
  std::vector<uint8_t> data(64);
  EXPECT_EQ(bench_.Dma(tlm::TLM_READ_COMMAND, 0x1000, data.data(), 64),
            tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench_.Dma(tlm::TLM_WRITE_COMMAND, 0x2000, data.data(), 64), tlm::TLM_OK_RESPONSE);
  sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
  EXPECT_NE(warning.find("64 bytes by the card to 0x2000 was refused"), std::string::npos)
      << warning;
}

TEST_F(RootPortTest, ADamagedWriteIsLoggedAndHasNoEffect) {
  bench_.Enable();
  HostAccess access;
  access.poisoned = true;
  uint32_t data = 0x11223344;
  tlm::tlm_generic_payload payload;
  bench_.Fill(payload, tlm::TLM_WRITE_COMMAND, 0x20, &data, 4);
  payload.set_extension(&access);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  bench_.endpoint->inbound.get_base_export()->b_transport(payload, delay);
  payload.clear_extension(&access);
  EXPECT_TRUE(bench_.registers[0].accesses.empty());
  EXPECT_EQ(bench_.Read(RootPortBench::kEcam + config::kUncorrectableStatus, 4), 1u << 12);
  EXPECT_EQ(bench_.Read(RootPortBench::kEcam + config::kHeaderLog, 4), 0x60000001u)
      << "a write of one word with 64 bits of address";
  EXPECT_EQ(bench_.Read(RootPortBench::kEcam + config::kHeaderLog + 8, 4), 0x40u);
  EXPECT_EQ(bench_.Read(RootPortBench::kEcam + config::kHeaderLog + 12, 4), 0x20u);
}

TEST_F(RootPortTest, APayloadWithoutItsExtensionIsRefused) {
  bench_.Enable();
  uint32_t data = 0;
  tlm::tlm_generic_payload payload;
  bench_.Fill(payload, tlm::TLM_READ_COMMAND, 0, &data, 4);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  bench_.endpoint->inbound.get_base_export()->b_transport(payload, delay);
  EXPECT_EQ(payload.get_response_status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
}

}  // namespace
}  // namespace spyre::model::root_port_test
