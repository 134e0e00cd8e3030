// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/host_activity.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

// What one process does for another is seen without a gap, for who wakes another one runs until
// that one could. Looks with a pause between them are for what the host's network may put off.
constexpr int kLooks = 3;
constexpr std::chrono::microseconds kPause{300};

std::string LineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Any thread of the process, or of one below it, runs, could run, or waits for a disk.
bool AnyRuns(pid_t process, pid_t but) {
  if (process == but) return false;
  std::error_code error;
  for (const fs::directory_entry& task :
       fs::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    // The state is behind the name, which ends with the last parenthesis.
    const std::string stat = LineOf(task.path() / "stat");
    const size_t name = stat.rfind(')');
    if (name != std::string::npos && name + 2 < stat.size() &&
        (stat[name + 2] == 'R' || stat[name + 2] == 'D'))
      return true;
    const std::string children = LineOf(task.path() / "children");
    for (const char* at = children.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long child = std::strtol(at, &end, 10);
      if (end == at) break;
      at = end;
      if (AnyRuns(static_cast<pid_t>(child), but)) return true;
    }
  }
  return false;
}

// Where the kernel tells both, the second is for whoever may trace the process.
bool SleepsForATime(pid_t process) {
  if (LineOf(fmt::format("/proc/{}/wchan", process)).find("nanosleep") != std::string::npos)
    return true;
  const long call = std::atol(LineOf(fmt::format("/proc/{}/syscall", process)).c_str());
#ifdef SYS_nanosleep
  if (call == SYS_nanosleep) return true;
#endif
  return call == SYS_clock_nanosleep;
}

}  // namespace

bool HostActivity::Sleeps(const std::vector<pid_t>& awaited) const {
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(kPause);
    if (AnyRuns(root_, getpid()) || std::any_of(awaited.begin(), awaited.end(), SleepsForATime))
      return false;
  }
  return true;
}

}  // namespace spyre::cosim
