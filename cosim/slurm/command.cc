// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"

namespace spyre::cosim {
namespace {

// Both ends are closed at the end, and in programs that are started.
struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw BadInput("cannot make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    for (size_t end = 0; end < ends.size(); ++end) Close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void Close(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }

  std::array<int, 2> ends = {-1, -1};  // to read from, to write to
};

struct SpawnSettings {
  SpawnSettings(const Pipe& out, const Pipe& err) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// A signal that comes between looking for one and waiting would be overslept. So they are held
// back, and come while ppoll waits with the mask of before.
struct SignalsOnlyInPoll {
  SignalsOnlyInPoll() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGALRM}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before);
  }
  ~SignalsOnlyInPoll() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsOnlyInPoll(const SignalsOnlyInPoll&) = delete;
  SignalsOnlyInPoll& operator=(const SignalsOnlyInPoll&) = delete;

  sigset_t before{};
};

int Await(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Reads until all writers have closed both.
void ReadAll(Pipe& out, Pipe& err, CommandResult& result, bool may_interrupt) {
  const std::array<std::pair<Pipe*, std::string*>, 2> sources = {
      {{&out, &result.out}, {&err, &result.err}}};
  const SignalsOnlyInPoll signals;
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    if (may_interrupt) ThrowIfInterrupted();
    std::array<pollfd, 2> files = {{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    if (ppoll(files.data(), files.size(), nullptr, &signals.before) < 0) continue;  // by a signal
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t count = read(files[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        sources[i].second->append(buffer.data(), static_cast<size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        sources[i].first->Close(0);
      }
    }
  }
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& words, bool may_interrupt) {
  Pipe out, err;
  CommandResult result;
  pid_t process = -1;
  {
    const SpawnSettings settings(out, err);
    std::vector<std::string> copies = words;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = posix_spawnp(&process, arguments[0], &settings.actions, &settings.attributes,
                                   arguments.data(), environ);
    if (error == ENOENT) {
      result.is_there = false;
      return result;
    }
    if (error != 0) throw BadInput("cannot start {}: {}", words[0], std::strerror(error));
  }
  out.Close(1);
  err.Close(1);
  try {
    ReadAll(out, err, result, may_interrupt);
  } catch (...) {
    kill(-process, SIGKILL);
    Await(process);
    throw;
  }
  result.status = Await(process);
  return result;
}

}  // namespace spyre::cosim
