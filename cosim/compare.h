// A run beside its reference: the same configuration with every block timed or behavioural instead
// of RTL. Numbers, statuses and the order of responses must be equal; times may differ, and the
// report gives both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/session.h"

namespace spyre::cosim {

// What is compared, and the times beside it.
struct RunDigest {
  uint64_t sim_ps = 0;
  uint64_t window_ps = 0;  // first operation queued to last finished, with transfers
  uint64_t launch_ps = 0;
  double wall_s = 0;
  uint64_t output_digest = 0;          // of all output tensors; 0: no data
  std::vector<std::string> responses;  // in the order in which they came: stream, operation, status
};
RunDigest DigestOf(const RunResult& result);

// Runs the reference in a process of its own, because SystemC allows one simulation a process: call
// before this one uses it. Files go to `out_dir`. Throws what the run threw.
RunDigest RunReference(const RunConfig& config, const std::string& out_dir);

// The first thing that differs, or "".
std::string Difference(const RunDigest& run, const RunDigest& reference);

}  // namespace spyre::cosim
