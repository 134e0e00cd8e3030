// SPDX-License-Identifier: Apache-2.0
// What a step of a bundle has to do, for the closed form. Pure function, any thread.
// Errors: Error(kBadInput) naming the step, of which no closed form is known.
#pragma once

#include <cstdint>

#include "model/formula/kernel_work.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::cosim {

// lx_bytes: that a program may use of a core's LX.
model::KernelWork WorkOfStep(const compiler::SuperDsc& dsc, uint64_t lx_bytes);

}  // namespace spyre::cosim
