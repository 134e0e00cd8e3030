// Which stream goes next when several have operations queued and the card's ring has room. Small
// classes chosen by name; the Scheduler asks, under the runtime's lock. Deterministic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::flex {

// A stream with at least one operation queued.
struct ReadyStream {
  uint32_t index = 0;
  uint64_t oldest_arrival = 0;  // arrival number of the operation at its head
  bool high_priority = false;
};

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  virtual const char* name() const = 0;
  // `ready` is not empty and ascends by index. Returns the index of one of them.
  virtual uint32_t Pick(const std::vector<ReadyStream>& ready) = 0;
};

// "fifo": in order of arrival over all streams. "round_robin": one operation of each stream in
// turn, streams of high priority before all others. Throws BadInput for another name, listing the
// names.
std::unique_ptr<SchedulingPolicy> MakeSchedulingPolicy(std::string_view name);
std::vector<std::string> SchedulingPolicyNames();

}  // namespace spyre::flex
