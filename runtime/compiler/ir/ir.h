// SPDX-License-Identifier: Apache-2.0
// The compiler's view of one operation: a loop nest over which every tensor is read or written at
// an affine index. The passes (work division now; tiling and LX planning build on the same types)
// take it by const reference and never change it. Plain data and pure functions, any thread.
//
// Sizes, ranges and indices are in elements. Source: public compiler front end, docs/facts.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/contract/stick_layout.h"

namespace spyre::compiler {

struct LoopVariable {
  std::string name;
  int64_t range = 1;  // 0 .. range-1; a loop of range 1 exists for no pass
};

// Element offset of an access in its host tensor: constant + sum of coefficient[i] * variable i.
struct IndexExpression {
  int64_t constant = 0;
  std::vector<int64_t> coefficient;  // one per loop variable of the operation
};

struct TensorAccess {
  std::string name;
  DataFormat host_format = DataFormat::kIeeeFp16;
  StickLayout layout;
  IndexExpression index;
};

// Tensors have at most six dimensions; searches over combinations of loops need a bound.
constexpr size_t kMaxLoops = 16;

// Loop variables: those of the output first, then the reduction's own.
struct OpIr {
  enum class Kind : uint8_t { kPointwise, kReduction };

  std::string name;
  Kind kind = Kind::kPointwise;
  std::string reduction_type;  // "batchmatmul" (every matmul), "sum", "max", "topkvalue", ...
  std::vector<LoopVariable> loops;
  std::vector<TensorAccess> inputs;  // in order of reading
  TensorAccess output;

  bool IsMatmul() const { return kind == Kind::kReduction && reduction_type == "batchmatmul"; }
  bool IsTopK() const { return kind == Kind::kReduction && reduction_type.rfind("topk", 0) == 0; }
};

// What a pass refuses. `type` and `kind` are those of the public compiler's own errors (facts 6),
// so that results can be compared: "Unsupported", "AssertionError", ...
class CompileError : public Error {
 public:
  CompileError(std::string type, std::string kind, const std::string& message)
      : Error(ErrorKind::kBadInput, message), type_(std::move(type)), kind_(std::move(kind)) {}
  const std::string& type() const { return type_; }
  const std::string& message_kind() const { return kind_; }
  // As Error's own, but what is thrown stays a CompileError.
  CompileError&& Subject(std::string subject) && {
    static_cast<Error&&>(*this).Subject(std::move(subject));
    return std::move(*this);
  }
  CompileError&& Remedy(std::string remedy) && {
    static_cast<Error&&>(*this).Remedy(std::move(remedy));
    return std::move(*this);
  }

 private:
  std::string type_;
  std::string kind_;
};

// Throws BadInput, naming the operation and the tensor, unless every list has the length it should,
// there are at most kMaxLoops loops, ranges and sizes are at least 1, constants and coefficients at
// least 0, and no address overflows 64 bits. Every pass may then compute without checks.
void CheckOp(const OpIr& op);

}  // namespace spyre::compiler
