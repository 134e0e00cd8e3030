// SPDX-License-Identifier: Apache-2.0
// Code generation for bundles: one compute program that runs every SuperDSC in order, loops kept as
// loops, and the correction program that tells it where the arguments are.
//
// A step is one SuperDSC; its executions are numbered by the iterations of the loops around it. The
// program marks where a step begins (MARK), and all cores meet at a barrier between steps.
// Intermediates in LX stay where the bundle puts them; operands in device memory pass through LX
// above them.
//
// Limits of the card are checked here, while the operations have names: CompileError Unsupported
// "program_too_large" for a program beyond BundleOptions::image_bytes or with too many values that
// differ from core to core (the list or bundle must be cut), "loop_nest" for too many loops within
// each other.
//
// Pure functions, any thread. Errors: BadInput naming the SDSC file, the operation and what is
// wrong or not supported; an OpFunc without a public definition is refused by name.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

struct BundleOptions {
  uint64_t lx_bytes = kLxUsableBytes;
  uint64_t image_bytes = kLxReservedBytes;  // of the program, which lies in the LX of every core
  bool timing_only = false;
  Schedule schedule = kDefaultSchedule;
};

// `arguments`: one per BundleArgument of kind kTensor, in order, with the layouts of what will be
// launched. The bundle has its segments bound. The pool lies in the program allocation.
Kernel GenerateBundleKernel(const Bundle& bundle, const std::vector<KernelArgument>& arguments,
                            const BundleOptions& options);

}  // namespace spyre::compiler
