// SPDX-License-Identifier: Apache-2.0
// How tasks are issued, as a configuration says it: when they go to the card, who releases them,
// which stream takes them. Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::runtime {

enum class IssueTiming : uint8_t {
  kImmediate,    // a task goes to the card as soon as it is issued
  kBatched,      // `batch` tasks go together, with one doorbell
  kRateLimited,  // tasks are issued 1 ms / `tasks_per_ms` apart or more, in simulated time
  kInterleaved,  // as kBatched, in InterleavedOrder
};
const char* Name(IssueTiming timing);  // "immediate", "batched", "rate_limited", "interleaved"
std::vector<std::string> IssueTimingNames();

struct IssuePacing {
  IssueTiming timing = IssueTiming::kImmediate;
  uint32_t batch = 8;            // at least 1
  uint32_t tasks_per_ms = 1000;  // 1 .. 1,000,000
};

// When a task graph puts a task on the card.
enum class Release : uint8_t {
  // At once: chains share a stream, other dependencies are events, and the card does the waiting.
  kEvents,
  // When the host has seen all that it depends on complete, and its unit has a stream to spare.
  // Ready and start policies decide the order; every dependency costs a round trip of the host.
  kHost,
};
const char* Name(Release release);  // "events", "host"
Release ReleaseFromName(std::string_view name);
std::vector<std::string> ReleaseNames();

// Chooses the stream that a task graph puts a task on when it releases the task by events.
enum class Dispatch : uint8_t {
  kChain,       // that of a producer which is the last task there, else the least loaded one
  kRoundRobin,  // one after the other
  kAffinity,    // by IssuedTask::stream, modulo the streams; without it, as kChain
  kHash,        // by the 64-bit FNV-1a hash of IssuedTask::stream, in decimal, or else of its name
};
const char* Name(Dispatch dispatch);  // "chain", "round_robin", "affinity", "hash"
std::vector<std::string> DispatchNames();

}  // namespace spyre::runtime
