// SPDX-License-Identifier: Apache-2.0
// Waves of an RTL block by the configuration of a run: files, window, time base, runs that fail.
#include <gmock/gmock.h>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"
#include "tests/unit/model/rtl/fst_reader.h"

namespace spyre::cosim::waves_test {
namespace {

using model::test::FstFile;
using model::test::ReadFst;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCard = "[card]\ncontrol.fidelity = \"rtl\"\ncores = 2\n";
constexpr const char* kSmall = "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n";
// Longer than the deadline, so that the host takes the card for hung.
constexpr const char* kTooLong =
    "[workload]\nop = \"matmul\"\nm = 4096\nk = 4096\nn = 4096\nfunctional = false\n"
    "[runtime]\ndeadline_ms = 1\n";

class WavesOfARun : public test::ProgramFixture {
 protected:
  Outcome Run(const std::string& workload, const std::string& waves,
              const std::string& card = kCard) const {
    Write("run.toml", card + workload + "[trace]\nwaves = " + waves + "\n");
    return Call("run run.toml --out out --json --no-progress");
  }
  FstFile Waves(const std::string& name) const { return ReadFst(dir_ + "/out/" + name); }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(dir_ + "/out/" + name);
  }
};

TEST_F(WavesOfARun, AreInPicosecondsOfItsSimulatedTime) {
  const Outcome outcome = Run(kSmall, "{ block = \"control\" }");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = SortedJsonOf(outcome.out);
  EXPECT_EQ(report["trace"]["waves"], json({"out/waves_control.fst"}));
  const FstFile file = Waves("waves_control.fst");
  ASSERT_TRUE(file.readable);
  EXPECT_EQ(file.timescale, -12);
  EXPECT_GT(file.end, report["kernels"][0]["end_ns"].get<double>() * 1000);
  // Closing the queue comes after the time that the report gives.
  EXPECT_LT(file.end, report["sim_time_ns"].get<double>() * 1000 + 10'000'000);
  EXPECT_EQ(file.signals.count("TOP.control_processor.clk"), 1u);
}

TEST_F(WavesOfARun, LeaveItsTimesAsTheyAre) {
  const Outcome with = Run(kSmall, "{ block = \"control\" }");
  const Outcome without = Run(kSmall, "{}");
  ASSERT_EQ(with.status, 0) << with.err;
  ASSERT_EQ(without.status, 0) << without.err;
  EXPECT_EQ(SortedJsonOf(with.out)["trace"]["digest"],
            SortedJsonOf(without.out)["trace"]["digest"]);
}

TEST_F(WavesOfARun, AreThoseOfTheRtlWhenARunIsComparedWithTheTimedModel) {
  const Outcome outcome = Run(kSmall, "{ block = \"control\", from = 0 }",
                              std::string(kCard) + "[output]\ncompare = \"timed\"\n");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(SortedJsonOf(outcome.out)["trace"]["waves"], json({"out/waves_control.fst"}));
}

TEST_F(WavesOfARun, AreThoseOfTheWindow) {
  const Outcome all = Run(kSmall, "{ block = \"control\" }");
  ASSERT_EQ(all.status, 0) << all.err;
  const uint64_t middle = Waves("waves_control.fst").end / 2000;  // ns
  const Outcome part =
      Run(kSmall, "{ block = \"control\", from = " + std::to_string(middle) + " }");
  ASSERT_EQ(part.status, 0) << part.err;
  EXPECT_GE(Waves("waves_control.fst").start, middle * 1000);
  const Outcome other = Run(kSmall, "{ block = \"control\", to = " + std::to_string(middle) + " }");
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_LE(Waves("waves_control.fst").end, middle * 1000);
}

TEST_F(WavesOfARun, OnErrorAreNotKeptIfItPasses) {
  const Outcome outcome = Run(kSmall, "{ block = \"control\", on_error = true, cycles = 50 }");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(SortedJsonOf(outcome.out)["trace"]["waves"], IsEmpty());
  EXPECT_FALSE(Exists("waves_control.fst") || Exists("waves_control_earlier.fst"));
}

TEST_F(WavesOfARun, OnErrorHaveTheClocksBeforeIt) {
  const Outcome outcome = Run(kTooLong, "{ block = \"control\", on_error = true, cycles = 50 }");
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  const FstFile earlier = Waves("waves_control_earlier.fst"), last = Waves("waves_control.fst");
  ASSERT_TRUE(earlier.readable && last.readable);
  EXPECT_LT(earlier.end, last.start);
  const FstFile::Changes& clock = earlier.signals.at("TOP.clk");
  EXPECT_EQ(clock.size(), 100u) << "both edges of 50 cycles";
}

// The block dumps from a process of the simulation: its exceptions are errors of the run.
TEST_F(WavesOfARun, ThatCannotBeWrittenAreBadInput) {
  std::filesystem::create_directories(dir_ + "/out/waves_control.fst/in_the_way");
  const Outcome outcome = Run(kSmall, "{ block = \"control\" }");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write out/waves_control.fst"));
}

TEST_F(WavesOfARun, NeedABlockInRtl) {
  const Outcome outcome = Run(kSmall, "{ block = \"control\" }", "[card]\ncores = 2\n");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("card.control.fidelity = \"rtl\" is needed"));
}

}  // namespace
}  // namespace spyre::cosim::waves_test
