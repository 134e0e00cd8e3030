// SPDX-License-Identifier: Apache-2.0
// What the time of a critical path can have been spent on, and the resource that each of these
// belongs to. The model counts by them, report.json and the commands name them, and BoundOf says
// which resource bounds what ran: the one that the critical path spent most time on, working or
// waiting for it. docs/report-time.md explains each.
//
// Plain data and pure functions, any thread; picoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::trace {

enum class Cause : uint8_t {
  kMemoryRead,     // reads: data buses of the channels, beyond what an access alone takes
  kMemoryWrite,    // writes: the same
  kMemoryLatency,  // controller and DRAM array, of an access that meets no other
  kRing,           // data links: those before pass, and the data itself
  kRingHops,       // the way round the ring, of a burst that meets no other
  kMulticast,      // the links again: what large groups take longer, and turns of short reads
  kPartialSums,    // links for partial sums
  kLxPort,
  kPtRows,     // rows pass the PT arrays
  kPtWeights,  // the arrays wait for their weights to be put in
  kPtFill,     // the arrays fill and drain
  kVector,
  kTokens,     // from a finished instruction to the unit that waits for it
  kBarrier,    // from the last arrival to going on
  kSequencer,  // loops, addresses, issue of bursts, translation
  // Of operations, not inside of kernels:
  kControl,  // the control-block processor: decode, dispatch, response
  kPcie,     // the link: fetches, copies, doorbells, responses
  kHost,     // the host at work
};
inline constexpr size_t kKernelCauses = 15;  // those before kControl
inline constexpr size_t kCauses = 18;

// By Cause, in ps.
using PathTimes = std::array<uint64_t, kCauses>;
uint64_t TotalPs(const PathTimes& path);

const char* CauseName(Cause cause);        // "memory_read", as in report.json
const char* ResourceName(Cause cause);     // "memory": what would have to be faster
std::vector<std::string> ResourceNames();  // all that there are
// "the data buses of device memory", for sentences. resource: a ResourceName.
std::string_view ResourceText(std::string_view resource);

// What a kernel can be made to need less of, and the resources on which it then spends less time.
// Its author cannot make a memory faster, but can have the kernel move less.
struct Need {
  const char* name;  // "data", "arithmetic", "waiting", as in report.json
  const char* text;  // "data to move", for "half the ..."
  std::vector<std::string> resources;
};
const std::vector<Need>& Needs();

struct ResourceTime {
  std::string resource;
  uint64_t time_ps;
};
struct Bound {
  std::string resource = "none";  // "none": there is no path
  uint64_t total_ps = 0;
  std::vector<ResourceTime> resources;  // that have time, the largest first

  double share() const {
    return resources.empty() || total_ps == 0
               ? 0
               : static_cast<double>(resources.front().time_ps) / static_cast<double>(total_ps);
  }
  // The next one, if the path is longest on `resource` by so little that it may gain more; null:
  // there is none.
  const ResourceTime* rival() const;
};
Bound BoundOf(const PathTimes& path);

}  // namespace spyre::trace
