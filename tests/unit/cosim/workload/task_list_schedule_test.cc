// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/task_list_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

namespace spyre::cosim::task_list_schedule_test {
namespace {

using ::testing::ElementsAre;

// Work by hand: one kernel for each number of inputs, one output each.
class Work {
 public:
  int Tensor(bool is_input, bool is_output = false) {
    WorkloadTensor tensor;
    tensor.position = static_cast<int>(list.tensors.size());
    tensor.is_input = is_input;
    tensor.is_output = is_output;
    list.tensors.push_back(tensor);
    return tensor.position;
  }
  // Returns the tensor that the task writes.
  int Task(const std::vector<int>& inputs, std::optional<uint32_t> stream = {},
           bool is_output = false, std::vector<size_t> after = {}) {
    BundlePlan kernel;
    for (size_t i = 0; i <= inputs.size(); ++i) {
      WorkloadTensor role;
      role.is_input = i < inputs.size();
      role.is_output = !role.is_input;
      kernel.launched.tensors.push_back(role);
    }
    cosim::Task task;
    task.kernel = list.kernels.size();
    task.tensors = inputs;
    task.tensors.push_back(Tensor(false, is_output));
    task.stream = stream;
    task.after = std::move(after);
    list.kernels.push_back(std::move(kernel));
    list.tasks.push_back(task);
    return task.tensors.back();
  }
  // "in 0 @1", "run 0 @1 after 3,4 !": the waits, and whether the step signals.
  std::vector<std::string> Plan(uint32_t streams) const {
    std::vector<std::string> text;
    for (const TaskStep& step : PlanTasks(list, streams)) {
      const char* kind = step.kind == TaskStep::Kind::kCopyIn    ? "in"
                         : step.kind == TaskStep::Kind::kCopyOut ? "out"
                                                                 : "run";
      std::string line = fmt::format("{} {} @{}", kind, step.subject, step.stream);
      if (!step.waits.empty()) line += fmt::format(" after {}", fmt::join(step.waits, ","));
      text.push_back(line + (step.signals ? " !" : ""));
    }
    return text;
  }

