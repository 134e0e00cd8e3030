// SPDX-License-Identifier: Apache-2.0
// The runtime's lock: a recursive mutex that its owner can give up altogether, however often it has
// locked it, to call the application or to wait for another thread.
//
// Owner: RuntimeContext. Threads: any. A thread that holds it with HoldCalls is asked for no
// callbacks until it lets go (Scheduler).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace spyre::flex {

class RuntimeMutex {
 public:
  void lock() {
    if (Mine()) {
      ++depth_;
      return;
    }
    mutex_.lock();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = 1;
  }
  void unlock() {
    if (--depth_ > 0) return;
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }

  // The owner's: what it does is one piece of work, between whose steps no callback may come.
  void HoldCalls() { ++holds_; }
  void LetCalls() { --holds_; }
  bool holds_calls() const { return holds_ > 0; }

  // Gives the lock up while it lives, and takes it back as it was.
  class Released {
   public:
    explicit Released(RuntimeMutex& mutex)
        : mutex_(mutex),
          depth_(std::exchange(mutex.depth_, 0)),
          holds_(std::exchange(mutex.holds_, 0)) {
      mutex_.owner_.store(std::thread::id(), std::memory_order_relaxed);
      mutex_.mutex_.unlock();
    }
    ~Released() {
      mutex_.mutex_.lock();
      TakeBack();
    }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    void TakeBack() {
      mutex_.owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      mutex_.depth_ = depth_;
      mutex_.holds_ = holds_;
    }
    RuntimeMutex& mutex_;
    int depth_;
    int holds_;
  };

  // The owner waits, with the lock given up, until another thread calls Notify and `done()` is
  // true.
  template <typename Done>
  void WaitUntil(const Done& done) {
    const int depth = std::exchange(depth_, 0);
    const int holds = std::exchange(holds_, 0);
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    {
      std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
      changed_.wait(lock, done);
      lock.release();
    }
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = depth;
    holds_ = holds;
  }
  void Notify() { changed_.notify_all(); }

 private:
  bool Mine() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::thread::id> owner_{};
  int depth_ = 0;  // how often the owner has locked it
  int holds_ = 0;
};

}  // namespace spyre::flex
