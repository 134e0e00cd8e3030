// SPDX-License-Identifier: Apache-2.0
// A softmax as the operations of its kernel: how often its rows pass through device memory, and
// when they stay in LX.
#include "cosim/estimate/softmax_works.h"

#include <gmock/gmock.h>

#include "cosim/estimate/kernel_estimate.h"
#include "parameters/card_parameters.h"

namespace spyre::cosim::softmax_works_test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLxBytes = 2 * kMiB - 65536;

struct Sums {
  size_t steps;
  uint64_t read = 0, written = 0;
};

std::vector<StepWork> Works(uint64_t rows, uint64_t columns, uint64_t cores,
                            uint64_t lx_bytes = kLxBytes) {
  return SoftmaxWorks({rows, columns / 64, cores, lx_bytes});
}

Sums SumsOf(const std::vector<StepWork>& steps) {
  Sums sums{steps.size()};
  for (const StepWork& step : steps) {
    const auto& work = std::get<model::VectorWork>(step.work);
    sums.read += step.executions * work.bytes_read;
    sums.written += step.executions * work.bytes_written;
  }
  return sums;
}

TEST(SoftmaxWorks, RowsThatStayInLxAreReadOnceAndWrittenOnce) {
  const Sums sums = SumsOf(Works(4096, 1024, 16));  // 512 KiB a core
  EXPECT_EQ(sums.steps, 7u);
  EXPECT_EQ(sums.read, 8 * kMiB);
  EXPECT_EQ(sums.written, 8 * kMiB);
}

TEST(SoftmaxWorks, OtherRowsAreReadFiveTimesAndWrittenThreeTimes) {
  const Sums sums = SumsOf(Works(4096, 1024, 4));  // 2 MiB a core
  EXPECT_EQ(sums.steps, 5u);
  EXPECT_EQ(sums.read, 5 * 8 * kMiB);
  EXPECT_EQ(sums.written, 3 * 8 * kMiB);
}

// The limit that measured kernels show: 1,536 KiB a core stay, 2 MiB do not.
TEST(SoftmaxWorks, AFifthOfLxIsNotForRows) {
  EXPECT_EQ(Works(768, 1024, 1).size(), 7u);
  EXPECT_EQ(Works(1024, 1024, 1).size(), 5u);
}

TEST(SoftmaxWorks, WhereAKernelMayUseLessOfLxRowsComeInTiles) {
  const auto steps = Works(512, 1024, 1, kMiB / 2 + 65536);
  for (const StepWork& step : steps) EXPECT_EQ(step.executions, 2u) << step.name;
  EXPECT_EQ(SumsOf(steps).read, kMiB);
}

// Nothing overlaps of what stays in LX: the load, the loops and the store follow each other.
TEST(SoftmaxWorks, AResidentSoftmaxTakesTheSumOfItsSteps) {
  const model::CardParameters card;
  const auto steps = Works(2048, 512, 32);
  double sum_ns = 0;
  for (const StepWork& step : steps) {
    const model::KernelTime time = model::TimeOf(step.work, card);
    sum_ns += time.ns - time.start_ns;
    if (step.name == "load" || step.name == "store")
      sum_ns += static_cast<double>(card.fast.step_memory_ns);
  }
  const KernelEstimate estimate = Estimate({"softmax", "", 1, steps}, card);
  EXPECT_NEAR(estimate.ns, sum_ns + static_cast<double>(card.fast.start_ns), 1);
}

}  // namespace
}  // namespace spyre::cosim::softmax_works_test
