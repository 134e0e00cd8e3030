// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/child_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/interrupt.h"

namespace spyre::cosim {
namespace {

// The first byte of what a child says: the kind of its error, or that there was none. The texts of
// an error follow, each with a zero behind it.
constexpr char kDone = 'd';
constexpr char kFirstKind = '0';

std::string ToBytes(const Error& error) {
  std::string bytes(1, static_cast<char>(kFirstKind + static_cast<int>(error.kind())));
  const std::array<std::string, 4> texts = {error.what(), error.subject(), error.value(),
                                            error.remedy()};
  for (const std::string& text : texts) bytes.append(text, 0, text.find('\0')).push_back('\0');
  return bytes;
}

Error FromBytes(const std::string& bytes) {
  std::array<std::string, 4> texts;
  size_t at = 1;
  for (std::string& text : texts) {
    const size_t from = std::min(at, bytes.size());
    text = bytes.substr(from, bytes.find('\0', from) - from);
    at += text.size() + 1;
  }
  return Error(static_cast<ErrorKind>(bytes[0] - kFirstKind), texts[0])
      .Subject(texts[1])
      .Value(texts[2])
      .Remedy(texts[3]);
}

std::string Answer(const ChildWork& work) {
  try {
    return kDone + work();
  } catch (const Error& error) {
    return ToBytes(error);
  } catch (const std::exception& error) {
    return ToBytes(Error(ErrorKind::kInternal, error.what()));
  }
}

void WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(EXIT_FAILURE);  // the parent has gone
    done += static_cast<size_t>(written);
  }
}

}  // namespace

// Not unnamed, because WaitingChild has one.
namespace child_process {

// A child at work; it is ended with this object.
class Child {
 public:
  Child(const ChildWork& work, size_t number) : number_(number) {
    int ends[2];
    if (pipe(ends) != 0) throw BadInput("cannot make a pipe: {}", std::strerror(errno));
    std::fflush(nullptr);
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) {
      close(ends[0]);
      close(ends[1]);
      throw BadInput("cannot start a process: {}", std::strerror(errno));
    }
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(EXIT_FAILURE);
      close(ends[0]);
      WriteAll(ends[1], Answer(work));
      std::fflush(nullptr);
      _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  ~Child() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    Join();
  }
  Child(Child&& other) noexcept
      : number_(other.number_),
        process_(std::exchange(other.process_, -1)),
        pipe_(other.pipe_),
        received_(std::move(other.received_)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(process_, other.process_);
    std::swap(pipe_, other.pipe_);
    std::swap(received_, other.received_);
    return *this;
  }

  size_t number() const { return number_; }
  int pipe_end() const { return pipe_; }

  // Takes what has come; false when that was all.
  bool Receive() {
    std::array<char, 1 << 16> buffer;
    const ssize_t count = read(pipe_, buffer.data(), buffer.size());
    if (count > 0) received_.append(buffer.data(), static_cast<size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }

  // Once, behind the last Receive.
  ChildResult Take() {
    const int status = Join();
    if (WIFSIGNALED(status)) {
      return {{},
              InternalError("the process was ended by signal {} ({})", WTERMSIG(status),
                            strsignal(WTERMSIG(status)))};
    }
    if (received_.empty() || WEXITSTATUS(status) != EXIT_SUCCESS) {
      return {{}, InternalError("the process ended with status {}", WEXITSTATUS(status))};
    }
    if (received_[0] != kDone) return {{}, FromBytes(received_)};
    return {received_.substr(1), {}};
  }

 private:
  int Join() {
    close(pipe_);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    process_ = -1;
    return status;
  }

  size_t number_;  // of its work
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string received_;
};

}  // namespace child_process

