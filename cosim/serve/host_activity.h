// SPDX-License-Identifier: Apache-2.0
// Whether the processes of a program do anything: for a clock that waits for what they do on the
// host, and must not wait for one that itself waits for another (a rank in a barrier of the host,
// whose other ranks wait for their cards). As the kernel of the host says it, so it does not depend
// on how busy the host is: who could run counts as running. Linux. Any one thread.
#pragma once

#include <sys/types.h>

#include <vector>

namespace spyre::cosim {

class HostActivity {
 public:
  // root: the process whose descendants are meant, but for this process.
  explicit HostActivity(pid_t root) : root_(root) {}

  // Nobody runs or could run, for several looks, and none of `awaited` sleeps for a time of its
  // own: it will go on by itself. Takes about a millisecond.
  bool Sleeps(const std::vector<pid_t>& awaited) const;

 private:
  const pid_t root_;
};

}  // namespace spyre::cosim
