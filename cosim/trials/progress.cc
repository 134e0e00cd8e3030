// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ostream>
#include <utility>

namespace spyre::cosim {

TrialProgress::TrialProgress(std::string command, size_t total, std::ostream& messages)
    : command_(std::move(command)),
      total_(total),
      messages_(messages),
      shown_(isatty(STDERR_FILENO) != 0) {}

TrialProgress::~TrialProgress() {
  if (shown_) messages_ << "\r\033[K" << std::flush;
}

void TrialProgress::Ended() {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds kStep{100};  // what nobody can read is not written
  if (!shown_ || now - written_ < kStep) return;
  written_ = now;
  const double passed = std::chrono::duration<double>(now - start_).count();
  const double left = passed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  messages_ << fmt::format("\r\033[K{}: {} of {} points, about {:.0f} {} left", command_, done_,
                           total_, left < 120 ? left : left / 60, left < 120 ? "s" : "min")
            << std::flush;
}

}  // namespace spyre::cosim
