#include "cosim/calibrate.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "cosim/calibrate_report.h"
#include "cosim/session.h"
#include "cosim/workload.h"
#include "model/contract/error.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFailure = 4096;  // characters of a message that a child sends

Error SystemError(const char* what) {
  return Error(ErrorKind::kInternal, fmt::format("{}: {}", what, std::strerror(errno)));
}

// A directory of its own, gone with all in it at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() : path_((fs::temp_directory_path() / "spyre-calibrate-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw BadInput("{}: cannot make the directory: {}", path_, std::strerror(errno));
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

uint64_t KernelPs(const RunResult& result) {
  uint64_t ps = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (result.IsKernel(operation)) ps += operation.finished_ps - operation.started_ps;
  }
  return ps;
}

PointResult RunPoint(const RunConfig& config, const std::string& directory) {
  PointResult result;
  try {
    result.device_ps = KernelPs(RunSession(config, directory));
    if (result.device_ps == 0) result.failure = "the kernel took no time";
  } catch (const std::bad_alloc&) {
    result.failure = "not enough host memory";
  } catch (const std::exception& error) {
    result.failure = std::string(error.what()).substr(0, kMaxFailure);
    if (result.failure.empty()) result.failure = "an error without a message";
  }
  return result;
}

// A point at work in a child process, which writes the time and then the failure to a pipe.
struct Child {
  pid_t pid = -1;
  int pipe = -1;
  size_t point = 0;
  std::string received;
};

void WriteAll(int file, const void* data, size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(EXIT_FAILURE);
    at += written;
    size -= static_cast<size_t>(written);
  }
}

Child StartChild(const RunConfig& config, const std::string& directory, size_t point) {
  int ends[2];
  if (pipe(ends) != 0) throw SystemError("cannot make a pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    throw SystemError("cannot start a process");
  }
  if (pid == 0) {
    // Ends with the parent, however that ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    close(ends[0]);
    const PointResult result = RunPoint(config, directory);
    WriteAll(ends[1], &result.device_ps, sizeof(result.device_ps));
    WriteAll(ends[1], result.failure.data(), result.failure.size());
    _exit(EXIT_SUCCESS);
  }
  close(ends[1]);
  return {pid, ends[0], point, {}};
}

// The result of a child that has closed its pipe.
PointResult Collect(const Child& child) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) continue;
  PointResult result;
  if (WIFSIGNALED(status)) {
    result.failure = fmt::format("the run was ended by signal {} ({})", WTERMSIG(status),
                                 strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != EXIT_SUCCESS || child.received.size() < sizeof(uint64_t)) {
    result.failure = fmt::format("the run ended with status {}", WEXITSTATUS(status));
  } else {
    std::memcpy(&result.device_ps, child.received.data(), sizeof(uint64_t));
    result.failure = child.received.substr(sizeof(uint64_t));
  }
  return result;
}

// Reads what has come from any child; returns the index of one that is done, or children.size().
size_t AwaitChild(std::vector<Child>& children) {
  std::vector<pollfd> files;
  files.reserve(children.size());
  for (const Child& child : children) files.push_back({child.pipe, POLLIN, 0});
  if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR)
    throw SystemError("cannot wait for a process");
  for (size_t i = 0; i < children.size(); ++i) {
    if (files[i].revents == 0) continue;
    char buffer[4096];
    const ssize_t count = read(children[i].pipe, buffer, sizeof(buffer));
    if (count > 0) children[i].received.append(buffer, static_cast<size_t>(count));
    if (count == 0) return i;
  }
  return children.size();
}

// Children that are still there when an exception passes are ended.
class ChildPool {
 public:
  ~ChildPool() {
    for (const Child& child : children_) {
      kill(child.pid, SIGKILL);
      Collect(child);
    }
  }
  void Add(const Child& child) { children_.push_back(child); }
  size_t size() const { return children_.size(); }
  // Waits for one child to be done and puts its result where it belongs.
  void Await(std::vector<PointResult>& results) {
    size_t done = children_.size();
    while (done == children_.size()) done = AwaitChild(children_);
    const Child child = std::move(children_[done]);
    children_.erase(children_.begin() + static_cast<ptrdiff_t>(done));
    results[child.point] = Collect(child);
  }

 private:
  std::vector<Child> children_;
};

RunConfig BaseConfig(const CalibrateOptions& options) {
  std::vector<std::string> sets;
  if (!options.card.empty()) sets.push_back("card.preset=" + TomlString(options.card));
  for (const std::string& set : options.sets) {
    if (set.rfind("workload", 0) == 0) {
      throw BadInput("--set {}: the workload is the calibration point; set card, host or runtime",
                     set);
    }
    sets.push_back(set);
  }
  return LoadConfig("", sets);
}

// "calibrate: 12 of 135 points" on a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(size_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Update(size_t done) const {
    if (shown_) fmt::print(stderr, "\r\033[Kcalibrate: {} of {} points", done, total_);
  }

 private:
  size_t total_;
  bool shown_;
};

}  // namespace

std::vector<PointResult> RunPoints(const RunConfig& base,
                                   const std::vector<CalibrationPoint>& points, int jobs,
                                   const std::function<void(size_t done)>& progress) {
  std::vector<RunConfig> configs;
  for (const CalibrationPoint& point : points) {
    configs.push_back(PointConfig(base, point));
    try {
      ResolveWorkload(configs.back());
    } catch (const Error& error) {
      throw BadInput("{}: {}", point.Where(), error.what());
    }
  }
  const size_t most =
      jobs > 0 ? static_cast<size_t>(jobs) : std::max(1u, std::thread::hardware_concurrency());
  const ScratchDirectory scratch;
  std::vector<PointResult> results(points.size());
  ChildPool children;
  size_t started = 0;
  for (size_t done = 0; done < points.size();) {
    if (started < points.size() && children.size() < most) {
      const std::string directory = fmt::format("{}/{}", scratch.path(), started);
      children.Add(StartChild(configs[started], directory, started));
      ++started;
      continue;
    }
    children.Await(results);
    ++done;
    if (progress) progress(done);
  }
  return results;
}

std::string Calibrate(const CalibrateOptions& options, bool* all_ran) {
  const RunConfig base = BaseConfig(options);
  std::vector<CalibrationPoint> points;
  for (const std::string& file : options.files) {
    std::vector<CalibrationPoint> more = ReadCalibration(file);
    std::move(more.begin(), more.end(), std::back_inserter(points));
  }
  points = Select(points, options.family, options.every);
  std::vector<PointResult> results;
  {
    const ProgressLine line(points.size());
    results = RunPoints(base, points, options.jobs, [&](size_t done) { line.Update(done); });
  }
  *all_ran = std::all_of(results.begin(), results.end(), [](const auto& r) { return r.ok(); });
  switch (options.format) {
    case CalibrateOptions::Format::kJson:
      return CalibrationJson(points, results);
    case CalibrateOptions::Format::kMarkdown:
      return CalibrationMarkdown(points, results);
    case CalibrateOptions::Format::kText:
      break;
  }
  return CalibrationText(points, results);
}

}  // namespace spyre::cosim