  TaskListPlan list;
};

TEST(TaskSchedule, AChainStaysOnOneStreamAndNeedsNoEvents) {
  Work work;
  const int x = work.Tensor(true);
  work.Task({work.Task({x})}, {}, true);
  EXPECT_THAT(work.Plan(4), ElementsAre("in 0 @1", "run 0 @1", "run 1 @1", "out 2 @1"));
}

TEST(TaskSchedule, WhatIsResidentIsNotCopiedAmongTheLaunches) {
  Work work;
  const int x = work.Tensor(true), weight = work.Tensor(true);
  work.Task({x, weight}, {}, true);
  work.list.resident = {weight};
  EXPECT_THAT(work.Plan(0), ElementsAre("in 0 @0", "run 0 @0", "out 2 @0"));
}

TEST(TaskSchedule, IndependentChainsAreDealtOutInTurn) {
  Work work;
  for (int i = 0; i < 3; ++i) work.Task({work.Tensor(true)});
  EXPECT_THAT(work.Plan(2),
              ElementsAre("in 0 @1", "run 0 @1", "in 2 @2", "run 1 @2", "in 4 @1", "run 2 @1"));
}

TEST(TaskSchedule, TheSecondFollowerBeginsAChainAndTheJoinWaits) {
  Work work;
  const int x = work.Task({work.Tensor(true)});
  const int left = work.Task({x});
  const int right = work.Task({x});
  work.Task({left, right}, {}, true);
  EXPECT_THAT(work.Plan(4), ElementsAre("in 0 @1", "run 0 @1 !", "run 1 @1", "run 2 @2 after 1 !",
                                        "run 3 @1 after 3", "out 4 @1"));
}

TEST(TaskSchedule, AnInputIsCopiedOnceAndOtherStreamsWaitForTheCopy) {
  Work work;
  const int w = work.Tensor(true);
  work.Task({w}, 1);
  work.Task({w}, 2);
  work.Task({w}, 2);
  EXPECT_THAT(work.Plan(1), ElementsAre("in 0 @1 !", "run 0 @1", "run 1 @2 after 0", "run 2 @2"));
}

TEST(TaskSchedule, AWaitThatFollowsFromAnotherIsLeftOut) {
  Work work;
  const int a = work.Task({work.Tensor(true)}, 1);
  const int b = work.Task({a}, 2);
  work.Task({a, b}, 3);
  EXPECT_THAT(work.Plan(1),
              ElementsAre("in 0 @1", "run 0 @1 !", "run 1 @2 after 1 !", "run 2 @3 after 2"))
      << "stream 2 has waited for a before it wrote b";
}

TEST(TaskSchedule, AfterOrdersTasksThatShareNoData) {
  Work work;
  work.Task({work.Tensor(true)}, 1);
  work.Task({work.Tensor(true)}, 2, false, {0});
  EXPECT_THAT(work.Plan(1), ElementsAre("in 0 @1", "run 0 @1 !", "in 2 @2", "run 1 @2 after 1"));
}

TEST(TaskSchedule, WithoutStreamsEverythingIsOnTheDefaultStream) {
  Work work;
  const int a = work.Task({work.Tensor(true)}, 1);
  work.Task({a}, 2, true);
  EXPECT_THAT(work.Plan(0), ElementsAre("in 0 @0", "run 0 @0", "run 1 @0", "out 2 @0"));
}

// Whatever the graph, the waits and the order inside streams give every step what it needs.
TEST(TaskSchedule, RandomGraphsAreOrderedByWaitsAndStreams) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    Work work;
    std::vector<int> values = {work.Tensor(true), work.Tensor(true)};
    for (int i = 0; i < 20; ++i) {
      std::vector<int> inputs = {values[below(values.size())], values[below(values.size())]};
      std::optional<uint32_t> stream;
      if (random() % 2 == 0) stream = static_cast<uint32_t>(below(4));
      std::vector<size_t> after;
      if (i > 0 && random() % 4 == 0) after.push_back(below(static_cast<size_t>(i)));
      values.push_back(work.Task(inputs, stream, random() % 3 == 0, after));
    }
    const std::vector<TaskStep> steps = PlanTasks(work.list, 3);
    // before[i]: the steps that are done when i runs.
    std::vector<std::set<size_t>> before(steps.size());
    std::map<uint32_t, size_t> last;
    std::map<int, size_t> writer;
    std::vector<size_t> step_of(work.list.tasks.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto join = [&](size_t other) {
        before[i].insert(before[other].begin(), before[other].end());
        before[i].insert(other);
      };
      if (last.count(steps[i].stream) != 0) join(last[steps[i].stream]);
      for (const size_t wait : steps[i].waits) {
        ASSERT_LT(wait, i) << "seed " << seed;
        EXPECT_NE(steps[wait].stream, steps[i].stream) << "seed " << seed;
        EXPECT_TRUE(steps[wait].signals) << "seed " << seed;
        join(wait);
      }
      last[steps[i].stream] = i;
      const auto subject = static_cast<int>(steps[i].subject);
      if (steps[i].kind == TaskStep::Kind::kCopyIn) writer[subject] = i;
      if (steps[i].kind == TaskStep::Kind::kCopyOut) {
        EXPECT_EQ(before[i].count(writer.at(subject)), 1u) << "seed " << seed << " step " << i;
      }
      if (steps[i].kind != TaskStep::Kind::kLaunch) continue;
      const Task& task = work.list.tasks[steps[i].subject];
      step_of[steps[i].subject] = i;
      for (size_t k = 0; k + 1 < task.tensors.size(); ++k)
        EXPECT_EQ(before[i].count(writer.at(task.tensors[k])), 1u) << "seed " << seed << " " << i;
      for (const size_t other : task.after)
        EXPECT_EQ(before[i].count(step_of[other]), 1u) << "seed " << seed << " step " << i;
      writer[task.tensors.back()] = i;
    }
  }
}

}  // namespace
}  // namespace spyre::cosim::task_list_schedule_test
