// SPDX-License-Identifier: Apache-2.0
// A Verilated model with a context and a thread of its own, so that several can live in one
// process.
#pragma once

#include <verilated.h>

#include "model/rtl/rtl_blocks.h"
#include "model/rtl/verilated/coverage.h"

namespace spyre::model {

template <class Top>
class VerilatedBlock {
  // One thread: by default a context makes a worker for every processor. Waves may be attached
  // later.
  struct Context : VerilatedContext {
    explicit Context(const PowerOn& power_on) {
      threads(1);
      traceEverOn(true);
      randReset(power_on.seed == 0 ? kZeros : kRandom);
      randSeed(static_cast<int>(power_on.seed));
    }
    static constexpr int kZeros = 0, kRandom = 2;  // Verilator's numbers
  };
  struct NoContext {
    ~NoContext() { Verilated::threadContextp(nullptr); }
  };
  const char* name_;
  const bool random_;
  NoContext no_context_;  // is left behind
  Context context_;

 public:
  VerilatedBlock(const char* name, const PowerOn& power_on)
      : name_(name), random_(power_on.seed != 0), context_(power_on), top(&context_) {}
  // The scopes of a model take themselves out of the calling thread's context, which may by now be
  // that of another block, and gone.
  ~VerilatedBlock() {
    WriteCoverage(context_, name_);
    Verilated::threadContextp(&context_);
  }
  // Called after the first reset: coverage up to then comes from the random initial state, not from
  // a stimulus.
  void HasBeenReset() {
    if (random_) ForgetCoverage(context_);
  }
  VerilatedBlock(const VerilatedBlock&) = delete;
  VerilatedBlock& operator=(const VerilatedBlock&) = delete;

  Top top;
};

}  // namespace spyre::model
