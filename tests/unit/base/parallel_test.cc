// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <stdexcept>
#include <vector>

namespace spyre::cosim::parallel_test {
namespace {

TEST(ParallelFor, DoesEveryIndexOnceInPartsOfWholeGrains) {
  for (const int64_t count : {0, 1, 7, 64, 1000, 12'345}) {
    std::vector<std::atomic<int>> done(static_cast<size_t>(count));
    ParallelFor(count, 7, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin % 7, 0);
      EXPECT_LT(begin, end);
      for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
    });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(ParallelFor, AnInterruptionEndsItBetweenParts) {
  CatchInterrupts(0);
  std::atomic<int64_t> done{0};
  const auto work = [&](int64_t begin, int64_t end) {
    if (done.fetch_add(end - begin) == 0) std::raise(SIGTERM);
  };
  EXPECT_THROW(ParallelFor(1'000'000, 1, work), Interruption);
  EXPECT_LT(done, 1'000'000);
  done = 1;
  ParallelFor(1'000'000, 1, work);
  EXPECT_EQ(done, 1'000'001) << "the next one is not interrupted";
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) std::signal(signal, SIG_DFL);
}

TEST(ParallelFor, ThrowsWhatAPartOfAnyThreadThrows) {
  for (const int64_t bad : {0, 999}) {
    const auto work = [&](int64_t begin, int64_t end) {
      if (begin <= bad && bad < end) throw std::runtime_error("bad");
    };
    EXPECT_THROW(ParallelFor(1000, 1, work), std::runtime_error);
  }
}

}  // namespace
}  // namespace spyre::cosim::parallel_test