namespace {

using child_process::Child;

// Waits until a child has ended, and takes it out of `children`.
Child AwaitOne(std::vector<Child>& children) {
  for (;;) {
    std::vector<pollfd> files;
    files.reserve(children.size());
    for (const Child& child : children) files.push_back({child.pipe_end(), POLLIN, 0});
    if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR)
      throw InternalError("cannot wait for a process: {}", std::strerror(errno));
    ThrowIfInterrupted();  // the children are ended with `children`
    for (size_t i = 0; i < children.size(); ++i) {
      if (files[i].revents == 0 || children[i].Receive()) continue;
      Child ended = std::move(children[i]);
      children.erase(children.begin() + static_cast<ptrdiff_t>(i));
      return ended;
    }
  }
}

}  // namespace

void ForEachInChildren(const std::function<std::optional<size_t>()>& next, size_t at_once,
                       const std::function<std::string(size_t number)>& work,
                       const std::function<void(size_t number, ChildResult result)>& ended) {
  std::vector<Child> running;
  for (;;) {
    const bool has_room = running.size() < std::max<size_t>(at_once, 1);
    if (const std::optional<size_t> number = has_room ? next() : std::nullopt) {
      running.emplace_back([&work, &number] { return work(*number); }, *number);
      continue;
    }
    if (running.empty()) return;
    Child child = AwaitOne(running);
    const size_t number = child.number();
    ended(number, child.Take());
  }
}

void ForEachInChildren(size_t count, size_t at_once,
                       const std::function<std::string(size_t number)>& work,
                       const std::function<void(size_t number, ChildResult result)>& ended) {
  size_t started = 0;
  ForEachInChildren([&] { return started < count ? std::optional(started++) : std::nullopt; },
                    at_once, work, ended);
}

std::vector<ChildResult> TryInChildren(const std::vector<ChildWork>& works, size_t at_once,
                                       const std::function<void(size_t done)>& progress) {
  std::vector<ChildResult> results(works.size());
  size_t done = 0;
  ForEachInChildren(
      works.size(), at_once, [&works](size_t number) { return works[number](); },
      [&](size_t number, ChildResult result) {
        results[number] = std::move(result);
        ++done;
        if (progress) progress(done);
      });
  return results;
}

class WaitingChild::Impl {
 public:
  explicit Impl(const Work& work) {
    if (pipe(question_) != 0) throw BadInput("cannot make a pipe: {}", std::strerror(errno));
    child_.emplace_back([this, &work] { return work(Question()); }, 0);
    close(std::exchange(question_[0], -1));
  }
  ~Impl() {
    for (const int end : question_)
      if (end >= 0) close(end);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ChildResult Ask(const std::string& question) {
    const int file = std::exchange(question_[1], -1);
    const bool sent = Send(file, question);
    close(file);
    if (!sent) return {{}, InternalError("the process that was to answer has ended")};
    Child child = AwaitOne(child_);
    return child.Take();
  }

 private:
  // A child that has died is no reason to end this process.
  static bool Send(int file, const std::string& text) {
    struct sigaction ignore = {}, before = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t written = write(file, text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    sigaction(SIGPIPE, &before, nullptr);
    return done == text.size();
  }

  // In the child. If nobody will ask, it ends.
  std::string Question() {
    close(question_[1]);
    std::string question;
    std::array<char, 1 << 12> buffer;
    for (;;) {
      const ssize_t count = read(question_[0], buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      question.append(buffer.data(), static_cast<size_t>(count));
    }
    if (question.empty()) _exit(EXIT_SUCCESS);
    return question;
  }

  int question_[2] = {-1, -1};
  std::vector<Child> child_;  // one, until it has been asked
};

WaitingChild::WaitingChild(const Work& work) : impl_(std::make_unique<Impl>(work)) {}
WaitingChild::~WaitingChild() = default;
ChildResult WaitingChild::Ask(const std::string& question) { return impl_->Ask(question); }

std::vector<std::string> RunInChildren(const std::vector<ChildWork>& works, size_t at_once) {
  std::vector<std::string> answers;
  for (ChildResult& result : TryInChildren(works, at_once)) {
    if (result.error) throw *result.error;
    answers.push_back(std::move(result.bytes));
  }
  return answers;
}

std::string RunInChild(const ChildWork& work) { return RunInChildren({work}, 1).front(); }

}  // namespace spyre::cosim
