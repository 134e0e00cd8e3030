#include "cosim/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>

#include "model/contract/error.h"

namespace spyre::cosim {
namespace {

// The first byte of what a child says: the kind of its error, or that there was none.
constexpr char kDone = 'd';
constexpr char kFirstKind = '0';

std::string Answer(const std::function<std::string()>& work) {
  const auto failure = [](ErrorKind kind, const char* what) {
    return static_cast<char>(kFirstKind + static_cast<int>(kind)) + std::string(what);
  };
  try {
    return kDone + work();
  } catch (const Error& error) {
    return failure(error.kind(), error.what());
  } catch (const std::exception& error) {
    return failure(ErrorKind::kInternal, error.what());
  }
}

void WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written <= 0) return;  // the parent has gone
    done += static_cast<size_t>(written);
  }
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t n; (n = read(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

// A child at work; `Take` must be called once.
class Child {
 public:
  explicit Child(const std::function<std::string()>& work) {
    int ends[2];
    if (pipe(ends) != 0) throw Error(ErrorKind::kInternal, "no pipe to a child process");
    std::fflush(nullptr);
    process_ = fork();
    if (process_ < 0) {
      close(ends[0]);
      close(ends[1]);
      throw Error(ErrorKind::kInternal, "no child process");
    }
    if (process_ == 0) {
      close(ends[0]);
      WriteAll(ends[1], Answer(work));
      std::fflush(nullptr);
      _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    answer_ = ends[0];
  }

  std::string Take() const {
    const std::string answer = ReadAll(answer_);
    close(answer_);
    int status = 0;
    waitpid(process_, &status, 0);
    if (answer.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
      throw Error(ErrorKind::kInternal,
                  WIFSIGNALED(status)
                      ? fmt::format("the child process was ended by signal {}", WTERMSIG(status))
                      : "the child process ended without an answer");
    }
    if (answer[0] != kDone) {
      throw Error(static_cast<ErrorKind>(answer[0] - kFirstKind), answer.substr(1));
    }
    return answer.substr(1);
  }

 private:
  pid_t process_ = -1;
  int answer_ = -1;
};

}  // namespace

std::string RunInChild(const std::function<std::string()>& work) { return Child(work).Take(); }

std::vector<std::string> RunInChildren(const std::vector<std::function<std::string()>>& works,
                                       size_t at_once) {
  std::deque<Child> running;
  std::vector<std::string> answers;
  std::optional<Error> first;
  const auto take = [&] {
    answers.emplace_back();
    try {
      answers.back() = running.front().Take();
    } catch (const Error& error) {
      if (!first) first = error;
    }
    running.pop_front();
  };
  for (const auto& work : works) {
    if (running.size() == std::max<size_t>(at_once, 1)) take();
    running.emplace_back(work);
  }
  while (!running.empty()) take();
  if (first) throw *first;
  return answers;
}

}  // namespace spyre::cosim
