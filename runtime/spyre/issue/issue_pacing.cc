// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/issue/issue_pacing.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::runtime {
namespace {

constexpr const char* kNames[] = {"immediate", "batched", "rate_limited", "interleaved"};
constexpr uint64_t kPsPerMs = 1'000'000'000;
constexpr uint32_t kMostTasksPerMs = 1'000'000;

}  // namespace

const char* Name(IssueTiming timing) { return kNames[static_cast<size_t>(timing)]; }

std::vector<std::string> IssueTimingNames() { return {std::begin(kNames), std::end(kNames)}; }

std::vector<size_t> InterleavedOrder(const std::vector<InterleavedTask>& tasks, size_t group) {
  std::vector<size_t> order;
  order.reserve(tasks.size());
  std::vector<bool> issued(tasks.size(), false);
  for (size_t begin = 0; begin < tasks.size(); begin += group) {
    const size_t end = std::min(tasks.size(), begin + group);
    std::vector<size_t> turns;  // streams
    std::map<size_t, std::deque<size_t>> waiting;
    for (size_t i = begin; i < end; ++i) {
      std::deque<size_t>& queue = waiting[tasks[i].stream];
      if (queue.empty()) turns.push_back(tasks[i].stream);
      queue.push_back(i);
    }
    // Each round issues at least the earliest task that is left: what it waits for came before it.
    while (order.size() < end) {
      for (const size_t stream : turns) {
        std::deque<size_t>& queue = waiting[stream];
        if (queue.empty()) continue;
        const std::vector<size_t>& after = tasks[queue.front()].after;
        if (!AllFit(after, [&](size_t i) { return issued[i]; })) continue;
        issued[queue.front()] = true;
        order.push_back(queue.front());
        queue.pop_front();
      }
    }
  }
  return order;
}

IssuePacer::IssuePacer(flex::RuntimeContext& context, const IssuePacing& pacing)
    : context_(context), pacing_(pacing) {
  if (pacing.batch < 1) throw BadInput("issue in batches of 0 tasks; a batch has at least 1");
  if (pacing.tasks_per_ms < 1 || pacing.tasks_per_ms > kMostTasksPerMs) {
    throw BadInput("issue of {} tasks a millisecond; there may be 1 to {}", pacing.tasks_per_ms,
                   kMostTasksPerMs);
  }
}

IssuePacer::~IssuePacer() {
  if (!open_) return;
  try {
    Flush();
  } catch (const Error&) {
    // The streams keep the error for those who wait for them.
    open_ = false;
  }
}

void IssuePacer::Begin() {
  switch (pacing_.timing) {
    case IssueTiming::kImmediate:
      break;
    case IssueTiming::kBatched:
    case IssueTiming::kInterleaved:
      if (!open_) {
        const auto lock = context_.Lock();
        context_.scheduler().BeginBatch();
        open_ = true;
      }
      break;
    case IssueTiming::kRateLimited: {
      const uint64_t now = context_.NowPs();
      if (now < next_ps_) context_.device().Charge(static_cast<double>(next_ps_ - now) / 1000);
      next_ps_ = std::max(now, next_ps_) + kPsPerMs / pacing_.tasks_per_ms;
      break;
    }
  }
}

void IssuePacer::End() {
  if (open_ && ++collected_ >= pacing_.batch) Flush();
}

void IssuePacer::Flush() {
  if (!open_) return;
  open_ = false;
  collected_ = 0;
  const auto lock = context_.Lock();
  context_.scheduler().EndBatch();
}

}  // namespace spyre::runtime
