// SPDX-License-Identifier: Apache-2.0
// libspyre_exit.so: `spyre-cosim exec` has it loaded before everything else, so that a program that
// ends by _exit, as Python's os._exit does, writes its report as one that returns. libflex.so says
// what is to be done first, if it finds this library in its process.
//
// Only the process that has registered does it: children that were forked end by _exit as a rule,
// and those of vfork share this memory.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<void (*)()> before = nullptr;
std::atomic<pid_t> process = 0;

[[noreturn]] void End(int status) {
  if (getpid() == process) {
    if (void (*const finish)() = before.exchange(nullptr)) finish();
  }
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void spyre_before_exit(void (*finish)()) {
  before = finish;
  process = getpid();
}

// NOLINTBEGIN(bugprone-reserved-identifier): the names are those of the system.
__attribute__((visibility("default"))) void _exit(int status) { End(status); }
__attribute__((visibility("default"))) void _Exit(int status) noexcept { End(status); }
// NOLINTEND(bugprone-reserved-identifier)
}
