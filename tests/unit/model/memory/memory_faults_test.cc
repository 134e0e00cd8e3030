// SPDX-License-Identifier: Apache-2.0
#include "model/memory/memory_faults.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace spyre::model::memory_faults_test {
namespace {

constexpr uint64_t kWord = 128;  // memory.ecc_word_bytes

class MemoryFaultsTest : public ::testing::Test, protected HardwareErrorSink {
 protected:
  void Declare(FaultKind kind, std::optional<uint64_t> address) {
    FaultSpec fault;
    fault.kind = kind;
    fault.where.address = address;
    injector_.emplace(std::vector<FaultSpec>{fault});
    faults_.emplace(FaultPort{&*injector_, this}, config_,
                    [this](uint64_t at, uint8_t bits) { flipped_.emplace_back(at, bits); });
  }
  bool Access(tlm::tlm_command command, uint64_t address, uint64_t bytes) {
    extra_ps_ = 0;
    payload_.info.function = 2;
    return faults_->Access(payload_.Prepare(command, address, data_, bytes), &extra_ps_);
  }
  bool Read(uint64_t address, uint64_t bytes) {
    return Access(tlm::TLM_READ_COMMAND, address, bytes);
  }
  bool Write(uint64_t address, uint64_t bytes) {
    return Access(tlm::TLM_WRITE_COMMAND, address, bytes);
  }
  const Injection& Only() const { return injector_->injections().front(); }
  std::vector<RasCode> Codes() const {
    std::vector<RasCode> codes;
    for (const HardwareError& error : errors_) codes.push_back(error.code);
    return codes;
  }

  MemoryConfig config_;
  std::vector<HardwareError> errors_;
  std::vector<std::pair<uint64_t, uint8_t>> flipped_;
  uint64_t extra_ps_ = 0;
  std::optional<FaultInjector> injector_;
  std::optional<MemoryFaults> faults_;

 private:
  void Report(const HardwareError& error) override { errors_.push_back(error); }

  TransferPayload payload_;
  uint8_t data_[4 * kWord] = {};
};

TEST_F(MemoryFaultsTest, OneWrongBitIsCorrectedReportedAndWrittenBack) {
  Declare(FaultKind::kMemorySingleBit, std::nullopt);
  EXPECT_TRUE(Read(0, kWord));
  EXPECT_EQ(extra_ps_, config_.ecc_correction_ns * 1000);
  EXPECT_EQ(Codes(), std::vector<RasCode>{RasCode::MEMORY_CORRECTED});
  EXPECT_EQ(errors_[0].severity, RasSeverity::CORRECTED);
  EXPECT_EQ(errors_[0].function, 2);
  EXPECT_EQ(Only().outcome, FaultOutcome::kCorrected);
  EXPECT_TRUE(Read(0, kWord));
  EXPECT_EQ(extra_ps_, 0u);
  EXPECT_EQ(errors_.size(), 1u);
}

TEST_F(MemoryFaultsTest, WithoutScrubbingEachReadCorrectsAgain) {
  config_.ecc_scrub = false;
  Declare(FaultKind::kMemorySingleBit, std::nullopt);
  EXPECT_TRUE(Read(0, kWord));
  EXPECT_TRUE(Read(0, kWord));
  EXPECT_EQ(errors_.size(), 2u);
}

TEST_F(MemoryFaultsTest, TwoWrongBitsCannotBeReadAndStayDamagedUntilAllOfTheWordIsWritten) {
  Declare(FaultKind::kMemoryDoubleBit, std::nullopt);
  EXPECT_FALSE(Read(5 * kWord, kWord));
  EXPECT_FALSE(Read(4 * kWord, 2 * kWord)) << "nor with its neighbour";
  EXPECT_TRUE(Read(6 * kWord, kWord));
  EXPECT_TRUE(Write(5 * kWord + 1, 10)) << "what is written of it is lost with the rest";
  EXPECT_FALSE(Read(5 * kWord, 1));
  EXPECT_TRUE(Write(5 * kWord, kWord));
  EXPECT_TRUE(Read(5 * kWord, kWord));
  EXPECT_EQ(Codes(), (std::vector<RasCode>{RasCode::MEMORY_UNCORRECTED, RasCode::MEMORY_POISONED,
                                           RasCode::MEMORY_POISONED, RasCode::MEMORY_POISONED}));
  EXPECT_EQ(Only().outcome, FaultOutcome::kDetected);
}

TEST_F(MemoryFaultsTest, AWordThatIsWrittenFirstHurtsNobody) {
  Declare(FaultKind::kMemoryPoison, 3 * kWord + 7);
  EXPECT_TRUE(Write(3 * kWord, kWord));
  EXPECT_TRUE(Read(3 * kWord, kWord));
  EXPECT_TRUE(errors_.empty());
  EXPECT_EQ(Only().outcome, FaultOutcome::kMasked);
}

TEST_F(MemoryFaultsTest, ClearedMemoryIsRight) {
  Declare(FaultKind::kMemoryPoison, 3 * kWord);
  EXPECT_FALSE(Read(3 * kWord, kWord));
  faults_->Clear(0, 3 * kWord);
  EXPECT_FALSE(Read(3 * kWord, kWord));
  faults_->Clear(3 * kWord, kWord);
  EXPECT_TRUE(Read(3 * kWord, kWord));
}

TEST_F(MemoryFaultsTest, ThePlaceIsThatOfTheAddressMap) {
  Declare(FaultKind::kMemoryDoubleBit, 1 << 20);
  EXPECT_FALSE(Read(1 << 20, kWord));
  const AddressMap map(config_);
  uint32_t channel = 0;
  uint64_t local = 0;
  map.ForEachPiece(1 << 20, kWord, [&](const ChannelAddress& at, uint32_t /*bytes*/) {
    channel = at.channel;
    local = at.address;
  });
  const BankAddress bank = BankMap(config_).Locate(local);
  EXPECT_EQ(errors_[0].detail[0], channel << 8 | bank.bank);
  EXPECT_EQ(errors_[0].detail[1], bank.row);
}

TEST_F(MemoryFaultsTest, MemoryWithoutACodeGivesOutWhatIsWrong) {
  config_.ecc = Ecc::kNone;
  Declare(FaultKind::kMemoryDoubleBit, 77);
  EXPECT_TRUE(Read(0, kWord));
  EXPECT_EQ(flipped_, (std::vector<std::pair<uint64_t, uint8_t>>{{77, 3}}));
  EXPECT_TRUE(errors_.empty());
  EXPECT_EQ(Only().outcome, FaultOutcome::kPending) << "nobody in the card knows";
}

}  // namespace
}  // namespace spyre::model::memory_faults_test
