// SPDX-License-Identifier: Apache-2.0
// When the host hands tasks to the card: one by one, in groups with one doorbell, at most so many a
// millisecond, or by turns of the streams. Used by the issuers, and by callers that enqueue on
// streams themselves.
//
//   IssuePacer pacer(context, pacing);
//   pacer.Begin();  enqueue one task;  pacer.End();
//   pacer.Flush();  before anything that waits for the card
//
// Threads: as the context. The context must outlive it. Errors: what the runtime reports when
// collected operations enter the ring.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/issue/issue_options.h"

namespace spyre::runtime {

// What interleaved issue needs to know of a task.
struct InterleavedTask {
  size_t stream = 0;
  std::vector<size_t> after;  // positions of earlier tasks that it waits for
};

// Positions in the order in which they are issued. Groups of `group` tasks go one after the other;
// in a group the streams, by their first task in it, take turns with one task each. A stream whose
// next task waits for one that has not been issued misses its turn. Tasks of a stream keep their
// order. group: at least 1.
std::vector<size_t> InterleavedOrder(const std::vector<InterleavedTask>& tasks, size_t group);

class IssuePacer {
 public:
  // Throws BadInput for a number out of range.
  IssuePacer(flex::RuntimeContext& context, const IssuePacing& pacing);
  ~IssuePacer();
  IssuePacer(const IssuePacer&) = delete;
  IssuePacer& operator=(const IssuePacer&) = delete;

  void Begin();
  void End();
  void Flush();

 private:
  flex::RuntimeContext& context_;
  const IssuePacing pacing_;
  uint32_t collected_ = 0;  // tasks of the open group
  bool open_ = false;
  uint64_t next_ps_ = 0;  // the next task is issued then, or later
};

}  // namespace spyre::runtime
