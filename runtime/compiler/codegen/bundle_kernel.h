// Code generation for bundles: one compute program that runs every SuperDSC in order, loops kept as
// loops, and the correction program that tells it where the arguments are.
//
// A step is one SuperDSC; its executions are numbered by the iterations of the loops around it. The
// program marks where a step begins (MARK), and all cores meet at a barrier between steps.
// Intermediates in LX stay where the bundle puts them; operands in device memory pass through LX
// above them.
//
// Pure functions, any thread. Errors: BadInput naming the SDSC file, the operation and what is
// wrong or not supported; an OpFunc without a public definition is refused by name.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/bundle.h"
#include "runtime/compiler/kernel.h"

namespace spyre::compiler {

struct BundleOptions {
  uint64_t lx_bytes = kLxUsableBytes;
  bool timing_only = false;
};

// `arguments`: one per BundleArgument of kind kTensor, in order, with the layouts of what will be
// launched. The bundle has its segments bound. The pool lies in the program allocation.
Kernel GenerateBundleKernel(const Bundle& bundle, const std::vector<KernelArgument>& arguments,
                            const BundleOptions& options);

}  // namespace spyre::compiler
