// SPDX-License-Identifier: Apache-2.0
// What the firmware takes for a message of a virtual function, by its kind, on the RTL of its
// controller at the default clock. docs/firmware.md has the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "model/common/transfer.h"
#include "model/control/management.h"
#include "tests/paths.h"

namespace spyre::model::message_time_test {
namespace {

class MessageTime : public ::testing::Test,
                    public InterruptInterface,
                    public FaultInterface,
                    public MemoryClearInterface {
 protected:
  MessageTime() {
    config_.management.fidelity = ManagementFidelity::kRtl;
    controller_ = std::make_unique<ManagementController>("management", config_, mmu_);
    controller_->interrupt.bind(*this);
    controller_->lost.bind(*this);
    controller_->scrubber().memory.bind(*this);
    sc_core::sc_start(Ps(1'000'000'000));
    controller_->Request({static_cast<uint32_t>(AdminCommand::ASSIGN), 1, 0, 0, 1ull << 30},
                         sc_core::SC_ZERO_TIME);
    sc_core::sc_start(Ps(100'000'000));
    EXPECT_EQ(controller_->admin_status(), 0u);
  }
  void Interrupt(unsigned /*function*/, uint32_t /*causes*/) override {}
  void ClearMemory(uint64_t /*base*/, uint64_t /*bytes*/) override {}
  void Lost() override { ADD_FAILURE() << controller_->fault(); }

  // Mean of `count` messages, each sent when the one before is answered.
  double Nanoseconds(Opcode opcode, int count) {
    uint64_t took_ps = 0;
    sc_core::sc_spawn([&, opcode, count] {
      const uint64_t begin = NowPs();
      for (int i = 0; i < count; ++i) {
        Message message;
        message.opcode = static_cast<uint8_t>(opcode);
        message.sequence = ++sequence_;
        const bool moves = opcode == Opcode::DMA_IN || opcode == Opcode::DMA_FILL;
        message.size_bytes = moves ? 4096 : 0;
        message.program_bytes = opcode == Opcode::COMPUTE ? 4096 : 0;
        Seal(message);
        uint64_t fault = 0;
        ControlBlock block;
        EXPECT_EQ(controller_->TranslateMessage(1, message, &block, &fault), Status::OK)
            << OpcodeName(opcode) << ", fault " << fault;
      }
      took_ps = NowPs() - begin;
    });
    sc_core::sc_start(Ps(1'000'000'000));
    return static_cast<double>(took_ps) / 1000 / count;
  }

  CardConfig config_;
  Mmu mmu_{config_};
  std::unique_ptr<ManagementController> controller_;
  uint64_t sequence_ = 0;
};

constexpr const char* kBegin = "<!-- message times -->\n";
constexpr const char* kEnd = "<!-- end of message times -->\n";

TEST_F(MessageTime, TheFirmwaresPageHasWhatTheRtlMeasures) {
  std::string table = "\n| message | alone, ns | of 32 one after the other, ns |\n|---|--:|--:|\n";
  for (const Opcode opcode : {Opcode::NOP, Opcode::DMA_IN, Opcode::DMA_FILL, Opcode::COMPUTE}) {
    const double alone = Nanoseconds(opcode, 1), queued = Nanoseconds(opcode, 32);
    table += fmt::format("| {} | {:.0f} | {:.0f} |\n", OpcodeName(opcode), alone, queued);
  }
  table += "\n";
  const std::string path = SPYRE_SOURCE_DIR "/docs/firmware.md";
  std::ifstream file(path);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = page.find(kBegin) + std::strlen(kBegin), end = page.find(kEnd);
  ASSERT_NE(end, std::string::npos) << "the page has no place for the table";
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << page.substr(0, begin) << table << page.substr(end);
  } else {
    EXPECT_EQ(page.substr(begin, end - begin), table) << "run again with SPYRE_UPDATE_DOCS=1";
  }
}

}  // namespace
}  // namespace spyre::model::message_time_test
