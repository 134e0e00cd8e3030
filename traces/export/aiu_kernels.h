// SPDX-License-Identifier: Apache-2.0
// What the events of the aiu format are made of: kernels, copies and host calls of a trace with the
// names, correlations and times that the card's tools expect. Used by aiu_export.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

// Whole nanoseconds.
struct AiuKernel {
  std::string name;
  uint64_t correlation = 0;  // shared by the kernels of a round
  uint32_t stream = 0;
  uint64_t queued_ns = 0, start_ns = 0, end_ns = 0;
  uint64_t bytes = 0;
  uint64_t ideal_cycles = 0;
  bool has_macs = false;
};
struct AiuCopy {
  bool to_device = false;
  uint64_t correlation = 0;
  uint32_t stream = 0;
  uint64_t queued_ns = 0, start_ns = 0, end_ns = 0;
  uint64_t bytes = 0;
};
struct AiuCalls {
  std::vector<AiuKernel> kernels;  // in order of start
  std::vector<AiuCopy> copies;
  std::map<uint64_t, uint64_t> round_of;  // correlation of each control block, by its flow
};

AiuCalls AiuCallsOf(const Trace& trace);

// The profiling library's name of a host call; "" for none of its own.
std::string AiuRuntimeName(const std::string& call);

}  // namespace spyre::trace
