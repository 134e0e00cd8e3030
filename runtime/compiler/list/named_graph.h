// SPDX-License-Identifier: Apache-2.0
// A list of operations over tensors with named dimensions, as a workload gives it: what to compute,
// and the tiling hints. Dimensions are matched by name: operands broadcast over those that they
// lack, and a matmul contracts the one that both share.
//
// Callers: the workload reader (ReadNamedGraph), lowering (lowering.h), the float64 reference.
// Plain data and pure functions, any thread. Sizes in elements.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/contract/formats.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::compiler {

constexpr int64_t kMaxListElements = 1ll << 42;  // of a tensor: 8 TiB of float16, beyond any card
constexpr size_t kMaxListRank = 6;               // a layout has one place more

struct NamedDim {
  std::string name;
  int64_t size = 1;
};

struct NamedTensor {
  enum class Origin : uint8_t {
    kInput,     // given by the caller: a file or generated data
    kConstant,  // a number among an operation's inputs: a scalar that is an argument of the kernel
    kComputed,  // the output of an operation
  };

  std::string name;
  Origin origin = Origin::kInput;
  std::vector<int> dims;  // positions in NamedGraph::dims, as the host has them
  int stick = kNoChoice;  // position in NamedGraph::dims: the dimension inside the stick
  // That, kIeeeFp32, between conversions kSen143Fp8, or kIeeeInt32 of indices and of what the host
  // computes.
  DataFormat format = DataFormat::kIeeeFp16;
  std::string file;  // of an input; "": generated
  double value = 0;  // of a constant
  // Of an input: a mask that is added to scores. 0 where the index in the last dimension is at most
  // the one in the dimension before, else -65504, the lowest number of float16.
  bool causal = false;
  // Of an input, where several cards run the list: what it says is the part of one card of a tensor
  // that all of them have together, divided along this position in NamedGraph::dims; or every card
  // has the same. Neither: each has elements of its own.
  int split = kNoChoice;
  bool same = false;

  static constexpr int kNoChoice = -1;
  static constexpr int kSparse = -2;  // one element in each stick
};

struct NamedOp {
  std::string op;           // OpEntry::name
  std::vector<int> inputs;  // positions in NamedGraph::tensors
  int output = -1;
  // Positions in NamedGraph::dims; see has_dim. Of a cat one for each operand: OutputDims repeats a
  // single one.
  std::vector<int> reduced;
  std::map<std::string, double> constants;  // "eps", "scale", "clipMin", ...
  int into = -1;  // of a slice or cat: the dimension that the output has instead of `reduced`
  std::string function = {};  // of an extern: what computes it, "aten.topk"
  // The host computes it between two kernels: it is of OpEntry::kHost, or on integers. Or several
  // cards do it together (collectives.h).
  bool on_host = false;
};

// `slices` around a range of operations, one loop for each, outermost first.
struct NamedHint {
  std::vector<int> ops;  // positions in NamedGraph::ops, ascending
  struct Slice {
    int dim = -1;  // position in NamedGraph::dims
    int64_t count = 1;
  };
  std::vector<Slice> slices;
};

struct NamedGraph {
  std::vector<NamedDim> dims;
  std::vector<NamedTensor> tensors;
  std::vector<NamedOp> ops;      // in order of execution
  std::vector<NamedHint> hints;  // outermost first
  std::vector<int> outputs;      // positions in tensors

  int64_t Elements(const NamedTensor& tensor) const;
  std::vector<int64_t> Shape(const NamedTensor& tensor) const;
  std::string ShapeText(const NamedTensor& tensor) const;  // "[A=1024, B=4096]"
};

bool HasDim(const std::vector<int>& dims, int dim);
// The first index of a slice: its constant "start". 0 where it is not given.
int64_t SliceStart(const NamedOp& op);

// Where each operand of a cat begins in its result, in elements along `into`.
std::vector<int64_t> CatStarts(const NamedGraph& graph, const NamedOp& op);

// What the output of `op` has: `reduced` is filled in for a matmul that leaves it to the operands
// (the last dimension of the first, which the second must have). Dimensions of the operands in
// order of first appearance without the reduced ones; those of a matmul: shared, then the first's,
// then the second's. An extern's are what the list says: none are returned. Throws BadInput saying
// which operand does not fit, and why.
std::vector<int> OutputDims(const NamedGraph& graph, NamedOp& op);

// The type of the output: the widest of the operands, float16 at least; numbers take any. (Of a
// conversion it is what the list says.)
DataFormat OutputFormat(const NamedGraph& graph, const NamedOp& op);

std::string_view HostTypeName(DataFormat format);  // "float16", "float32", "float8_e4m3fn"

// A kernel is one launch, and what is computed elsewhere comes between two: what to say to who
// wants a kernel of an extern. result: its output.
CompileError ExternInKernel(const std::string& result, const std::string& function);
void RequireNoExtern(const NamedGraph& graph);  // throws it for the first

// ---------------------------------------------------------------- reading

// The form is described in docs/operation-lists.md:
//   {"dims": {"A": 1024}, "tensors": [{"name", "dims", "stick"?, "file"?}],
//    "ops": [{"op", "inputs", "output", "dim"?, "dims"?, ...}],
//    "hints": [{"ops"?, "slices": {"A": 2}}], "outputs": [...]}
// Keys keep their order, because the slices of one hint nest in it. Keys that belong to the
// workload around it are the caller's. Relative files stay as they are.
//
// Throws BadInput naming the key with its path ("ops[1].inputs[0]"), the value and the nearest
// name: unknown keys, operations, tensors and dimensions; duplicate names; inputs that are
// not used, tensors that are read before they are written; operands that do not fit; ranges of
// operations in a hint that are not contiguous; too many or too large tensors.
NamedGraph ReadNamedGraph(const nlohmann::ordered_json& value);

}  // namespace spyre::compiler
