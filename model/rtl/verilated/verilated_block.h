// A Verilated model with a context and a thread of its own, so that several can live in one
// process.
#pragma once

#include <verilated.h>

#include "model/rtl/coverage.h"

namespace spyre::model {

template <class Top>
class VerilatedBlock {
  // One thread: by default a context makes a worker for every processor. Waves may be attached
  // later.
  struct Context : VerilatedContext {
    Context() {
      threads(1);
      traceEverOn(true);
    }
  };
  struct NoContext {
    ~NoContext() { Verilated::threadContextp(nullptr); }
  };
  const char* name_;
  NoContext no_context_;  // is left behind
  Context context_;

 public:
  explicit VerilatedBlock(const char* name) : name_(name), top(&context_) {}
  // The scopes of a model take themselves out of the calling thread's context, which may by now be
  // that of another block, and gone.
  ~VerilatedBlock() {
    WriteCoverage(context_, name_);
    Verilated::threadContextp(&context_);
  }
  VerilatedBlock(const VerilatedBlock&) = delete;
  VerilatedBlock& operator=(const VerilatedBlock&) = delete;

  Top top;
};

}  // namespace spyre::model
