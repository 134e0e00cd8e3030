// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/scheduling_policy.h"

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"

namespace spyre::flex {
namespace {

class Fifo : public SchedulingPolicy {
 public:
  const char* name() const override { return "fifo"; }
  uint32_t Pick(const ReadyStreams& ready) override {
    uint32_t oldest = *ready.set().begin();
    for (const uint32_t stream : ready.set()) {
      if (ready.arrival(stream) < ready.arrival(oldest)) oldest = stream;
    }
    return oldest;
  }
};

class RoundRobin : public SchedulingPolicy {
 public:
  const char* name() const override { return "round_robin"; }
  uint32_t Pick(const ReadyStreams& ready) override {
    last_ = ready.set().NextInTurn(last_);
    return last_;
  }

 private:
  uint32_t last_ = kLastStream;
};

class Priority : public SchedulingPolicy {
 public:
  explicit Priority(uint32_t limit) : limit_(limit) {}
  const char* name() const override { return "priority"; }
  uint32_t Pick(const ReadyStreams& ready) override {
    const uint32_t normal =
        ready.set().NextInTurn(last_normal_, kDefaultStream, kFirstHighPriorityStream - 1);
    const uint32_t high = ready.set().NextInTurn(last_high_, kFirstHighPriorityStream, kLastStream);
    if (high == StreamSet::kNone || (normal != StreamSet::kNone && passed_over_ == limit_)) {
      passed_over_ = 0;
      return last_normal_ = normal;
    }
    passed_over_ = normal == StreamSet::kNone ? 0 : passed_over_ + 1;
    return last_high_ = high;
  }

 private:
  uint32_t limit_;
  uint32_t passed_over_ = 0;  // picks of high priority in a row while a normal stream was ready
  uint32_t last_normal_ = kFirstHighPriorityStream - 1;
  uint32_t last_high_ = kLastStream;
};

class DrainOneFirst : public SchedulingPolicy {
 public:
  explicit DrainOneFirst(uint32_t limit) : limit_(limit) {}
  const char* name() const override { return "drain_one_first"; }
  uint32_t Pick(const ReadyStreams& ready) override {
    const uint32_t next = ready.set().NextInTurn(last_);
    if (ready.set().Contains(last_) && in_a_row_ < limit_) {
      in_a_row_ = next == last_ ? 0 : in_a_row_ + 1;
      return last_;
    }
    in_a_row_ = 1;
    return last_ = next;
  }

 private:
  uint32_t limit_;
  uint32_t in_a_row_ = 0;  // picks of last_ while another stream was ready
  uint32_t last_ = kLastStream;
};

// Start-time fair queueing with device time: what is in the ring counts with the stream's mean so
// far, until its response says what it took. A stream that had nothing to do, or is new, starts at
// the time that the others have reached, so it can neither save up time nor hold them up.
class Fair : public SchedulingPolicy {
 public:
  explicit Fair(uint32_t limit) : limit_(limit) {}
  const char* name() const override { return "fair"; }
  uint32_t Pick(const ReadyStreams& ready) override {
    uint64_t streams = 0;
    uint32_t least = ready.set().NextInTurn(last_);  // equal times: in turn
    uint32_t longest = least;
    for (const uint32_t stream : ready.set()) {
      ++streams;
      if (Used(usage_[stream]) < Used(usage_[least])) least = stream;
      if (usage_[stream].waits_since < usage_[longest].waits_since) longest = stream;
    }
    reached_ps_ = std::max(reached_ps_, Used(usage_[least]));
    const bool starved = picks_ - usage_[longest].waits_since >= limit_ * (streams - 1);
    last_ = starved ? longest : least;
    usage_[last_].waits_since = ++picks_;
    return last_;
  }
  void OnReady(uint32_t stream) override {
    Usage& usage = usage_[stream];
    usage.waits_since = picks_;
    const uint64_t used = Used(usage);
    if (used < reached_ps_) usage.granted_ps += reached_ps_ - used;
  }
  void OnEntered(uint32_t stream) override { ++usage_[stream].in_ring; }
  void OnAnswered(uint32_t stream, uint64_t device_ps) override {
    Usage& usage = usage_[stream];
    --usage.in_ring;
    ++usage.answered;
    usage.device_ps += device_ps;
  }
  void OnReset() override {
    for (Usage& usage : usage_) usage.in_ring = 0;
  }

 private:
  struct Usage {
    uint64_t device_ps = 0;    // of answered operations
    uint64_t granted_ps = 0;   // added when it became ready late
    uint64_t waits_since = 0;  // number of picks made when it was picked or became ready
    uint64_t answered = 0;
    uint64_t in_ring = 0;
  };
  static uint64_t Used(const Usage& usage) {
    const uint64_t mean = usage.answered == 0 ? 0 : usage.device_ps / usage.answered;
    return usage.granted_ps + usage.device_ps + usage.in_ring * mean;
  }

  uint64_t limit_;
  std::array<Usage, kStreams> usage_{};
  uint64_t reached_ps_ = 0;  // device time at which the last pick was due
  uint64_t picks_ = 0;
  uint32_t last_ = kLastStream;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> MakeSchedulingPolicy(std::string_view name,
                                                       uint32_t starvation_limit) {
  if (starvation_limit == 0) {
    throw BadInput("scheduling policy '{}': a starvation limit of 0; it is at least 1", name);
  }
  if (name == "fifo") return std::make_unique<Fifo>();
  if (name == "round_robin") return std::make_unique<RoundRobin>();
  if (name == "priority") return std::make_unique<Priority>(starvation_limit);
  if (name == "drain_one_first") return std::make_unique<DrainOneFirst>(starvation_limit);
  if (name == "fair") return std::make_unique<Fair>(starvation_limit);
  throw BadInput("no scheduling policy '{}'; there are: {}", name,
                 Joined(SchedulingPolicyNames(), ", "));
}

std::vector<std::string> SchedulingPolicyNames() {
  return {"fifo", "round_robin", "priority", "drain_one_first", "fair"};
}

}  // namespace spyre::flex
