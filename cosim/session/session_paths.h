// SPDX-License-Identifier: Apache-2.0
// What a session's time went by: the critical paths of its launches and of all of it, how host and
// card shared the launches, and the numbers of its kernels. Pure function.
#pragma once

#include <vector>

#include "cosim/session/run_result.h"
#include "traces/run_results.h"

namespace spyre::cosim {

// result: its launches, their kernel usages and the times of both windows are there; the paths,
// shares and kernel numbers are written. completed: all operations of the session. Returns the part
// that the trace file keeps.
trace::RunResults FollowPaths(RunResult& result,
                              const std::vector<flex::CompletedOperation>& completed,
                              const std::vector<HostWait>& waits);

}  // namespace spyre::cosim
