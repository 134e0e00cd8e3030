// SPDX-License-Identifier: Apache-2.0
// What every public OpFunc computes, and in which order of the vector unit's functions. The one
// table: code generation and the reference interpreter of bundles both read it, so that they agree
// to the bit. Constant data, any thread.
//
// Names are those of the public SDSC bundle specification and of the newest public front end.
// Definitions: the specification's notes; torch-spyre's decompositions and lowerings; the portable
// forms of the layer-normalisation pieces in its Triton document (docs/facts.md). An OpFunc whose
// definition is not public, or that this compiler cannot execute, is in the table with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/contract/program.h"

namespace spyre::compiler {

enum class OpFuncClass : uint8_t {
  kMatmul,             // OpFunc::matmul
  kPointwise,          // unary and broadcast: OpFunc::steps, lane by lane
  kNormScale,          // layernormscale: steps on lanes 0 and 1 of a stick, result in lane 0
  kStickReduction,     // over the stick dimension (and others): OpFunc::reduction, then steps
  kNonstickReduction,  // over other dimensions
  kTopK,               // the largest along another dimension: OpFunc::gives_index
  kRestickify,         // another dimension into the stick
  kConversion,         // OpFunc::conversion
  kShuffle,            // to other slices within LX: the bits, whatever the format
  kRefused             // OpFunc::refusal
};

// A value of a computation on sticks.
struct OpFuncValue {
  enum class Kind : uint8_t {
    kInput,     // input `index`; after a reduction, 0 is the reduced value
    kConstant,  // constants[index], rounded to the operation's format, in every lane
    kStep       // what steps[index] gave
  };
  Kind kind = Kind::kInput;
  int index = 0;
};

// One vector instruction: a kVunary of a, or a kVbinary of a and b. Each result is rounded to the
// operation's format. kSelect is a ? b : otherwise.
struct OpFuncStep {
  Op op = Op::kVunary;
  uint8_t fn = 0;  // UnaryFn or BinaryFn
  OpFuncValue a, b;
  OpFuncValue otherwise;
};

// A number that the SDSC carries by name; `fallback` where it does not.
struct OpFuncConstant {
  std::string_view name;
  std::optional<double> fallback;  // none: an SDSC without it is refused
};

// fp32 totals as the vector unit forms them (docs/program-format.md), times a constant if there is
// one (an fp32 product), rounded to the format: lane 0 and, where there are two, lane 1.
struct OpFuncReduction {
  ReduceFn first = ReduceFn::kSum;
  std::optional<ReduceFn> second;  // exx2: the mean of squares, in lane 1
  int scale = -1;                  // the constant that multiplies every total; -1: none
  int zero_first = -1;             // exx2: lane 0 is 0 if this constant is given and not 0
  bool always_zero_first = false;  // exx2_zeromean
  bool of_products = false;        // of inputs 0 and 1, each rounded to the format
};

struct OpFunc {
  std::string_view name;
  OpFuncClass op_class = OpFuncClass::kRefused;
  // Tensors that it reads; of those behind min_inputs the last may be absent, and then the steps
  // that use them are left out.
  int inputs = 1;
  int min_inputs = 1;
  bool fp32 = false;  // also computes in IEEE_FP32, else only in SEN169_FP16
  std::vector<OpFuncConstant> constants;
  std::vector<OpFuncStep> steps;  // the last one's result is the output; none: input 0 is
  OpFuncReduction reduction;
  MatmulFn matmul = MatmulFn::kSen169Fp16;
  ConvertFn conversion = ConvertFn::kDl16ToFp32;
  bool gives_index = false;  // of kTopK: where the largest stand, else what they are
  std::string_view refusal;  // why it cannot be computed; empty: it can
};

// Elements of the two wide sticks that follow each other in the narrow one before the other's turn.
int ElementsInTurn(ConvertFn fn);

const std::vector<OpFunc>& OpFuncs();
const OpFunc* FindOpFunc(std::string_view name);  // nullptr: no such name

// Throws CompileError("Unsupported", "unsupported_op"): a name that is not in the table, with the
// nearest that is; one that is refused, with the reason.
const OpFunc& RequireOpFunc(std::string_view name);

// Whether it is one comparison of two operands.
bool IsComparison(const OpFunc& func);

}  // namespace spyre::compiler
