// SPDX-License-Identifier: Apache-2.0
// Whether processes of a program wait for each other: for a clock that waits for what they do on
// the host, and must not wait for one that itself waits for another (a rank in a barrier of the
// host, whose other ranks wait for their cards). As the kernel of the host says it, so it does not
// depend on how busy the host is: who could run counts as running. Linux. Any one thread.
//
// Who sleeps may wake up by itself. A thread that looks every few milliseconds whether there is
// something to do sleeps in between, and so does the one that waits until it has looked. So a
// process counts as waiting when all of it has slept over a window that is longer than such a
// pause; but for threads that have also run in the window before, which look and find nothing. One
// that sleeps for a time (nanosleep) goes on by itself: it counts when it has slept for 200 ms, as
// if it waited for what the others do meanwhile.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace spyre::cosim {

class HostActivity {
 public:
  // root: the process whose descendants are meant, but for this process.
  explicit HostActivity(pid_t root) : root_(root) {}

  // Nobody runs or could run, and each of `awaited` waits for others. more_may_come: those below
  // the root that have no children are awaited too. Takes about a millisecond, and is to be asked
  // again every few milliseconds: the first answers are no.
  bool AllWait(const std::set<pid_t>& awaited, bool more_may_come);

 private:
  using Runs = std::map<pid_t, uint64_t>;  // of each thread, how often it has begun to sleep
  struct Process {
    Runs threads;
    bool has_children = false;
    bool operator==(const Process& other) const {
      return threads == other.threads && has_children == other.has_children;
    }
  };
  using Processes = std::map<pid_t, Process>;
  // What is known of a process that has been awaited.
  struct Watch {
    std::chrono::steady_clock::time_point since;
    Runs begin;                   // of the window, at `since`
    std::set<pid_t> ran;          // in the window before, or while it waited: they find nothing
    std::optional<Runs> waiting;  // since then it waits
  };

  static bool Look(pid_t process, Processes& all);
  static std::optional<Processes> LookAtSleeping(pid_t root);
  bool SleepsForMoments(pid_t process, const Runs& now);
  bool Waits(pid_t process, const Runs& now);

  // Since when the first thread of a process sleeps, and how often it had begun to.
  struct Sleep {
    std::chrono::steady_clock::time_point since;
    uint64_t runs = 0;
  };

  const pid_t root_;
  std::map<pid_t, Sleep> sleeps_;
  std::map<pid_t, Watch> watches_;
};

}  // namespace spyre::cosim
