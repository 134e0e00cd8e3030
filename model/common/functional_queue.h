// SPDX-License-Identifier: Apache-2.0
// The functional half of a job: every copy and every sum, in the order in which the model issues
// them, done by one worker thread while the kernel thread works out times. That order is the order
// of a card without the queue, so data are the same bits with and without the thread, and whatever
// the thread's speed. Nothing here knows simulated time.
//
// Push and Join: kernel thread only. Work may touch LX and device memory, and nothing that changes
// before it is joined; who reads or writes those two directly joins first. The worker starts with
// the first Push; a host with one processor has none, and Push does the work itself.
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

namespace spyre::model {

class FunctionalQueue {
 public:
  // The largest closure: operands of a vector instruction.
  static constexpr size_t kWorkBytes = 120;

  explicit FunctionalQueue(bool threaded = std::thread::hardware_concurrency() > 1)
      : threaded_(threaded) {}
  ~FunctionalQueue();  // joins
  FunctionalQueue(const FunctionalQueue&) = delete;
  FunctionalQueue& operator=(const FunctionalQueue&) = delete;

  // Does `work()` after all that has been pushed before. It must not throw. Waits while the queue
  // is full.
  template <typename Work>
  void Push(const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= kWorkBytes,
                  "work is kept as bytes in the queue");
    if (!threaded_) {
      work();
      return;
    }
    Entry& entry = NextFree();
    new (entry.work) Work(work);
    entry.run = [](const void* bytes) { (*static_cast<const Work*>(bytes))(); };
    Publish();
  }
  // Returns when all that has been pushed is done.
  void Join() { WaitFor(issued_); }

 private:
  struct Entry {
    void (*run)(const void* work);
    alignas(std::max_align_t) unsigned char work[kWorkBytes];
  };
  static constexpr uint64_t kEntries = 4096;
  static constexpr uint64_t kNobody = UINT64_MAX;

  Entry& NextFree();
  void Publish();
  void WaitFor(uint64_t done);  // until that many are done
  void Work();                  // the worker
  uint64_t AwaitWork(uint64_t done);

  const bool threaded_;
  uint64_t issued_ = 0;  // the kernel thread's own count
  std::unique_ptr<Entry[]> entries_;
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> awaited_{kNobody};  // what the kernel thread sleeps for, of done_
  std::atomic<bool> asleep_{false};         // the worker
  std::mutex mutex_;                        // for sleeping only
  std::condition_variable work_, progress_;
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace spyre::model
