// SPDX-License-Identifier: Apache-2.0
#include "model/control/scrubber.h"

#include <algorithm>
#include <utility>

#include "model/common/transfer.h"

namespace spyre::model {

namespace {
constexpr uint64_t kGranuleBytes = 128ull << 20;
}

Scrubber::Scrubber(const sc_core::sc_module_name& name, const CardConfig& config)
    : sc_module(name),
      bytes_per_us_(config.management.scrub_bytes_per_us),
      memory_bytes_(config.usable_bytes()),
      given_((config.usable_bytes() + kGranuleBytes - 1) / kGranuleBytes) {
  SC_HAS_PROCESS(Scrubber);
  SC_METHOD(Finish);
  sensitive << end_;
  dont_initialize();
}

void Scrubber::Give(uint64_t base, uint64_t bytes) {
  if (bytes == 0 || base >= memory_bytes_) return;
  const uint64_t last = std::min(base + (bytes - 1), memory_bytes_ - 1);
  for (uint64_t granule = base / kGranuleBytes; granule <= last / kGranuleBytes; ++granule)
    given_[granule] = true;
}

// Whole granules count, because that is what is known.
void Scrubber::Clear(uint64_t base, uint64_t bytes) {
  if (bytes == 0 || base >= memory_bytes_) return;
  bytes = std::min(bytes, memory_bytes_ - base);
  uint64_t dirty = 0;
  for (uint64_t at = base; at < base + bytes;) {
    const uint64_t next = std::min((at / kGranuleBytes + 1) * kGranuleBytes, base + bytes);
    if (given_[at / kGranuleBytes]) {
      dirty_.push_back({at, next - at});
      dirty += next - at;
    }
    at = next;
  }
  if (dirty == 0) return;
  busy_ = true;
  end_ps_ = std::max(end_ps_, NowPs()) + dirty * 1'000'000 / bytes_per_us_;
  end_.cancel();
  end_.notify(Ps(end_ps_ - NowPs()));
}

void Scrubber::Then(std::function<void()> action) {
  if (!busy_) return action();
  waiting_.push_back(std::move(action));
}

void Scrubber::Reset() {
  end_.cancel();
  end_ps_ = 0;
  busy_ = false;
  dirty_.clear();
  waiting_.clear();
}

void Scrubber::Finish() {
  for (const Range& range : std::exchange(dirty_, {})) memory->ClearMemory(range.base, range.bytes);
  busy_ = false;
  const std::deque<std::function<void()>> waiting = std::exchange(waiting_, {});
  for (const auto& action : waiting) Then(action);
}

}  // namespace spyre::model
