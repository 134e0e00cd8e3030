// SPDX-License-Identifier: Apache-2.0
// Wall time of a scope, for RunResult::wall. Any thread.
#pragma once

#include <chrono>

namespace spyre::cosim {

// Adds the wall time of its life to `seconds`.
class WallTimer {
 public:
  explicit WallTimer(double& seconds) : seconds_(seconds) {}
  ~WallTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  WallTimer(const WallTimer&) = delete;
  WallTimer& operator=(const WallTimer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace spyre::cosim
