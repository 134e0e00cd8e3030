// SPDX-License-Identifier: Apache-2.0
// Which slice of every dimension each core works on. Pure function, any thread. Source: public
// bundle emitter (docs/facts.md).
#pragma once

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

}  // namespace spyre::compiler
