// SPDX-License-Identifier: Apache-2.0
// The functional half of a job: every copy and every sum, done by a worker thread while the kernel
// thread works out times. What can be seen of LX and device memory is that of the order in which
// the model issues work, which is the order of a card without the queue: data are the same bits
// with any number of threads, and whatever their speed. Nothing here knows simulated time.
//
// Work names the ranges of LX that it touches. That lets the worker keep what a multicast brings
// once for all members (lx_snapshots.h), and put matmuls off until those of other cores with the
// same weights are there (matmul_stacker.h).
//
// Push, Broadcast, Matmul and Join: kernel thread only. Work may touch LX and device memory, and
// nothing that changes before it is joined; who reads or writes those two directly joins first, and
// has pushed work before that touches what it reads or writes of LX. The worker starts with the
// first work; a host with one processor has none, and whoever pushes does the work itself.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "model/common/lx_snapshots.h"
#include "model/common/matmul_stacker.h"

namespace spyre::model {

// The ranges that a piece of work touches.
class LxRanges {
 public:
  static constexpr size_t kMost = 3;

  LxRanges() = default;
  LxRanges(std::initializer_list<LxRange> ranges) {
    for (const LxRange& range : ranges) Add(range);
  }
  void Add(const LxRange& range) { ranges_[count_++] = range; }  // kMost times
  const LxRange* begin() const { return ranges_.data(); }
  const LxRange* end() const { return ranges_.data() + count_; }

 private:
  std::array<LxRange, kMost> ranges_;
  size_t count_ = 0;
};

class FunctionalQueue {
 public:
  // The largest closure: operands of a vector instruction.
  static constexpr size_t kWorkBytes = 120;

  // 0: none, work is done at the push. 1: the worker. 2: a helper does part of large matmuls.
  static unsigned ThreadsOfHost();
  explicit FunctionalQueue(unsigned threads = ThreadsOfHost());
  ~FunctionalQueue();  // joins
  FunctionalQueue(const FunctionalQueue&) = delete;
  FunctionalQueue& operator=(const FunctionalQueue&) = delete;

  // [base, base + bytes) is an LX. Before any work.
  void AddLx(uint8_t* base, uint64_t bytes) { snapshots_.AddLx(base, bytes); }

  // Does `work()`, which touches `ranges` and no other bytes of any LX, after all that has been
  // pushed before. It must not throw. Waits while the queue is full.
  template <typename Work>
  void Push(const LxRanges& ranges, const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= kWorkBytes,
                  "work is kept as bytes in the queue");
    if (threads_ == 0) {
      Prepare(ranges);
      work();
      return;
    }
    Entry& entry = NextFree();
    entry.ranges = ranges;
    new (entry.work) Work(work);
    entry.run = [](const void* bytes) { (*static_cast<const Work*>(bytes))(); };
    Publish();
  }
  // As Push, for work that replaces every byte of `range` and touches no other.
  template <typename Work>
  void Overwrite(const LxRange& range, const Work& work) {
    Push({}, [this, range, work] {
      stacker_.Before(range);
      snapshots_.Drop(range);
      work();
    });
  }
  // The `bytes` bytes at `from` come to each of to[0 .. count), which may be `from` itself. Lists
  // are copied.
  void Broadcast(const uint8_t* from, uint64_t bytes, uint8_t* const* to, size_t count);
  // A MATMUL on SEN169_FP16 operands, by `kernel`.
  void Matmul(const PtOperands& operands, PtStackFn kernel) {
    Push({}, [this, operands, kernel] { stacker_.Add(operands, kernel); });
  }
  // Returns when all that has been pushed is done.
  void Join();

 private:
  struct Entry {
    void (*run)(const void* work);
    LxRanges ranges;
    alignas(std::max_align_t) unsigned char work[kWorkBytes];
  };
  static constexpr uint64_t kEntries = 4096;
  static constexpr uint64_t kNobody = UINT64_MAX;
  static constexpr size_t kTargets = 8;
  // Up to kTargets targets of a broadcast.
  struct BroadcastPart {
    FunctionalQueue* queue;
    const uint8_t* from;
    uint64_t bytes;
    uint32_t members;  // of all parts
    std::array<uint8_t*, kTargets> to;
    uint16_t targets;
    bool first, last;
    void operator()() const;
  };

  Entry& NextFree();
  void Publish();
  void WaitFor(uint64_t done);  // until that many are done
  void Work();                  // the worker
  uint64_t AwaitWork(uint64_t done);
  // Ranges are in place, and nothing that was put off touches them.
  void Prepare(const LxRanges& ranges) {
    for (const LxRange& range : ranges) {
      stacker_.Before(range);
      snapshots_.Settle(range);
    }
  }

  const unsigned threads_;
  uint64_t issued_ = 0;  // the kernel thread's own count
  uint64_t joined_ = 0;  // of which it has waited for
  std::vector<Entry> entries_;
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> awaited_{kNobody};  // what the kernel thread sleeps for, of done_
  std::atomic<bool> asleep_{false};         // the worker
  std::mutex mutex_;                        // for sleeping only
  std::condition_variable work_, progress_;
  bool stop_ = false;
  // The worker's, after AddLx.
  LxSnapshots snapshots_;
  MatmulStacker stacker_;
  LxSnapshots::Snapshot* broadcast_ = nullptr;  // that the entries at hand carry on
  std::thread worker_;
};

}  // namespace spyre::model
