// SPDX-License-Identifier: Apache-2.0
// A program that runs beside the test: started, waited for at a condition, signalled. Nothing here
// sleeps; what does not happen ends with the time limit of the test.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace spyre::test {

class RunningProgram {
 public:
  // In `directory`; standard output and error go to `log` there, temporary files to its tmp/.
  RunningProgram(const std::string& directory, std::vector<std::string> words,
                 const std::string& log) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    if (chdir(directory.c_str()) != 0) _exit(127);
    setenv("TMPDIR", (directory + "/tmp").c_str(), 1);
    const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~RunningProgram() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Until `happened` or the program has ended; whether it happened.
  bool Await(const std::function<bool()>& happened) {
    while (!happened()) {
      siginfo_t ended{};
      waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid != 0) return happened();
      std::this_thread::yield();
    }
    return true;
  }
  void Signal(int signal) const { kill(process_, signal); }
  // Its exit status; 256 + the signal that ended it.
  int Join() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
};

}  // namespace spyre::test
