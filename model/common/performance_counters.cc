// SPDX-License-Identifier: Apache-2.0
#include "model/common/performance_counters.h"

#include "base/ranges.h"

namespace spyre::model {

namespace {

WorkDone Since(const WorkDone& now, const WorkDone& before) {
  return {now.bytes_read - before.bytes_read, now.bytes_written - before.bytes_written,
          now.macs - before.macs, now.fp16_macs - before.fp16_macs};
}

}  // namespace

PerformanceCounters::PerformanceCounters(unsigned functions, uint64_t macs_per_cycle)
    : macs_per_cycle_(macs_per_cycle), functions_(functions) {}

void PerformanceCounters::Add(WorkDone& sum, const WorkDone& more) {
  sum.bytes_read += more.bytes_read;
  sum.bytes_written += more.bytes_written;
  sum.macs += more.macs;
  sum.fp16_macs += more.fp16_macs;
}

void PerformanceCounters::BeginIn(Group& group, uint64_t now_ps) {
  ++group.values[PerformanceCounter::kOperations];
  if (group.operations_running++ == 0) group.busy_since_ps = now_ps;
}

void PerformanceCounters::EndIn(Group& group, uint64_t now_ps) {
  if (--group.operations_running == 0)
    group.values[PerformanceCounter::kBusy] += now_ps - group.busy_since_ps;
}

void PerformanceCounters::Begin(unsigned function, const WorkDone& work, uint64_t now_ps) {
  if (on_begin_) on_begin_();
  running_.push_back({function, &work, {}, false});
  BeginIn(functions_[function], now_ps);
  BeginIn(card_, now_ps);
}

void PerformanceCounters::End(const WorkDone& work, uint64_t now_ps) {
  const auto ended =
      FindIf(running_, [&](const Running& running) { return running.work == &work; });
  if (ended == running_.end()) return;
  if (!ended->orphan) {
    Group& group = functions_[ended->function];
    Add(group.work, work);
    EndIn(group, now_ps);
  }
  Add(card_.work, Since(work, ended->counted));
  EndIn(card_, now_ps);
  running_.erase(ended);
}

void PerformanceCounters::Restart(unsigned function, uint64_t /*now_ps*/) {
  if (function >= functions_.size()) return;
  functions_[function] = {};
  for (Running& running : running_) {
    if (running.function == function) running.orphan = true;
  }
}

// Every function has been reset before, so what still runs belongs to none.
void PerformanceCounters::RestartAll(uint64_t now_ps) {
  for (unsigned function = 0; function < functions_.size(); ++function) Restart(function, now_ps);
  const uint64_t still_running = card_.operations_running;
  card_ = {};
  card_.operations_running = still_running;
  card_.busy_since_ps = now_ps;
  for (Running& running : running_) running.counted = *running.work;
}

WorkDone PerformanceCounters::WorkOf(const Group& group) const {
  const bool card = &group == &card_;
  WorkDone work = group.work;
  for (const Running& running : running_) {
    if (card) {
      Add(work, Since(*running.work, running.counted));
    } else if (!running.orphan && &functions_[running.function] == &group) {
      Add(work, *running.work);
    }
  }
  return work;
}

CounterValues PerformanceCounters::ReadGroup(const Group& group, uint64_t now_ps) const {
  using Counter = PerformanceCounter;
  const WorkDone work = WorkOf(group);
  CounterValues values = group.values;
  if (group.operations_running > 0) values[Counter::kBusy] += now_ps - group.busy_since_ps;
  values[Counter::kTime] = now_ps;
  values[Counter::kDeviceRead] = work.bytes_read;
  values[Counter::kDeviceWritten] = work.bytes_written;
  values[Counter::kMacs] = work.macs;
  values[Counter::kPtActive] = work.fp16_macs / macs_per_cycle_;
  return values;
}

CounterValues PerformanceCounters::Read(unsigned function, uint64_t now_ps) const {
  return ReadGroup(functions_[function], now_ps);
}

}  // namespace spyre::model
