// SPDX-License-Identifier: Apache-2.0
#include "model/common/functional_queue.h"

#include <algorithm>
#include <cstring>

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

// The kernel thread has a processor of its own.
unsigned FunctionalQueue::ThreadsOfHost() {
  return std::clamp(std::thread::hardware_concurrency(), 1U, 3U) - 1;
}

FunctionalQueue::FunctionalQueue(unsigned threads)
    : threads_(threads), stacker_(snapshots_, threads > 1) {}

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
    entries_.resize(kEntries);
    worker_ = std::thread([this] { Work(); });
  }
  // Half of it at once: a thread that wakes for every place would do little else.
  if (issued_ - done_.load(std::memory_order_acquire) == kEntries) WaitFor(issued_ - kEntries / 2);
  return entries_[issued_ % kEntries];
}

void FunctionalQueue::Join() {
  if (issued_ == joined_ && threads_ > 0) return;
  Push({}, [this] { stacker_.RunAll(); });
  joined_ = issued_;
  WaitFor(issued_);
}

void FunctionalQueue::Broadcast(const uint8_t* from, uint64_t bytes, uint8_t* const* to,
                                size_t count) {
  for (size_t at = 0; at < count; at += kTargets) {
    const size_t targets = std::min(kTargets, count - at);
    BroadcastPart part{this,    from,
                       bytes,   static_cast<uint32_t>(count),
                       {},      static_cast<uint16_t>(targets),
                       at == 0, at + targets == count};
    std::copy_n(to + at, targets, part.to.begin());
    Push({}, part);
  }
}

// The first part takes the snapshot, the last lets it go.
void FunctionalQueue::BroadcastPart::operator()() const {
  LxSnapshots& snapshots = queue->snapshots_;
  MatmulStacker& stacker = queue->stacker_;
  const bool worth = bytes >= LxSnapshots::kLeastBytes && bytes <= LxSnapshots::kMostBytes;
  LxSnapshots::Snapshot*& snapshot = queue->broadcast_;
  if (first) {
    const LxRange source{const_cast<uint8_t*>(from), bytes};
    stacker.Before(source);
    snapshots.Settle(source);
    if (worth) snapshot = snapshots.Take(from, bytes, members);
  }
  for (size_t i = 0; i < targets; ++i) {
    const LxRange range{to[i], bytes};
    if (worth && snapshots.LxOf(range.at) != LxSnapshots::kNoLx) {
      stacker.Before(range);
      snapshots.Drop(range);
      snapshots.Note(range, snapshot);
    } else if (range.at != from) {
      stacker.Before(range);
      snapshots.Drop(range);
      std::memcpy(range.at, worth ? snapshot->bytes.data() : from, bytes);
    }
  }
  if (last && worth) snapshots.Release(snapshot);
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
      Prepare(entry.ranges);
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
  stacker_.RunAll();  // there is time
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
