// SPDX-License-Identifier: Apache-2.0
// Clears device memory before another function gets it. Memory that was not given to any function
// since power-on is clear already, which the scrubber knows by granules of 128 MiB, and takes no
// time; the rest takes scrub_bytes_per_us. What the management controller does meanwhile for the PF
// waits for the end, in its order. Kernel thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/ports.h"

namespace spyre::model {

class Scrubber : public sc_core::sc_module {
 public:
  sc_core::sc_port<MemoryClearInterface> memory{"memory"};

  Scrubber(const sc_core::sc_module_name& name, const CardConfig& config);

  // A function has been given [base, base + bytes), and may write there from now on.
  void Give(uint64_t base, uint64_t bytes);
  // Begins to clear [base, base + bytes), after what is being cleared.
  void Clear(uint64_t base, uint64_t bytes);
  // Now, or when everything is clear.
  void Then(std::function<void()> action);
  // The card is reset: what waits is forgotten. Memory stays as it is, and what of it was given.
  void Reset();

 private:
  struct Range {
    uint64_t base;
    uint64_t bytes;
  };
  void Finish();  // process

  const uint64_t bytes_per_us_;
  const uint64_t memory_bytes_;
  std::vector<bool> given_;  // by granule
  std::vector<Range> dirty_;
  std::deque<std::function<void()>> waiting_;
  uint64_t end_ps_ = 0;
  bool busy_ = false;
  sc_core::sc_event end_;
};

}  // namespace spyre::model
