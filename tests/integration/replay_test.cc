// SPDX-License-Identifier: Apache-2.0
// Recorded runs on other cards, as users do it: run --record, replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::cosim::replay_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kMatmul = "op = \"matmul\"\nm = 256\nk = 128\nn = 192\ntile = { m = 64 }\n";
constexpr const char* kCopy = "op = \"copy\"\nrows = 64\ncols = 200\n";

class Replays : public test::ProgramFixture {
 protected:
  // Records a run of `workload` and gives its simulated time in ns.
  double Record(const std::string& workload, const std::string& sets = "") const {
    Write("run.toml", std::string("[workload]\n") + workload);
    const Outcome outcome = Call("run run.toml --json --record run.rec " + sets);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out)["sim_time_ns"].get<double>() : 0;
  }
  json Replay(const std::string& sets, int status) const {
    const Outcome outcome = Call("replay run.rec --json " + sets);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    return SortedJsonIfAny(outcome.out);
  }
};

struct Mode {
  const char* name;
  const char* sets;
};
void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }

class ModeReplays : public Replays, public ::testing::WithParamInterface<Mode> {};

TEST_P(ModeReplays, EqualOnTheSameCardInTheSameTime) {
  Record(kMatmul, GetParam().sets);
  const json result = Replay("", 0);
  EXPECT_EQ(result["equal"], true);
  EXPECT_EQ(result["replayed_ns"], result["recorded_ns"]);
  EXPECT_EQ(result["responses"], 16);
  EXPECT_EQ(result["output_bytes"], 256 * 192 * 2);
}

TEST_P(ModeReplays, EqualOnAFasterCardInLessTime) {
  Record(kMatmul, GetParam().sets);
  const json result = Replay("--set card.fidelity=functional", 0);
  EXPECT_EQ(result["equal"], true);
  EXPECT_LT(result["replayed_ns"], result["recorded_ns"]);
}

TEST_P(ModeReplays, EqualOnASlowerCardInMoreTime) {
  Record(kMatmul, std::string("--set card.fidelity=functional ") + GetParam().sets);
  const json result = Replay("--set card.fidelity=timed --set card.pcie.one_way_ns=5000", 0);
  EXPECT_EQ(result["equal"], true);
  EXPECT_GT(result["replayed_ns"], result["recorded_ns"]);
}

TEST_P(ModeReplays, EqualOnBlocksInRtl) {
  Record(kMatmul, GetParam().sets);
  EXPECT_EQ(Replay("--set card.control.fidelity=rtl --set card.pt.fidelity=rtl", 0)["equal"], true);
}

std::string ModeName(const ::testing::TestParamInfo<Mode>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(
    Modes, ModeReplays,
    ::testing::Values(Mode{"VfInterrupt", ""}, Mode{"PfInterrupt", "--set card.mode=pf"},
                      Mode{"VfPolled", "--set runtime.completion=polled"},
                      Mode{"PfPolled", "--set card.mode=pf --set runtime.completion=polled"},
                      Mode{"VfInterruptPipelined", "--set card.concurrency=pipelined"},
                      Mode{"PfPolledPipelined",
                           "--set card.mode=pf --set runtime.completion=polled "
                           "--set card.concurrency=pipelined"},
                      Mode{"SmallRings", "--set runtime.ring_entries=2"},
                      Mode{"SmallRingsPolled",
                           "--set runtime.ring_entries=2 --set runtime.completion=polled"}),
    ModeName);

TEST_F(Replays, RecordingChangesNoTimes) {
  const double recorded = Record(kCopy);
  EXPECT_EQ(Report(kCopy)["sim_time_ns"], recorded);
}

TEST_F(Replays, TheSameRunGivesTheSameFile) {
  Record(kCopy);
  const std::string first = Read("run.rec");
  Record(kCopy);
  EXPECT_TRUE(Read("run.rec") == first);
}

TEST_F(Replays, ATimingOnlyRunIsRecordedWithoutItsTensors) {
  Record("op = \"copy\"\nrows = 4096\ncols = 2048\nfunctional = false\n");
  EXPECT_LT(Read("run.rec").size(), 200'000);
  EXPECT_EQ(Replay("", 0)["output_bytes"], 0);
}

// The host gives up after a millisecond; the recording ends with that.
TEST_F(Replays, ARunThatEndedInAFaultIsReplayedToItsEnd) {
  Write("run.toml",
        "[workload]\nm = 1024\nk = 1024\nn = 1024\nfunctional = false\n"
        "[runtime]\ndeadline_ms = 1\n"
        "[card]\ncores = 1\ncore = { pt_accumulate_cycles = 256 }\n");
  ASSERT_EQ(Call("run run.toml --record run.rec").status, 3);
  const json result = Replay("", 0);
  EXPECT_EQ(result["replayed_ns"], result["recorded_ns"]);
}

TEST_F(Replays, ACardWithFewerCoresDivergesWhereTheHostReadsThat) {
  Record(kCopy);
  const json divergence = Replay("--set card.cores=16", 1)["divergence"];
  EXPECT_THAT(divergence["access"].get<std::string>(),
              AllOf(HasSubstr("read of CAPABILITIES"), HasSubstr("function 0")));
  EXPECT_THAT(divergence["recorded"].get<std::string>(), HasSubstr("CORES 32"));
  EXPECT_THAT(divergence["replayed"].get<std::string>(), HasSubstr("CORES 16"));
  EXPECT_GT(divergence["replayed_ns"], 0);
}

TEST_F(Replays, ATextSaysWhatWasReplayed) {
  Record(kCopy);
  const Outcome equal = Call("replay run.rec");
  EXPECT_THAT(equal.out, AllOf(HasSubstr("interrupts, 6 responses, 32.00 KiB of output\n"),
                               HasSubstr("\nverified: "), HasSubstr("\ntime:     recorded ")));
  const Outcome other = Call("replay run.rec --set card.cores=16");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.out, AllOf(HasSubstr("read of CAPABILITIES (BAR0 0x000c), function 0"),
                               HasSubstr("recorded at "), HasSubstr("replayed at "),
                               HasSubstr("\nWRONG:    record ")));
}

TEST_F(Replays, TheRecordingNeedsNoFilesOfTheRun) {
  Write("card.toml", "[card]\ncores = 8\n");
  Record(kCopy, "--set card.preset=card.toml");
  std::filesystem::remove(dir_ + "/card.toml");
  std::filesystem::remove(dir_ + "/run.toml");
  EXPECT_EQ(Replay("", 0)["equal"], true);
}

TEST_F(Replays, BadFilesAndKeysEndWithStatus2) {
  const auto expect = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = Call("replay " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  Record(kCopy);
  Write("half.rec", Read("run.rec").substr(0, 10'000));
  std::string flipped = Read("run.rec");
  flipped[flipped.size() / 2] ^= 1;
  Write("flipped.rec", flipped);
  expect("missing.rec", "missing.rec: cannot read the recording");
  expect("run.toml", "no recording");
  expect("half.rec", "incomplete");
  expect("flipped.rec", "corrupt");
  expect("run.rec --set card.coers=1", "did you mean 'card.cores'?");
  expect("run.rec --patience 0", "--patience");
  EXPECT_EQ(Call("run run.toml --record no/such/file").status, 2);
}

}  // namespace
}  // namespace spyre::cosim::replay_test
