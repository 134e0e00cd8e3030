// SPDX-License-Identifier: Apache-2.0
// A program that marks its steps: what the report and the trace say of each of them.
#include <gtest/gtest.h>

#include <vector>

#include "cosim/measure/kernel_log.h"
#include "tests/integration/card_fixture.h"
#include "traces/critical_path.h"
#include "traces/summary.h"
#include "traces/trace_file.h"

namespace spyre::test::steps_test {
namespace {

// Twice: both cores load 8 KiB each (step 4); then core 0 alone negates its part (step 7). Tokens
// t1 and t2 let the units begin a step, t3 and t4 say that they are done.
constexpr const char* kProgram = R"(
.program steps
.cores 0x3
.lx 16384
.table 1
.core 0: 1 0
.core 1: 0 8192
.section ring 0x3
  li r1, 3
  li r2, 2
  creg r3, 0
  loop r10, r2
    barrier r1, r0
    loop r11, r3
      mark r10, 4
    end
    nop signal=t1
    nop wait=t3
    barrier r1, r0
    loop r11, r3
      mark r10, 7
    end
    loop r11, r3
      nop signal=t2
      nop wait=t4
    end
  end
  barrier r1, r0
.section load 0x3
  tab r1, 0
  creg r2, 1
  madd r1, r1, r2, 1
  li r2, 2
  li r3, 8192
  li r4, 1
  loop r10, r2
    load r0, r1, r3, r4, r0, r0, r4, r0, r0, r0 wait=t1 signal=t3
  end
.section vector 0x1
  li r2, 2
  li r3, 64
  li r4, 1
  li r5, 128
  li r6, 8192
  loop r10, r2
    vunary.neg r6, r0, -, r3, r4, r0, r0, -, r5, r5 wait=t2 signal=t4
  end
)";

class StepsTest : public CardFixture {
 protected:
  flex::CompletedOperation RunSteps(cosim::KernelUsages* usages,
                                    std::vector<std::string> names = {}) {
    Open();
    const auto source = Upload(std::vector<uint16_t>(8192, 1));
    cosim::KernelLog log(transport_->card(), &*recorder_, std::move(names));
    const flex::CompletedOperation done = Run(kProgram, {source});
    *usages = log.Take();
    return done;
  }
};

TEST_F(StepsTest, EveryStepHasItsOwnTimeBytesAndBusyUnits) {
  cosim::KernelUsages usages;
  const flex::CompletedOperation done = RunSteps(&usages, {"", "", "", "", "four.json"});
  const cosim::KernelUsage& kernel = usages.at(done.correlation);
  ASSERT_EQ(kernel.steps.size(), 2u);
  const cosim::StepUsage& load = kernel.steps[0];
  const cosim::StepUsage& negate = kernel.steps[1];
  EXPECT_EQ(load.step, 4u);
  EXPECT_EQ(load.name, "four.json");
  EXPECT_EQ(negate.name, "step 7") << "no name was given";
  EXPECT_EQ(load.executions, 2u);
  EXPECT_EQ(load.bytes_read, 2u * 2 * 8192) << "bytes";
  EXPECT_EQ(negate.bytes_read, 0u) << "bytes";
  EXPECT_GT(load.usage.load_ps.sum, 0u);
  EXPECT_EQ(load.usage.vector_ps.sum, 0u);
  EXPECT_EQ(negate.usage.load_ps.sum, 0u);
  EXPECT_GT(negate.usage.vector_ps.max, 0u);
  EXPECT_EQ(negate.usage.vector_ps.min, 0u) << "core 1 has nothing to do";
  EXPECT_EQ(load.usage.cores, 2u);
}

TEST_F(StepsTest, ExecutionsFollowEachOtherWithoutGapToTheEndOfTheKernel) {
  cosim::KernelUsages usages;
  const flex::CompletedOperation done = RunSteps(&usages);
  const cosim::KernelUsage& kernel = usages.at(done.correlation);
  ASSERT_EQ(kernel.executions.size(), 4u);
  uint64_t total = 0;
  for (size_t i = 0; i < 4; ++i) {
    const cosim::StepExecution& execution = kernel.executions[i];
    EXPECT_EQ(execution.step, i % 2 == 0 ? 4u : 7u);
    EXPECT_EQ(execution.iteration, i / 2);
    if (i > 0) {
      EXPECT_EQ(execution.start_ps, kernel.executions[i - 1].end_ps);
    }
    EXPECT_GT(execution.end_ps, execution.start_ps);
    total += execution.end_ps - execution.start_ps;
  }
  EXPECT_GE(kernel.executions.front().start_ps, done.started_ps + kernel.launch_ps);
  EXPECT_EQ(kernel.executions.back().end_ps, done.finished_ps);
  EXPECT_EQ(kernel.steps[0].usage.span_ps + kernel.steps[1].usage.span_ps, total);
}

TEST_F(StepsTest, TheTraceShowsThemAndTheCriticalPathStillSumsToTheKernel) {
  cosim::KernelUsages usages;
  const flex::CompletedOperation done = RunSteps(&usages);
  const trace::Trace trace = trace::Snapshot(*recorder_);
  const trace::Summary summary = trace::Summarize(trace);
  ASSERT_EQ(summary.steps.size(), 2u);
  EXPECT_EQ(summary.steps[0].name, "step 4");
  EXPECT_EQ(summary.steps[0].total_ps, usages.at(done.correlation).steps[0].usage.span_ps);
  const trace::CriticalPath path =
      trace::FollowCriticalPath(trace, *trace::FindKernel(trace, "steps"));
  uint64_t sum = 0;
  for (const trace::PathShare& share : path.shares) sum += share.time_ps;
  EXPECT_EQ(sum, done.finished_ps - done.started_ps);
}

TEST_F(StepsTest, AProgramWithoutMarksHasNoSteps) {
  Open();
  cosim::KernelLog log(transport_->card(), &*recorder_);
  const flex::CompletedOperation done =
      Run(".program plain\n.cores 0x1\n.section ring 0x1\nnop\n", {});
  const cosim::KernelUsages usages = log.Take();
  EXPECT_TRUE(usages.at(done.correlation).steps.empty());
  EXPECT_TRUE(trace::Summarize(trace::Snapshot(*recorder_)).steps.empty());
}

}  // namespace
}  // namespace spyre::test::steps_test
