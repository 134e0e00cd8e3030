// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the PT array: what MATMUL does to memory, without time and without SystemC.
// Semantics, layouts and the order of additions are those of kMatmul in model/contract/program.h;
// the fast forms take many rows and chunks at once (model/common/pt_stack.h). acc must not overlap
// a or b. Nothing needs alignment. Any thread; scratch memory is per thread.
//
// Every form gives the same bits: the order of additions is fixed, and the product of two SEN169
// values is exact in fp32, so a fused and a separate multiply-add agree. Only the sign and payload
// of a NaN may differ; rounding to SEN169 makes every NaN 0x7FFF. Sums of exact products cannot
// reach the fp32 subnormal range, so no form meets a slow path there.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/pt_stack.h"

namespace spyre::model {

// The definition, one element after the other, for one MATMUL. For tests.
void PtMatmulScalar(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,
                    int64_t a_kstick_stride, int64_t b_nstick_stride, int64_t acc_nstick_stride,
                    bool accumulate);

// Every fast form this processor can run, fastest first. Tests hold them all equal to the scalar
// one.
const std::vector<PtKernel>& PtKernels();
inline const PtKernel& BestPtKernel() { return PtKernels().front(); }

}  // namespace spyre::model
