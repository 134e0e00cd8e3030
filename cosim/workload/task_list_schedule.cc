// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/task_list_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "runtime/flex/scheduler.h"

namespace spyre::cosim {
namespace {

constexpr uint32_t kFirstStream = 1;  // that chains are dealt out to

class StepPlanner {
 public:
  StepPlanner(const TaskListPlan& list, uint32_t streams)
      : list_(list),
        streams_(streams),
        writer_(list.tensors.size()),
        on_host_(list.tensors.size(), -1),
        resident_(list.tensors.size(), false) {
    for (const int tensor : list.resident) resident_[static_cast<size_t>(tensor)] = true;
  }

  std::vector<TaskStep> Plan() {
    for (size_t task = 0; task < list_.tasks.size(); ++task) AddTask(task);
    return std::move(steps_);
  }

 private:
  // What a stream knows to be done before its next step: the last step of every stream.
  using Clock = std::map<uint32_t, size_t>;

  // Operands that kernels have computed are copied to the host, unless they are there already.
  void AddHostTask(size_t index) {
    const Task& task = list_.tasks[index];
    std::vector<size_t> needs;
    uint32_t stream = streams_ != 0 && task.stream ? *task.stream : flex::kDefaultStream;
    for (size_t i = 0; i + 1 < task.tensors.size(); ++i) {
      const auto tensor = static_cast<size_t>(task.tensors[i]);
      const bool is_copied = on_host_[tensor] >= 0 || list_.tensors[tensor].is_input;
      if (!is_copied) {
        on_host_[tensor] = static_cast<int64_t>(steps_.size());
        Add({TaskStep::Kind::kCopyOut, tensor, steps_[*writer_[tensor]].stream, {}, false},
            {*writer_[tensor]});
      }
      if (on_host_[tensor] < 0) continue;
      needs.push_back(static_cast<size_t>(on_host_[tensor]));
      if (streams_ != 0 && !task.stream) stream = steps_[needs.back()].stream;
    }
    for (const size_t earlier : task.after) needs.push_back(step_of_[earlier]);
    step_of_.push_back(steps_.size());
    follower_.push_back(false);
    on_host_[static_cast<size_t>(task.tensors.back())] = static_cast<int64_t>(steps_.size());
    Add({TaskStep::Kind::kHost, index, stream, {}, false}, needs);
  }

  void AddCollective(size_t index) {
    const Task& task = list_.tasks[index];
    std::vector<size_t> needs = {*writer_[static_cast<size_t>(task.tensors.front())]};
    for (const size_t earlier : task.after) needs.push_back(step_of_[earlier]);
    const size_t step = steps_.size();
    step_of_.push_back(step);
    follower_.push_back(false);
    Add({TaskStep::Kind::kCollective, index, flex::kDefaultStream, {}, false}, needs);
    const auto result = static_cast<size_t>(task.tensors.back());
    writer_[result] = step;
    if (list_.tensors[result].is_output) AddCopyOut(index, result, flex::kDefaultStream, step);
  }

  void AddCopyOut(size_t index, size_t tensor, uint32_t stream, size_t writer) {
    if (IsChangedLater(list_, index, static_cast<int>(tensor))) return;
    on_host_[tensor] = static_cast<int64_t>(steps_.size());
    Add({TaskStep::Kind::kCopyOut, tensor, stream, {}, false}, {writer});
  }

