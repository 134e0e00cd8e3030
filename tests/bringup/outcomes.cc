// SPDX-License-Identifier: Apache-2.0
// A bring-up program whose rungs end in every way, for test_outcomes.py. Three ways to a card more:
// one that is not there, one that is lost when it is reset, and one with a bit of memory that is
// stuck.
#include <memory>

#include "bringup/cli/program.h"
#include "bringup/ladder/rung.h"
#include "cosim/host/inprocess_transport.h"

namespace spyre::bringup {
namespace {

// Nobody answers.
class NoCard : public driver::Transport {
 public:
  uint32_t ConfigRead(driver::FunctionId, uint32_t) override { return driver::kNobodyAnswers; }
  void ConfigWrite(driver::FunctionId, uint32_t, uint32_t) override {}
  uint32_t Read32(driver::FunctionId, int, uint64_t) override { return driver::kNobodyAnswers; }
  void Write32(driver::FunctionId, int, uint64_t, uint32_t) override {}
  driver::IoAddress MapHost(driver::FunctionId, void*, size_t) override { return 4096; }
  void UnmapHost(driver::FunctionId, driver::IoAddress) override {}
  driver::WaitResult WaitInterrupt(driver::FunctionId, int, uint64_t) override {
    return driver::WaitResult::kDeadline;
  }
  uint64_t NowPs() override { return now_ps_; }
  void Advance(uint64_t host_ps) override { now_ps_ += host_ps; }
  std::string Diagnose() override { return "nobody"; }

 private:
  uint64_t now_ps_ = 0;
};

// Bit 5 of byte 0x40 of memory is 1, whatever is written there: before each doorbell it is set
// again.
class StuckBit : public cosim::InProcessTransport {
 public:
  StuckBit() : InProcessTransport(model::CardConfig(), cosim::HostTiming{}, nullptr) {}

  void Write32(driver::FunctionId function, int bar, uint64_t offset, uint32_t value) override {
    if (function == 0 && bar == 0 && offset == regs::SQ_TAIL)
      InProcessTransport::Write32(0, 2, 0x40, Read32(0, 2, 0x40) | 0x20);
    InProcessTransport::Write32(function, bar, offset, value);
  }
};

Backend Stuck(const std::string& /*rest*/) {
  Backend backend;
  backend.transport = std::make_unique<StuckBit>();
  backend.fresh = true;
  return backend;
}

Backend Lost(const std::string& /*rest*/) {
  Backend backend;
  backend.transport = std::make_unique<NoCard>();
  backend.fresh = true;
  return backend;
}

Backend Absent(const std::string& /*rest*/) { throw DeviceFault("no card in this slot"); }

class Rung101Good : public Rung {};
TEST_F(Rung101Good, Passes) { Measure("answer", 42, "units"); }

class Rung101GoodLevel2 : public Rung {};
TEST_F(Rung101GoodLevel2, PassesToo) {}

class Rung102Partly : public Rung {};
TEST_F(Rung102Partly, Passes) {}
TEST_F(Rung102Partly, CannotRunHere) { CannotRun("there is no <cable> & no lamp"); }
TEST_F(Rung102Partly, IsSkipped) { GTEST_SKIP() << "for a reason"; }

class Rung103Bad : public Rung {};
TEST_F(Rung103Bad, Fails) { EXPECT_EQ(1, 2) << "one is not two"; }
TEST_F(Rung103Bad, Throws) { throw DeviceFault("the card said no"); }
TEST_F(Rung103Bad, FailsBeforeItCannotRun) {
  EXPECT_EQ(cores(), -1);
  CannotRun("too late");
}

class Rung104Above : public Rung {};
TEST_F(Rung104Above, Passes) {}

class Rung105Twice : public Rung, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Each, Rung105Twice, ::testing::Values(1, 2));
TEST_P(Rung105Twice, Passes) { EXPECT_GT(GetParam(), 0); }

}  // namespace
}  // namespace spyre::bringup

int main(int argc, char** argv) {
  using namespace spyre::bringup;
  return Main(argc, argv, {{"lost", "", Lost}, {"stuck", "", Stuck}, {"absent", "REST", Absent}});
}
