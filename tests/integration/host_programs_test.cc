// SPDX-License-Identifier: Apache-2.0
// Programs of a host beside each other: each has a processor of its own, simulated time decides who
// goes on, and equal programs see equal times.
#include "cosim/host/host_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cosim/host/child_process.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::host_programs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kPsPerUs = 1'000'000;

class HostProgramsTest : public ::testing::Test {
 protected:
  std::string FailureOf(size_t program) {
    return test::FailureOf([&] {
      if (programs_.Failure(program)) std::rethrow_exception(programs_.Failure(program));
    });
  }
  uint64_t NowUs() { return (card_.NowPs() - begin_ps_) / kPsPerUs; }

  InProcessTransport card_{model::CardConfig{}, HostTiming{}, nullptr};
  HostPrograms programs_{{&card_}};
  const uint64_t begin_ps_ = card_.NowPs();
};

TEST_F(HostProgramsTest, WorkAtTheSameTimeAndTakeTurnsAtEqualTimes) {
  std::vector<std::string> order;
  const auto work = [&](const std::string& name, uint64_t us) {
    return [&, name, us] {
      for (int i = 0; i < 2; ++i) {
        programs_.Transport().Advance(us * kPsPerUs);
        order.push_back(name + std::to_string(NowUs()));
      }
    };
  };
  programs_.Add("a", 0, work("a", 100));
  programs_.Add("b", 0, work("b", 100));
  programs_.Add("c", 50 * kPsPerUs, work("c", 20));
  programs_.Run();
  EXPECT_THAT(order, ElementsAre("c70", "c90", "a100", "b100", "a200", "b200"));
  EXPECT_EQ(programs_.TimeOf(0).busy_ps, 200 * kPsPerUs);
  EXPECT_EQ(programs_.TimeOf(0).waited_ps, 0u);
}

TEST_F(HostProgramsTest, WaitForEachOther) {
  bool ready = false;
  uint64_t seen_us = 0;
  programs_.Add("waits", 0, [&] {
    programs_.WaitFor("the other", [&] { return ready; });
    seen_us = NowUs();
  });
  programs_.Add("works", 0, [&] {
    programs_.Sleep(300 * kPsPerUs);
    ready = true;
  });
  programs_.Run();
  EXPECT_EQ(seen_us, 300u);
  EXPECT_EQ(programs_.TimeOf(0).waited_ps, 300 * kPsPerUs);
}

TEST_F(HostProgramsTest, OneThatWaitsInVainIsToldAndTheOthersGoOn) {
  bool done = false;
  programs_.Add("waits", 0, [&] { programs_.WaitFor("nobody", [] { return false; }); });
  programs_.Add("fails", 0, [] { throw BadInput("no good"); });
  programs_.Add("works", 0, [&] {
    programs_.Sleep(10 * kPsPerUs);
    done = true;
  });
  programs_.Run();
  EXPECT_THAT(FailureOf(0), HasSubstr("waits waits for nobody"));
  EXPECT_EQ(FailureOf(1), "no good");
  EXPECT_EQ(FailureOf(2), "no error");
  EXPECT_TRUE(done);
}

// Copies 1 MiB to the card and back; the time at which that is done.
uint64_t RoundTrip(driver::Transport& card) {
  flex::RuntimeContext context(card, 0);
  const std::vector<uint8_t> data(1 << 20, 5);
  std::vector<uint8_t> back(data.size());
  const flex::DeviceHandle memory = context.Allocate(data.size());
  context.DefaultStream().CopyToDevice(data.data(), memory, data.size());
  context.DefaultStream().CopyFromDevice(back.data(), memory, back.size());
  context.Synchronize();
  if (back != data) throw InternalError("the copy is wrong");
  return context.NowPs();
}

TEST(HostProgramsAlone, OneProgramSeesTheTimesOfACardThatIsItsOwn) {
  const std::string own = RunInChild([] {
    InProcessTransport card(model::CardConfig{}, HostTiming{}, nullptr);
    return std::to_string(RoundTrip(card));
  });
  const std::string as_program = RunInChild([] {
    InProcessTransport card(model::CardConfig{}, HostTiming{}, nullptr);
    HostPrograms programs({&card});
    uint64_t end_ps = 0;
    programs.Add("copies", 0, [&] { end_ps = RoundTrip(programs.Transport()); });
    programs.Add("sleeps", 0, [&] { programs.Sleep(7'777); });
    programs.Run();
    if (programs.Failure(0)) std::rethrow_exception(programs.Failure(0));
    return std::to_string(end_ps);
  });
  EXPECT_EQ(own, as_program) << "ps";
}

}  // namespace
}  // namespace spyre::cosim::host_programs_test