  void AddTask(size_t index) {
    const Task& task = list_.tasks[index];
    if (task.collective) return AddCollective(index);
    if (task.host_op) return AddHostTask(index);
    const std::vector<WorkloadTensor>& roles = list_.kernels[task.kernel].launched.tensors;
    const uint32_t stream = StreamOf(task, roles);
    std::vector<size_t> needs;
    for (size_t i = 0; i < task.tensors.size(); ++i) {
      if (!roles[i].is_input) continue;
      const auto tensor = static_cast<size_t>(task.tensors[i]);
      if (!writer_[tensor]) {
        if (resident_[tensor]) continue;
        writer_[tensor] = steps_.size();
        std::vector<size_t> made;
        if (on_host_[tensor] >= 0) made.push_back(static_cast<size_t>(on_host_[tensor]));
        Add({TaskStep::Kind::kCopyIn, tensor, stream, {}, false}, made);
      }
      needs.push_back(*writer_[tensor]);
    }
    for (const size_t earlier : task.after) needs.push_back(step_of_[earlier]);
    const size_t step = steps_.size();
    step_of_.push_back(step);
    follower_.push_back(false);
    Add({TaskStep::Kind::kLaunch, index, stream, {}, false}, needs);
    for (size_t i = 0; i < task.tensors.size(); ++i) {
      if (!roles[i].is_output) continue;
      const auto tensor = static_cast<size_t>(task.tensors[i]);
      writer_[tensor] = step;
      if (list_.tensors[tensor].is_output) AddCopyOut(index, tensor, stream, step);
    }
  }

  uint32_t StreamOf(const Task& task, const std::vector<WorkloadTensor>& roles) {
    if (streams_ == 0) return flex::kDefaultStream;
    if (task.stream) return *task.stream;
    for (size_t i = 0; i < task.tensors.size(); ++i) {
      const auto& writer = writer_[static_cast<size_t>(task.tensors[i])];
      if (!roles[i].is_input || !writer) continue;
      const TaskStep& step = steps_[*writer];
      if (step.kind != TaskStep::Kind::kLaunch || follower_[step.subject]) continue;
      follower_[step.subject] = true;
      return step.stream;
    }
    return kFirstStream + static_cast<uint32_t>(chains_++ % streams_);
  }

  void Add(TaskStep step, std::vector<size_t> needs) {
    const size_t position = steps_.size();
    Clock& known = known_[step.stream];
    // The latest first: what it has waited for itself need not be waited for again.
    std::sort(needs.rbegin(), needs.rend());
    for (const size_t need : needs) {
      const uint32_t other = steps_[need].stream;
      if (other == step.stream) continue;
      const auto seen = known.find(other);
      if (seen != known.end() && seen->second >= need) continue;
      step.waits.push_back(need);
      steps_[need].signals = true;
      for (const auto& [stream, last] : clocks_[need]) {
        size_t& mine = known[stream];
        mine = std::max(mine, last);
      }
    }
    known[step.stream] = position;
    clocks_.push_back(known);
    steps_.push_back(std::move(step));
  }

  const TaskListPlan& list_;
  const uint32_t streams_;
  size_t chains_ = 0;
  std::vector<TaskStep> steps_;
  std::vector<Clock> clocks_;                  // by step, with the step itself
  std::map<uint32_t, Clock> known_;            // by stream
  std::vector<std::optional<size_t>> writer_;  // by tensor: the step that fills it on the card
  std::vector<int64_t> on_host_;               // likewise on the host; -1: an input, or not there
  std::vector<bool> resident_;                 // by tensor
  std::vector<size_t> step_of_;                // by task
  std::vector<bool> follower_;                 // by task: its chain goes on behind it
};

}  // namespace

std::vector<TaskStep> PlanTasks(const TaskListPlan& list, uint32_t streams) {
  return StepPlanner(list, streams).Plan();
}

void CheckIssue(const IssueConfig& issue) {
  if ((issue.window & (issue.window - 1)) != 0)
    throw BadInput("workload.issue.window = {} tasks must be a power of two", issue.window);
  if (issue.mode == IssueMode::kTaskGraph && issue.timing == runtime::IssueTiming::kInterleaved) {
    throw BadInput(
        "workload.issue.timing = \"interleaved\" takes turns between streams, but with "
        "workload.issue.mode = \"task_graph\" dependencies give the order; use mode = "
        "\"streams\", or timing = \"batched\"");
  }
}

}  // namespace spyre::cosim
