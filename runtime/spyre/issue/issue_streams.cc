// SPDX-License-Identifier: Apache-2.0
// Issue::Streams: every task goes to its stream at once, or when its group is complete. An edge
// between two streams waits for what its stream was given up to now, which is at least the task.
#include <map>
#include <utility>

#include "base/error.h"
#include "runtime/spyre/issue/issue.h"
#include "runtime/spyre/issue/issue_lanes.h"

namespace spyre::runtime {
namespace {

class StreamIssuer final : public Issuer {
 public:
  StreamIssuer(flex::RuntimeContext& context, const StreamIssueOptions& options)
      : context_(context), options_(options), lanes_(context), pacer_(context, options.pacing) {
    if (options_.streams < 1 || options_.streams >= flex::kFirstHighPriorityStream) {
      throw BadInput("issue by streams: {} streams; there may be 1 to {}", options_.streams,
                     flex::kFirstHighPriorityStream - 1);
    }
  }

  // What was taken runs, even if nothing waits for it.
  ~StreamIssuer() override { IssueGroup(); }
  StreamIssuer(const StreamIssuer&) = delete;
  StreamIssuer& operator=(const StreamIssuer&) = delete;

  TaskId Submit(IssuedTask task) override {
    const auto id = static_cast<TaskId>(places_.size());
    for (const TaskId before : task.after) {
      if (before < 0 || before >= id) {
        throw BadInput("task {} ('{}') comes after task {}; it can come after 0 to {}", id,
                       task.name, before, id - 1);
      }
    }
    const size_t lane = LaneOf(task);
    places_.emplace_back();
    if (options_.pacing.timing != IssueTiming::kInterleaved) {
      IssueOne({id, lane, std::move(task)});
      return id;
    }
    group_.push_back({id, lane, std::move(task)});
    if (group_.size() >= options_.pacing.batch) IssueGroup();
    return id;
  }

  void Synchronize() override {
    IssueGroup();
    pacer_.Flush();
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      try {
        lanes_.stream(lane).Synchronize();
      } catch (const Error& error) {
        if (!error_) error_ = error;
      }
    }
    if (error_) throw *error_;
    completed_ = places_.size();
  }

  IssueCounts Counts() const override {
    IssueCounts counts;
    counts.tasks = places_.size();
    counts.waits = lanes_.waits();
    counts.completed = completed_;
    counts.failed = failed_;
    return counts;
  }

 private:
  struct Recorded {
    flex::Event event;
    uint64_t position;
  };

  struct Held {
    TaskId id;
    size_t lane;
    IssuedTask task;
  };

  void IssueGroup() {
    const std::vector<Held> group = std::exchange(group_, {});
    if (group.empty()) return;
    std::vector<InterleavedTask> tasks;
    for (const Held& held : group) {
      tasks.push_back({held.lane, {}});
      for (const TaskId before : held.task.after) {
        if (before >= group[0].id)
          tasks.back().after.push_back(static_cast<size_t>(before - group[0].id));
      }
    }
    for (const size_t i : InterleavedOrder(tasks, group.size())) IssueOne(group[i]);
  }

  void IssueOne(const Held& held) {
    const auto lock = context_.Lock();
    places_[static_cast<size_t>(held.id)] = lanes_.Advance(held.lane);
    try {
      pacer_.Begin();
      for (const TaskId before : held.task.after) {
        const LanePlace& place = places_[static_cast<size_t>(before)];
        if (lanes_.Waits(held.lane, place)) continue;
        const Recorded& recorded = Covering(place);
        lanes_.Wait(held.lane, place, recorded.event, recorded.position);
      }
      held.task.enqueue(lanes_.stream(held.lane));
      pacer_.End();
    } catch (const Error& error) {
      ++failed_;
      if (!error_) error_ = error.Within(fmt::format("task '{}'", held.task.name));
    }
  }

  size_t LaneOf(const IssuedTask& task) {
    if (task.stream) return lanes_.AddShared(*task.stream);
    if (dealt_.size() < options_.streams) {
      dealt_.push_back(lanes_.AddOwn());
      return dealt_.back();
    }
    return dealt_[next_++ % dealt_.size()];
  }

  // The last event of the place's lane, or a new one if that came before it.
  const Recorded& Covering(const LanePlace& place) {
    const auto known = recorded_.find(place.lane);
    if (known != recorded_.end() && known->second.position >= place.position) {
      return known->second;
    }
    Recorded recorded{flex::Event(context_), lanes_.position(place.lane)};
    lanes_.stream(place.lane).flex_stream().Record(recorded.event);
    return recorded_.insert_or_assign(place.lane, recorded).first->second;
  }

  flex::RuntimeContext& context_;
  StreamIssueOptions options_;
  IssueLanes lanes_;
  IssuePacer pacer_;
  std::vector<Held> group_;  // taken, not issued
  std::vector<size_t> dealt_;
  size_t next_ = 0;
  std::vector<LanePlace> places_;        // by task
  std::map<size_t, Recorded> recorded_;  // by lane
  std::optional<Error> error_;
  uint64_t completed_ = 0, failed_ = 0;
};

}  // namespace

std::unique_ptr<Issuer> Issue::Streams(flex::RuntimeContext& context,
                                       const StreamIssueOptions& options) {
  return std::make_unique<StreamIssuer>(context, options);
}

}  // namespace spyre::runtime
