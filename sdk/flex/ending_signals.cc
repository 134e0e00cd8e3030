// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/ending_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

namespace spyre::sdk {
namespace {

constexpr std::array<int, 3> kSignals = {SIGTERM, SIGHUP, SIGINT};

pid_t process = 0;
int told = -1;  // the end of a pipe that the handler writes to
std::atomic<bool> ending = false;

void EndBy(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  kill(getpid(), signal);
}

// Does nothing but what a handler may.
void Tell(int signal) {
  const int error = errno;
  const auto number = static_cast<unsigned char>(signal);
  if (getpid() != process || ending.exchange(true) || write(told, &number, 1) != 1) EndBy(signal);
  errno = error;
}

void Wait(int tells, void (*finish)()) {
  unsigned char number = 0;
  while (read(tells, &number, 1) != 1) {
    if (errno != EINTR) return;
  }
  finish();
  EndBy(number);
}

}  // namespace

void FinishOnSignals(void (*finish)()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;  // then signals do what they did
  process = getpid();
  told = ends[1];
  sigset_t all, before;  // the thread takes no signals, which are for the program's own
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(Wait, ends[0], finish).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_handler = Tell;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace spyre::sdk
