// SPDX-License-Identifier: Apache-2.0
// The PT array's arithmetic in the narrower operand formats: MATMUL on SEN143_FP8 in both forms,
// SEN152_FP8, SENINT8 and SENINT4 (semantics: kMatmul in model/contract/program.h; strides in
// bytes).
// SEN169_FP16 has its own kernels, pt_kernel.h. PtUnit calls it. Any thread; scratch memory is per
// thread.
//
// Every value of these formats and every product is exact in fp32, so the result does not depend on
// how the compiler joins multiplication and addition. acc must not overlap a or b.
#pragma once

#include <cstdint>

#include "model/contract/program.h"

namespace spyre::model {

struct PtOperands {
  uint8_t* acc;
  const uint8_t* a;
  const uint8_t* b;
  uint64_t m, n, k;
  uint64_t a_kstick_stride, b_nstick_stride, acc_nstick_stride;
  bool accumulate;
};

void PtMatmulNarrow(MatmulFn fn, const PtOperands& operands);

}  // namespace spyre::model
