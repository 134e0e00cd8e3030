// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/instructions.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/benchmarks/results.h"

namespace spyre::benchmarks {
namespace {

int counter = -1;
std::string why_not = "instructions are not counted";

uint64_t Instructions() {
  uint64_t count = 0;
  return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : 0;
}

}  // namespace

void StartCountingInstructions() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;
  counter = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  if (counter < 0)
    why_not = std::string("instructions cannot be counted here (perf_event_open: ") +
              std::strerror(errno) + ")";
}

std::string InstructionsOrWhyNot() {
  return counter >= 0 ? "instructions are those of one iteration" : why_not;
}

benchmark::State::StateIterator Counted::begin() {
  before_ = Instructions();
  return state_.begin();
}

Counted::~Counted() {
  if (counter < 0) return;
  state_.counters[kInstructions] = benchmark::Counter(static_cast<double>(Instructions() - before_),
                                                      benchmark::Counter::kAvgIterations);
}

}  // namespace spyre::benchmarks
