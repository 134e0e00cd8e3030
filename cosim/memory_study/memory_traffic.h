// SPDX-License-Identifier: Apache-2.0
// What the memory command sends to memory: accesses of a trace file, or of a pattern.
// Deterministic: a seed gives the same accesses everywhere. Single thread. Errors:
// Error(kBadInput), naming file and line, or option.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spyre::cosim {

struct MemoryAccess {
  uint64_t address;
  uint64_t bytes;
  bool write;
  std::optional<uint64_t> arrival_ps;
};

// Accesses of one or more streams; each stream is in order.
class MemoryTraffic {
 public:
  virtual ~MemoryTraffic() = default;
  virtual size_t streams() const { return 1; }
  // The next access of a stream; nothing: no more of it.
  virtual std::optional<MemoryAccess> Next(size_t stream) = 0;
};

struct PatternOptions {
  std::string pattern = "sequential";
  double read_fraction = 1;
  uint64_t requests = 100'000;  // of all streams
  uint64_t block_bytes = 4096;
  uint64_t stride_bytes = 0;  // 0: 2 MiB
  uint64_t streams = 32;      // of mix
  uint64_t seed = 1;
};

constexpr uint64_t kMaxAccessBytes = 16 << 20;
constexpr uint64_t kMaxRequests = 100'000'000;

// sequential: block after block; stride: a block every stride; random: blocks anywhere, all aligned
// to the block; reads and writes by chance. mix: `streams` requesters, each reading or writing its
// own region of `stride` bytes, again and again.
std::unique_ptr<MemoryTraffic> MakePattern(const PatternOptions& options, uint64_t device_bytes);

// Lines "[ARRIVAL_NS] R|W ADDRESS BYTES", # begins a comment; all lines have an arrival or none.
std::unique_ptr<MemoryTraffic> ParseTrace(const std::string& text, const std::string& name,
                                          uint64_t device_bytes);

}  // namespace spyre::cosim
