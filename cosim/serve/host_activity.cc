// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/host_activity.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Threads that have not run between two looks slept together in between, whatever the order in
// which they were looked at. The pause is for what the host's network may put off.
constexpr int kLooks = 3;
constexpr std::chrono::microseconds kPause{300};
// Longer than pauses between looks for work (10 ms in the loops of gloo), and than the host's
// network delays an acknowledgement (40 ms).
constexpr std::chrono::milliseconds kWindow{driver::vfio_user::kAwakeMs};
constexpr std::chrono::milliseconds kLongestWindow{1'000};
// Who has slept so long for a time does not do so between two looks for work.
constexpr std::chrono::milliseconds kLongSleep{200};

std::string LineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// How often the thread has been taken from its processor; empty: it runs, could run, or waits for a
// disk. 0 of one that has ended.
std::optional<uint64_t> RunsOfSleeping(const fs::path& task) {
  constexpr std::string_view kState = "State:\t", kSwitches = "voluntary_ctxt_switches:\t";
  std::ifstream file(task / "status");
  uint64_t runs = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, kState.size(), kState) == 0) {
      const char state = line.size() > kState.size() ? line[kState.size()] : 'S';
      if (state == 'R' || state == 'D') return std::nullopt;
    }
    const size_t switches = line.find(kSwitches);  // also those that it has not asked for
    if (switches != std::string::npos)
      runs += std::strtoull(line.c_str() + switches + kSwitches.size(), nullptr, 10);
  }
  return runs;
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

// Of the process and those below it. False: a thread runs, could run, or waits for a disk.
bool HostActivity::Look(pid_t process, Processes& all) {
  if (process == getpid()) return true;
  Process& found = all[process];
  std::error_code error;
  for (const fs::directory_entry& task :
       fs::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    const std::optional<uint64_t> runs = RunsOfSleeping(task.path());
    if (!runs) return false;
    found.threads[static_cast<pid_t>(std::atol(task.path().filename().c_str()))] = *runs;
    const std::string children = LineOf(task.path() / "children");
    for (const char* at = children.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long child = std::strtol(at, &end, 10);
      if (end == at) break;
      at = end;
      found.has_children = true;
      if (!Look(static_cast<pid_t>(child), all)) return false;
    }
  }
  return true;
}

std::optional<HostActivity::Processes> HostActivity::LookAtSleeping(pid_t root) {
  Processes first;
  if (!Look(root, first)) return std::nullopt;
  for (int look = 1; look < kLooks; ++look) {
    std::this_thread::sleep_for(kPause);
    Processes again;
    if (!Look(root, again) || !(again == first)) return std::nullopt;
  }
  return first;
}

// Whether its first thread would go on by itself, and has not yet slept for long.
bool HostActivity::SleepsForMoments(pid_t process, const Runs& now) {
  const auto found = now.find(process);
  const uint64_t runs = found == now.end() ? 0 : found->second;
  Sleep& sleep = sleeps_.try_emplace(process, Sleep{Clock::now(), runs}).first->second;
  if (sleep.runs != runs) sleep = {Clock::now(), runs};
  return SleepsForATime(process) && Clock::now() - sleep.since < kLongSleep;
}

bool HostActivity::Waits(pid_t process, const Runs& now) {
  const Clock::time_point time = Clock::now();
  Watch& watch = watches_[process];
  std::set<pid_t> ran;
  const auto differ = [&ran](const Runs& some, const Runs& others) {
    for (const auto& [thread, runs] : some) {
      const auto other = others.find(thread);
      if (other == others.end() || other->second != runs) ran.insert(thread);
    }
  };
  const Runs& before = watch.waiting ? *watch.waiting : watch.begin;
  differ(before, now);
  differ(now, before);
  // The first thread is the program's own, and what it does is never nothing.
  const bool quiet = ran.count(process) == 0 &&
                     std::includes(watch.ran.begin(), watch.ran.end(), ran.begin(), ran.end());
  if (watch.waiting && quiet) return true;
  const auto window = time - watch.since;
  if (watch.waiting || window > kLongestWindow) {
    watch = {time, now, {}, std::nullopt};
    return false;
  }
  if (window < kWindow) return false;
  watch = {time, now, ran, std::nullopt};
  if (quiet) watch.waiting = now;
  return quiet;
}

bool HostActivity::AllWait(const std::set<pid_t>& awaited, bool more_may_come) {
  // Mostly one of these computes or waits for a processor, and the others need not be looked at.
  for (const pid_t process : awaited) {
    Processes own;
    if (!Look(process, own)) return false;
  }
  const std::optional<Processes> processes = LookAtSleeping(root_);
  if (!processes) return false;
  bool wait = true;
  for (const auto& [process, found] : *processes) {
    if (awaited.count(process) == 0 && (!more_may_come || found.has_children)) continue;
    const bool moments = SleepsForMoments(process, found.threads);
    const bool waits = Waits(process, found.threads);
    wait = wait && waits && !moments;
  }
  return wait;
}

}  // namespace spyre::cosim
