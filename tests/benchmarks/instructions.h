// SPDX-License-Identifier: Apache-2.0
// Instructions of the loop of a benchmark, beside its wall time: machines are noisy, and the number
// of instructions is not.
//
//   for (auto _ : Counted(state)) ...
//
// sets the counter "instructions" to those of an iteration, in user mode, of all threads. Where the
// system does not allow counting, or the processor (a virtual one) has no counters, the counter is
// missing and InstructionsOrWhyNot() says why; docs/performance.md says what to do then.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

namespace spyre::benchmarks {

// Before any thread is started: later ones are counted, earlier ones are not.
void StartCountingInstructions();
// "instructions are those of an iteration", or why they are missing.
std::string InstructionsOrWhyNot();

class Counted {
 public:
  explicit Counted(benchmark::State& state) : state_(state) {}
  ~Counted();
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  benchmark::State::StateIterator begin();
  benchmark::State::StateIterator end() { return state_.end(); }

 private:
  benchmark::State& state_;
  uint64_t before_ = 0;
};

}  // namespace spyre::benchmarks
