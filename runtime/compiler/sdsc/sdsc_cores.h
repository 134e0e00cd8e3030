// SPDX-License-Identifier: Apache-2.0
// What an SDSC says of the whole operation: which slice of every dimension each core works on, and
// what it is. Pure functions, any thread. Source: public bundle emitter (docs/facts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

// [core][dimension], one core for each combination of slices. Mixed radix, first dimension fastest;
// with `last_first` the last dimension before all others, so that the cores whose partial sums
// belong together are neighbours. Where the front end says which slice a core has
// (OpSpec::core_slices), that counts; dimensions behind the operation's own are not cut. Throws
// CompileError Unsupported if alignment gave the operation other dimensions than the front end
// speaks of, BadInput for slices out of range.
std::vector<std::vector<int>> SlicesOfCores(const OpSpec& op, const std::vector<SdscDim>& dims,
                                            bool last_first);

// Elements from the beginning of what a core has of a tensor in LX to that of a view: the same on
// every core. By position of the device dimension from inside out: where the view begins, and which
// of `dims` walks the dimension.
int64_t LxViewOffset(const std::vector<int64_t>& device_size,
                     const std::map<size_t, int64_t>& begins, const std::map<size_t, int>& walkers,
                     const std::vector<SdscDim>& dims);

// The name of the operation, its unit and format, and which tensors go in and out; the dimensions
// and tensors are there.
void NameOperation(const OpSpec& op, int number, SuperDsc& dsc);

}  // namespace spyre::compiler
