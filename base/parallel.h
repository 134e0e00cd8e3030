// SPDX-License-Identifier: Apache-2.0
// Work of the host split over its processors. Not for anything that simulates.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/interrupt.h"

namespace spyre::cosim {

// Runs work(begin, end) on parts of [0, count); parts begin at multiples of `grain`. Returns when
// all are done. Throws Interruption if the command was interrupted, and what `work` throws: then
// not all are done.
inline void ParallelFor(int64_t count, int64_t grain,
                        const std::function<void(int64_t, int64_t)>& work) {
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t threads =
      std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(grains, 1));
  std::atomic<bool> stopped{false};
  std::exception_ptr error;  // the first one
  std::mutex mutex;
  const auto run_part = [&](int64_t thread) {
    constexpr int64_t kPieces = 64;  // of a part: an interruption waits for one
    const int64_t last = grains * (thread + 1) / threads;
    int64_t next = grains * thread / threads;
    const int64_t step = std::max<int64_t>(1, (last - next + kPieces - 1) / kPieces);
    for (; next < last; next += step) {
      if (IsInterrupted()) stopped = true;
      if (stopped) return;
      try {
        work(next * grain, std::min(count, std::min(next + step, last) * grain));
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (error == nullptr) error = std::current_exception();
        stopped = true;
      }
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  for (int64_t thread = 1; thread < threads; ++thread)
    others.emplace_back([&run_part, thread] { run_part(thread); });
  run_part(0);
  for (std::thread& thread : others) thread.join();
  if (error != nullptr) std::rethrow_exception(error);
  if (!stopped) return;
  ThrowIfInterrupted();
  throw Interruption(LastInterruption(), InterruptionText(LastInterruption()));
}

}  // namespace spyre::cosim
