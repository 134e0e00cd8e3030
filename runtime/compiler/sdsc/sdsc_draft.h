// SPDX-License-Identifier: Apache-2.0
// A SuperDSC for one operation: names of dimensions, cores and their slices, layouts, scales, gaps,
// padding, masks and constants. What is left to bundle emission are the bases of the tensors.
// Pure function, any thread. Source: public bundle emitter (docs/facts.md, docs/kernel-forms.md).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

struct SdscDraft {
  SuperDsc dsc;  // the tensors' `start` and `symbolic` are not set
  // Bytes from a tensor's base to where each core starts, [tensor][index in dsc.cores]. Zero for
  // tensors in LX. Core 0 is in slice 0 of every dimension: its entry is the offset of the view.
  std::vector<std::vector<int64_t>> core_offset;
};

// `op` is aligned (op_alignment.h); `number` is its place in the bundle. Throws CompileError
// Unsupported (too many dimensions or layouts), RuntimeError (formats of less than a byte), and
// BadInput for splits that do not divide and more than 32 cores.
SdscDraft DraftSdsc(const OpSpec& op, int number, BundleDialect dialect);

}  // namespace spyre::compiler
