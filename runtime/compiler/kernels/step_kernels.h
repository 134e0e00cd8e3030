// SPDX-License-Identifier: Apache-2.0
// The kernels that steps are made of: each chooses its tiles, takes LX from lx_base of the problem,
// and adds its code to the sections. All tokens are zero again when a step has ended, so that steps
// can follow each other. Used by code generation only.
//
// Errors: BadInput naming the operation, the dimension and the bytes of LX that would be needed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/step_code.h"

namespace spyre::compiler {

// Tokens from here on are not used by kernels.
inline constexpr uint8_t kFirstFreeToken = 32;

// One vector instruction, VUNARY or VBINARY, over values: 0 .. n-1 are the operands, n-1 of them
// the output; from n on temporaries; below 0 constants, -1 the first.
struct VectorStep {
  Op op = Op::kVunary;
  uint8_t fn = 0;
  int dst = 0;
  int a = 0;
  int b = 0;
};
struct PointwiseBody {
  std::vector<VectorStep> steps;
  int temporaries = 0;
  std::vector<uint16_t> constants;  // SEN169
  bool fp32 = false;                // sticks of fp32
};

// One or two folds of the same elements; the result of the second goes to lane 1.
struct ReductionBody {
  std::vector<ReduceFn> folds;
  int64_t divisor = 0;      // of the result before it is rounded; 0: none
  bool factor = false;      // `divisor` holds the bits of an fp32 factor instead
  bool fp32 = false;        // sticks of fp32
  bool zero_first = false;  // lane 0 is 0 instead of the first fold's result
  bool products = false;    // of two inputs, each rounded, instead of the elements of one
  // On the rounded result: functions of it and of constants[second].
  std::vector<std::pair<uint8_t, int>> then;
  std::vector<uint16_t> constants;  // SEN169
};

struct TopKBody {
  bool gives_index = false;  // where the largest stand, instead of what they are
  bool fp32 = false;         // sticks of fp32
};

struct ConversionBody {
  ConvertFn fn = ConvertFn::kDl16ToFp32;
  int64_t scale = 0, shift = 0;  // bits of fp32, for the integer formats
};

struct MatmulBuild {
  uint64_t lx_end = 0;
  uint64_t workspace_bytes = 0;  // of device memory, for sums that are carried
};
MatmulBuild BuildMatmul(Problem& problem, StepCode& code, MatmulFn fn = MatmulFn::kSen169Fp16);

// Each returns the end of the LX that it uses.
uint64_t BuildPointwise(Problem& problem, const PointwiseBody& body, StepCode& code);
uint64_t BuildReduction(Problem& problem, const ReductionBody& body, StepCode& code);
uint64_t BuildSoftmax(Problem& problem, StepCode& code);
uint64_t BuildTopK(Problem& problem, const TopKBody& body, StepCode& code);
uint64_t BuildTranspose(Problem& problem, StepCode& code);
uint64_t BuildConversion(Problem& problem, const ConversionBody& body, StepCode& code);

}  // namespace spyre::compiler
