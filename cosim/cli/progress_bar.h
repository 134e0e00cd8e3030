// SPDX-License-Identifier: Apache-2.0
// A bar on standard error that says what a run is at and for how long: redrawn ten times a second
// by a thread of its own, so that it moves where the run has nothing to tell. The thread begins
// with the first Update, so that the process may fork before. Update may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "cosim/session/session.h"

namespace spyre::cosim {

// What the bar shows, in at most `width` columns.
std::string ProgressText(const std::string& phase, uint64_t done, uint64_t total, double seconds,
                         size_t width);

class ProgressBar : public ProgressListener {
 public:
  ~ProgressBar() override;  // clears the line
  void Update(const char* phase, uint64_t done, uint64_t total) override;

 private:
  using Clock = std::chrono::steady_clock;

  void Draw();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string phase_;
  uint64_t done_ = 0, total_ = 0;
  Clock::time_point phase_start_ = Clock::now();
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace spyre::cosim
