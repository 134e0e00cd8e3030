// SPDX-License-Identifier: Apache-2.0
#include "model/common/functional_queue.h"

namespace spyre::model {

namespace {
// Work comes in bursts a few microseconds apart; sleeping and waking costs as much.
constexpr int kSpins = 200;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

FunctionalQueue::~FunctionalQueue() {
  if (!worker_.joinable()) return;
  Join();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  worker_.join();
}

FunctionalQueue::Entry& FunctionalQueue::NextFree() {
  if (!worker_.joinable()) {
    entries_.reset(new Entry[kEntries]);  // touched as it fills
    worker_ = std::thread([this] { Work(); });
  }
  // Half of it at once: a thread that wakes for every place would do little else.
  if (issued_ - done_.load(std::memory_order_acquire) == kEntries) WaitFor(issued_ - kEntries / 2);
  return entries_[issued_ % kEntries];
}

// Both sides write their own count, then read whether the other sleeps; sequential consistency
// makes one of them see the other.
void FunctionalQueue::Publish() {
  pushed_.store(++issued_);
  if (!asleep_.load()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    asleep_.store(false);
  }
  work_.notify_one();
}

void FunctionalQueue::WaitFor(uint64_t done) {
  if (done_.load(std::memory_order_acquire) >= done) return;
  std::unique_lock<std::mutex> lock(mutex_);
  awaited_.store(done);
  progress_.wait(lock, [&] { return done_.load() >= done; });
  awaited_.store(kNobody);
}

void FunctionalQueue::Work() {
  uint64_t done = 0;
  for (;;) {
    const uint64_t pushed = AwaitWork(done);
    if (pushed == done) return;
    while (done != pushed) {
      const Entry& entry = entries_[done % kEntries];
      entry.run(entry.work);
      done_.store(++done);
      if (done < awaited_.load()) continue;
      { const std::lock_guard<std::mutex> lock(mutex_); }
      progress_.notify_one();
    }
  }
}

// How much has been pushed, when that is more than `done`; `done` itself at the end.
uint64_t FunctionalQueue::AwaitWork(uint64_t done) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const uint64_t pushed = pushed_.load(std::memory_order_acquire);
    if (pushed != done) return pushed;
    Relax();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  work_.wait(lock, [&] {
    // At every look: whoever woke us has cleared it, maybe for work that we had found by ourselves.
    asleep_.store(true);
    return stop_ || pushed_.load() != done;
  });
  asleep_.store(false);
  return pushed_.load();
}

}  // namespace spyre::model
