// SPDX-License-Identifier: Apache-2.0
// A second thread for the worker of the functional queue: does one piece of work at a time, beside
// the thread that gives it. Start and Wait: one thread only, in turn. The thread starts with the
// first work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace spyre::model {

class HelperThread {
 public:
  HelperThread() = default;
  ~HelperThread() {
    if (!thread_.joinable()) return;
    Start({});
    thread_.join();
  }
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // `work` must not throw. An empty one ends the thread.
  void Start(std::function<void()> work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = std::move(work);
      busy_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
    if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
  }
  // Until the work is done.
  void Wait() {
    Await([this] { return !busy_.load(std::memory_order_acquire); });
  }

 private:
  // Looks for a while before it sleeps: stacks come close behind each other.
  template <typename Condition>
  void Await(Condition condition) {
    constexpr int kLooks = 200;
    for (int look = 0; look < kLooks; ++look) {
      if (condition()) return;
      std::this_thread::yield();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, condition);
  }
  void Work() {
    for (;;) {
      Await([this] { return busy_.load(std::memory_order_acquire); });
      if (!work_) return;
      work_();
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        busy_.store(false, std::memory_order_release);
      }
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  std::atomic<bool> busy_{false};
  std::thread thread_;
};

}  // namespace spyre::model
