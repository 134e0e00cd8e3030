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

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>

#include "model/common/lx_range.h"

namespace spyre::model {

struct PtKernel;
struct PtOperands;

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

  // All bytes of an LX. Before any work.
  void AddLx(const LxRange& lx);

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
      PrepareOverwrite(range);
      work();
    });
  }
  // The `bytes` bytes at `from` come to each of to[0 .. count), which may be `from` itself. Lists
  // are copied.
  void Broadcast(const uint8_t* from, uint64_t bytes, uint8_t* const* to, size_t count);
  // A MATMUL on SEN169_FP16 operands. The kernel outlives the queue.
  void Matmul(const PtOperands& operands, const PtKernel& kernel);
  // Returns when all that has been pushed is done, by whichever thread.
  void Join();

 private:
  struct Entry {
    void (*run)(const void* work);
    LxRanges ranges;
    alignas(std::max_align_t) unsigned char work[kWorkBytes];
  };
  static constexpr uint64_t kEntries = 4096;
  static constexpr uint64_t kNobody = UINT64_MAX;
  struct Data;  // what the worker keeps about LXs

  Entry& NextFree();
  void Publish();
  void Wake();                  // the worker, if it sleeps
  void WaitFor(uint64_t done);  // until that many are done
  bool WorkInstead();           // does what is left, unless the worker is awake: then false
  void Work();                  // the worker
  uint64_t AwaitWork();
  void Run(const Entry& entry);
  // For work that comes next: ranges are in place, and nothing that was put off touches them.
  void Prepare(const LxRanges& ranges);
  void PrepareOverwrite(const LxRange& range);

  const unsigned threads_;
  uint64_t issued_ = 0;  // the kernel thread's own count
  uint64_t joined_ = 0;  // of which it has waited for
  std::unique_ptr<Entry[]> entries_;
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> awaited_{kNobody};  // what the kernel thread sleeps for, of done_
  std::atomic<bool> asleep_{false};         // the worker
  std::mutex mutex_;                        // for sleeping only
  std::condition_variable work_, progress_;
  bool stop_ = false;
  const std::unique_ptr<Data> data_;
  std::thread worker_;
};

}  // namespace spyre::model
