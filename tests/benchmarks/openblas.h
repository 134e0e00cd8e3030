// SPDX-License-Identifier: Apache-2.0
// OpenBLAS has kernels for many processors, and those that it chooses for this one are not always
// the fastest: of processors that are younger than it, it knows nothing, and wider vectors do not
// pay everywhere. That would flatter every ratio to SGEMM, so the kernels are tried first.
#pragma once

#include <string>

namespace spyre::benchmarks {

// Tries the kernels that the processor can run, each in a process of its own since OpenBLAS reads
// its choice before main, and starts this program again with the fastest. OPENBLAS_CORETYPE, if it
// is set, is the choice.
void StartWithFastestKernels(char** argv);
// The kernels in use and what they were chosen among, for people.
std::string Kernels();

}  // namespace spyre::benchmarks
