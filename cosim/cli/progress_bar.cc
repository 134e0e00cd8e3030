// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/terminal.h"

namespace spyre::cosim {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

}  // namespace

std::string ProgressText(const std::string& phase, uint64_t done, uint64_t total, double seconds,
                         size_t width) {
  std::string line = phase;
  if (total > 0) {
    constexpr uint64_t kBar = 30;
    const uint64_t filled = kBar * std::min(done, total) / total;
    line += fmt::format(" [{:#<{}}{:.<{}}] {} of {}", "", filled, "", kBar - filled, done, total);
  }
  // What ends at once needs no time beside it.
  if (seconds >= 1) line += fmt::format(", {:.0f} s", seconds);
  return line.substr(0, width);
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  std::fputs("\r\033[K", stderr);
}

void ProgressBar::Update(const char* phase, uint64_t done, uint64_t total) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ != phase) {
    phase_ = phase;
    phase_start_ = Clock::now();
  }
  done_ = done;
  total_ = total;
  if (!thread_.joinable()) thread_ = std::thread([this] { Draw(); });
}

void ProgressBar::Draw() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kRedraw, [this] { return stop_; })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - phase_start_).count();
    // The last column stays free: some terminals go to the next line there.
    const std::string line =
        ProgressText(phase_, done_, total_, seconds, TerminalWidth(STDERR_FILENO) - 1);
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    std::fflush(stderr);
  }
}

}  // namespace spyre::cosim
