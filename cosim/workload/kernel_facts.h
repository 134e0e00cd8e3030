// SPDX-License-Identifier: Apache-2.0
// How one kernel of a list of operations was planned, and how large its program became. Plain data.
#pragma once

#include <cstdint>

#include "runtime/compiler/front_end/plan_facts.h"

namespace spyre::cosim {

struct KernelFacts {
  compiler::PlanFacts plan;
  uint64_t program_bytes = 0;
  uint64_t instructions = 0;
};

}  // namespace spyre::cosim
