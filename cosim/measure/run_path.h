// SPDX-License-Identifier: Apache-2.0
// The critical path of a run of operations: from the end of the last one back to a given time, by
// way of what each had to wait for, with the paths that the card has measured inside its kernels.
// It also says how that time divides into time of the host, time of the card and idle time. Pure
// functions, any thread; ps.
//
// The rules, backwards: an operation takes its time on its engine; before that the control path
// dispatches it. It could start when the operation that finished last before it had, or, if that
// was earlier, when it had been fetched; then the path goes over PCIe to the host, which rang the
// doorbell. An operation without an engine, such as a wait for another stream, takes no time but
// its own end: the path goes on at what finished last before that. The host had worked since it was
// last woken, by the response of an operation: there the path goes on.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cosim/host/host_time.h"
#include "runtime/flex/control_block_request.h"
#include "traces/path_causes.h"

namespace spyre::cosim {

// What steps cost that the times of operations do not tell apart.
struct RunPathCosts {
  uint64_t dispatch_ps = 0;
  uint64_t pcie_one_way_ps = 0;
  uint64_t host_memory_ps = 0;
};

struct RunPathInput {
  const std::vector<flex::CompletedOperation>& operations;
  const std::unordered_map<uint64_t, trace::PathTimes>& kernels;  // by correlation
  const std::vector<HostWait>& waits;                             // in order; may be empty
  RunPathCosts costs;
};

// Covers the time from begin_ps to the end of the last operation. All zero if no operation ran.
trace::PathTimes PathOfRun(const RunPathInput& input, uint64_t begin_ps);

// A window, each moment of which counts once.
struct WindowShares {
  uint64_t window_ps = 0;
  uint64_t card_ps = 0;  // an operation ran on the card
  uint64_t host_ps = 0;  // none did, and the host was at work
  uint64_t idle_ps = 0;  // neither: control path, link
};
WindowShares SharesOfWindow(const std::vector<flex::CompletedOperation>& operations,
                            const std::vector<HostWait>& waits, uint64_t begin_ps, uint64_t end_ps);

}  // namespace spyre::cosim
