// SPDX-License-Identifier: Apache-2.0
#include "model/common/functional_queue.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "model/common/lx_snapshots.h"
#include "model/common/matmul_stacker.h"

namespace spyre::model {

namespace {
// Work comes in bursts a few microseconds apart; sleeping and waking costs as much.
constexpr int kSpins = 200;
// What a worker that sleeps is woken for: less takes no longer than waking it does.
constexpr uint64_t kWakingWork = 64;

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

// The worker's, after AddLx.
struct FunctionalQueue::Data {
  // Up to kTargets targets of a broadcast. The first part takes the snapshot, the last lets it go.
  struct Part {
    static constexpr size_t kTargets = 8;
    Data* data;
    const uint8_t* from;
    uint64_t bytes;
    uint32_t members;  // of all parts
    uint16_t targets;
    bool first, last;
    std::array<uint8_t*, kTargets> to;
    void operator()() const { data->Broadcast(*this); }
  };

  explicit Data(bool helper) : stacker(snapshots, helper) {}
  void Broadcast(const Part& part);
  void Settle(const LxRange& range) {
    stacker.Before(range);
    snapshots.Settle(range);
  }
  void Drop(const LxRange& range) {
    stacker.Before(range);
    snapshots.Drop(range);
  }

  LxSnapshots snapshots;
  MatmulStacker stacker;
  LxSnapshots::Snapshot* broadcast = nullptr;  // that the part at hand goes on with
};

FunctionalQueue::FunctionalQueue(unsigned threads)
    : threads_(threads), data_(std::make_unique<Data>(threads > 1)) {}

FunctionalQueue::~FunctionalQueue() {
  Join();
  if (!worker_.joinable()) return;
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

void FunctionalQueue::Join() {
  if (issued_ == joined_ && threads_ > 0) return;
  Push({}, [this] { data_->stacker.RunAll(); });
  joined_ = issued_;
  if (!WorkInstead()) WaitFor(issued_);
}

void FunctionalQueue::AddLx(const LxRange& lx) { data_->snapshots.AddLx(lx.at, lx.bytes); }

void FunctionalQueue::Prepare(const LxRanges& ranges) {
  for (const LxRange& range : ranges) data_->Settle(range);
}
void FunctionalQueue::PrepareOverwrite(const LxRange& range) { data_->Drop(range); }

void FunctionalQueue::Matmul(const PtOperands& operands, const PtKernel& kernel) {
  Push({},
       [data = data_.get(), operands, kernel = &kernel] { data->stacker.Add(operands, *kernel); });
  if (threads_ > 0) Wake();
}

void FunctionalQueue::Broadcast(const uint8_t* from, uint64_t bytes, uint8_t* const* to,
                                size_t count) {
  constexpr size_t kTargets = Data::Part::kTargets;
  for (size_t at = 0; at < count; at += kTargets) {
    Data::Part part{};
    part.data = data_.get();
    part.from = from;
    part.bytes = bytes;
    part.members = static_cast<uint32_t>(count);
    part.targets = static_cast<uint16_t>(std::min(kTargets, count - at));
    part.first = at == 0;
    part.last = at + kTargets >= count;
    std::copy_n(to + at, part.targets, part.to.begin());
    Push({}, part);
  }
}

void FunctionalQueue::Data::Broadcast(const Part& part) {
  const bool worth =
      part.bytes >= LxSnapshots::kLeastBytes && part.bytes <= LxSnapshots::kMostBytes;
  if (part.first) {
    Settle({const_cast<uint8_t*>(part.from), part.bytes});
    if (worth) broadcast = snapshots.Take(part.from, part.bytes, part.members);
  }
  for (size_t i = 0; i < part.targets; ++i) {
    const LxRange range{part.to[i], part.bytes};
    const int lx = snapshots.LxOf(range.at);
    if (worth && lx != LxSnapshots::kNoLx) {
      stacker.Before(range);
      snapshots.Note(lx, range, broadcast);
    } else if (range.at != part.from) {
      Drop(range);
      std::memcpy(range.at, worth ? broadcast->bytes.data() : part.from, part.bytes);
    }
  }
  if (part.last && worth) snapshots.Release(broadcast);
}

// Both sides write their own count, then read whether the other sleeps; sequential consistency
// makes one of them see the other.
void FunctionalQueue::Publish() {
  pushed_.store(++issued_);
  if (asleep_.load() && issued_ - done_.load() >= kWakingWork) Wake();
}

void FunctionalQueue::Wake() {
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

void FunctionalQueue::Run(const Entry& entry) {
  Prepare(entry.ranges);
  entry.run(entry.work);
}

// Whoever has the mutex while the worker sleeps is the one thread that does work.
bool FunctionalQueue::WorkInstead() {
  if (!asleep_.load()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!asleep_.load()) return false;  // it has been woken, and waits for the mutex
  for (uint64_t done = done_.load(); done != issued_; done_.store(++done))
    Run(entries_[done % kEntries]);
  return true;
}

void FunctionalQueue::Work() {
  for (;;) {
    const uint64_t pushed = AwaitWork();
    uint64_t done = done_.load();
    if (pushed == done) return;
    while (done != pushed) {
      Run(entries_[done % kEntries]);
      done_.store(++done);
      if (done < awaited_.load()) continue;
      { const std::lock_guard<std::mutex> lock(mutex_); }
      progress_.notify_one();
    }
  }
}

// How much has been pushed, when that is more than is done; as much as is done at the end.
uint64_t FunctionalQueue::AwaitWork() {
  const uint64_t done = done_.load();
  for (int spin = 0; spin < kSpins; ++spin) {
    const uint64_t pushed = pushed_.load(std::memory_order_acquire);
    if (pushed != done) return pushed;
    Relax();
  }
  data_->stacker.RunAll();  // there is time
  std::unique_lock<std::mutex> lock(mutex_);
  work_.wait(lock, [&] {
    // At every look: whoever woke us has cleared it, maybe for work that we had found by ourselves.
    asleep_.store(true);
    return stop_ || pushed_.load() != done_.load();
  });
  asleep_.store(false);
  return pushed_.load();
}

}  // namespace spyre::model
