// SPDX-License-Identifier: Apache-2.0
// Work of the host split over its processors. Not for anything that simulates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace spyre::cosim {

// Runs work(begin, end) on parts of [0, count); parts begin at multiples of `grain`. Returns when
// all are done. `work` must not throw.
inline void ParallelFor(int64_t count, int64_t grain,
                        const std::function<void(int64_t, int64_t)>& work) {
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t threads =
      std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(grains, 1));
  const auto edge = [&](int64_t part) { return std::min(count, grains * part / threads * grain); };
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  for (int64_t part = 1; part < threads; ++part)
    others.emplace_back([&, part] { work(edge(part), edge(part + 1)); });
  work(0, edge(1));
  for (std::thread& thread : others) thread.join();
}

}  // namespace spyre::cosim
