#include "runtime/flex/scheduling_policy.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "model/contract/error.h"

namespace spyre::flex {
namespace {

class Fifo : public SchedulingPolicy {
 public:
  const char* name() const override { return "fifo"; }
  uint32_t Pick(const std::vector<ReadyStream>& ready) override {
    const auto oldest = std::min_element(
        ready.begin(), ready.end(),
        [](const auto& a, const auto& b) { return a.oldest_arrival < b.oldest_arrival; });
    return oldest->index;
  }
};

class RoundRobin : public SchedulingPolicy {
 public:
  const char* name() const override { return "round_robin"; }
  uint32_t Pick(const std::vector<ReadyStream>& ready) override {
    const bool high =
        std::any_of(ready.begin(), ready.end(), [](const auto& s) { return s.high_priority; });
    // The first of the class after the last one picked, else the first of the class, which exists.
    auto next = std::find_if(ready.begin(), ready.end(), [&](const auto& s) {
      return s.high_priority == high && any_picked_ && s.index > last_;
    });
    if (next == ready.end()) {
      next = std::find_if(ready.begin(), ready.end(),
                          [&](const auto& s) { return s.high_priority == high; });
    }
    last_ = ready.at(static_cast<size_t>(next - ready.begin())).index;
    any_picked_ = true;
    return last_;
  }

 private:
  uint32_t last_ = 0;
  bool any_picked_ = false;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> MakeSchedulingPolicy(std::string_view name) {
  if (name == "fifo") return std::make_unique<Fifo>();
  if (name == "round_robin") return std::make_unique<RoundRobin>();
  throw BadInput("no scheduling policy '{}'; there are: {}", name,
                 fmt::join(SchedulingPolicyNames(), ", "));
}

std::vector<std::string> SchedulingPolicyNames() { return {"fifo", "round_robin"}; }

}  // namespace spyre::flex
