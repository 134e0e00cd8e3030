// SPDX-License-Identifier: Apache-2.0
// Why a kernel took as long as it did: the chain of slices that its end depended on, followed back
// from the end of its control block to its start. `trace summary` prints it.
//
// Reads the recording conventions of docs/trace-format.md: a unit's work is its kCore slices, what
// it waited for its kWait slices with the track that ended the wait. At a wait the path goes over
// to that track; inside a unit it goes from an instruction to the one issued before it. The
// segments have no gaps and no overlaps: their times sum to the kernel's device time. The path of a
// trace that dropped records ends, as "not recorded", where it could lead to a record that is
// missing. Pure functions of a Trace, any thread. Throws Error for a kernel that is not there.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/path_causes.h"
#include "traces/trace_file.h"

namespace spyre::trace {

// A COMPUTE control block. Kernels are numbered from 0 in the order in which they started; those of
// which records may be missing, because they had ended by then, are not listed.
struct KernelRun {
  size_t number;
  std::string name;  // "COMPUTE matmul"
  uint64_t flow;
  uint64_t start_ps;
  uint64_t end_ps;
};
std::vector<KernelRun> Kernels(const Trace& trace);

// selection: a number, or a name with or without "COMPUTE " (of several the longest run of it), or
// empty (the longest of all). Empty result: there are no kernels and none was asked for.
std::optional<KernelRun> FindKernel(const Trace& trace, const std::string& selection);

struct PathSegment {
  std::string kind;  // "load", "pt", ..., "token hand-over", "sequencer", "launch", "not recorded"
  std::string unit;  // "core 03/load"; "" for launch and what is not recorded
  std::string name;  // of the slice: "MATMUL"; "" if it is none
  uint64_t start_ps;
  uint64_t end_ps;

  uint64_t length_ps() const { return end_ps - start_ps; }
};

// All segments of one kind.
struct PathShare {
  std::string kind;
  uint64_t segments = 0;
  uint64_t time_ps = 0;
  // Mean busy share, during these segments, of the memory channels and of the PT units; empty if
  // the trace has none.
  std::optional<double> memory_busy;
  std::optional<double> pt_busy;
};

struct CriticalPath {
  KernelRun kernel;
  std::vector<PathSegment> segments;  // first to last
  std::vector<PathShare> shares;      // largest first
  // By cause, as the run itself has measured it (run_results.h); empty: it has not.
  std::optional<PathTimes> causes;
  // Not 0: records from before this time are missing, and the kernel had begun by then.
  uint64_t recorded_from_ps = 0;
};

CriticalPath FollowCriticalPath(const Trace& trace, const KernelRun& kernel);

// longest: how many single segments are listed.
std::string ToText(const CriticalPath& path, size_t longest = 8);
nlohmann::json ToJson(const CriticalPath& path, size_t longest = 8);

}  // namespace spyre::trace
