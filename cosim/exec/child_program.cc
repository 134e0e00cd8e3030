// SPDX-License-Identifier: Apache-2.0
#include "cosim/exec/child_program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr std::array<int, 3> kPassedOn = {SIGINT, SIGTERM, SIGHUP};
std::atomic<pid_t> running_program{0};

void PassOn(int signal, siginfo_t* info, void*) {
  // What the terminal sends goes to the program as well.
  const pid_t program = running_program.load();
  if (info->si_code != SI_KERNEL && program > 0) kill(program, signal);
}

// While it lives, signals are the program's.
class PassingOn {
 public:
  PassingOn() {
    struct sigaction action {};
    action.sa_sigaction = PassOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t i = 0; i < kPassedOn.size(); ++i) sigaction(kPassedOn[i], &action, &before_[i]);
  }
  ~PassingOn() {
    running_program = 0;
    for (size_t i = 0; i < kPassedOn.size(); ++i) sigaction(kPassedOn[i], &before_[i], nullptr);
  }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;

 private:
  std::array<struct sigaction, kPassedOn.size()> before_{};
};

}  // namespace

int RunProgram(const std::vector<std::string>& words, const Variables& environment) {
  // The program is looked for in the PATH that it will have, and inherits the rest.
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const PassingOn passing_on;
  // A signal that comes before the program is known waits, here and not in the program.
  sigset_t blocked, before;
  sigemptyset(&blocked);
  for (const int signal : kPassedOn) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t program = 0;
  const int error =
      posix_spawnp(&program, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) running_program = program;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) throw BadInput("{}: cannot be run: {}", words.front(), std::strerror(error));
  int status = 0;
  while (waitpid(program, &status, 0) < 0) {
    if (errno != EINTR) throw BadInput("{}: lost: {}", words.front(), std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void EndProgram() {
  const pid_t program = running_program.load();
  if (program > 0) kill(program, SIGTERM);
}

}  // namespace spyre::cosim
