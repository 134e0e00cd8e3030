// SPDX-License-Identifier: Apache-2.0
// "sweep: 12 of 500 points, about 2 min left", one line that is written over on a terminal, at
// most ten times a second. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>

namespace spyre::cosim {

class TrialProgress {
 public:
  // command: for the beginning of the line. Nothing is shown where standard error is not a
  // terminal.
  TrialProgress(std::string command, size_t total, std::ostream& messages);
  ~TrialProgress();  // takes the line away
  TrialProgress(const TrialProgress&) = delete;
  TrialProgress& operator=(const TrialProgress&) = delete;

  void Ended();  // one more

 private:
  std::string command_;
  size_t total_, done_ = 0;
  std::ostream& messages_;
  bool shown_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point written_;
};

}  // namespace spyre::cosim
