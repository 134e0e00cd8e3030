// SPDX-License-Identifier: Apache-2.0
// The last step of the front end: a tiled graph whose operations are divided over the cores and
// whose buffers have their places becomes OpSpecs in counted loops. Pure functions, any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

// The caller's tensors in order of the kernel's arguments.
std::vector<std::string> KernelArgumentNames(const Graph& graph);  // inputs, then outputs

// The form of the coarse-tiling RFC: an argument's address is its segment (the pool takes segment
// 0), and the iteration symbols of an operation say how its tensors advance. Where those cannot say
// it (a tile of one element or one stick, a dimension that two loops cut) the operation has the
// newest form instead: one symbol per loop, and the device elements that each tensor advances.
//
// Throws CompileError "Unsupported" / "partial_stick_tile" for a tile that is not a whole number of
// sticks.
KernelSource BuildKernelSource(const std::string& name, const Graph& graph,
                               const std::map<std::string, WorkDivision>& divisions,
                               const LxPlan& lx);

}  // namespace spyre::compiler
