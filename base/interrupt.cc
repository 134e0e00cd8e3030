// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>

namespace spyre {
namespace {

std::atomic<int> pending_signal{0};
std::atomic<int> last_signal{0};
std::atomic<void (*)()> wake_up{nullptr};
uint64_t limit_of_seconds = 0;

void Catch(int signal) {
  pending_signal = signal;
  if (void (*const wake)() = wake_up) wake();
}

}  // namespace

std::string InterruptionText(int signal) {
  if (signal == SIGALRM) return fmt::format("not done after {} s (--limit)", limit_of_seconds);
  return signal == SIGINT ? "interrupted by SIGINT" : "interrupted by SIGTERM";
}

void CatchInterrupts(uint64_t limit_seconds) {
  struct sigaction action = {};
  action.sa_handler = Catch;
  // Without SA_RESTART, so that waiting calls return; the next signal has its usual effect.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) sigaction(signal, &action, nullptr);
  limit_of_seconds = limit_seconds;
  alarm(static_cast<unsigned>(std::min<uint64_t>(limit_seconds, UINT_MAX)));
}

void OnInterrupt(void (*wake)()) { wake_up = wake; }

void ThrowIfInterrupted() {
  if (pending_signal == 0) return;
  const int signal = pending_signal.exchange(0);
  if (signal == 0) return;
  last_signal = signal;
  throw Interruption(signal, InterruptionText(signal));
}

bool IsInterrupted() { return pending_signal != 0; }

int LastInterruption() { return last_signal; }

}  // namespace spyre
