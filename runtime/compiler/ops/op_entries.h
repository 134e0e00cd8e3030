// SPDX-License-Identifier: Apache-2.0
// The operations: one entry each. An entry has every name of its operation, its operands and types,
// the rule for the shape of its result, and what the card executes for it (its OpFuncs). Lists of
// operations, `workload.op`, bundles, code generation, messages and docs/operations.md read these
// entries; nothing else names an operation. What an operation means in real numbers is said apart,
// in cosim/reference/reference_functions.cc, which no code of the card reads.
//
// Constant data, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::compiler {

struct OpEntry {
  // The rule for the shape of the result.
  enum class Kind : uint8_t {
    kPointwise,  // operands broadcast over the dimensions that they lack
    kReduction,  // those of the operand without `dim`
    kMatmul,     // of both operands, without the one that is summed
    kComposite,  // as its chain of other operations has it (list/decompose.h)
    kView,       // computes nothing: its readers read the operand, from an offset on
    kCat,        // those of its operands, with one more: they follow each other along it
    kGather,     // those of the first operand, with those of the second, of indices, for `dim`
    kScatter,  // those of the first operand, in which indices say what the third takes the place of
    kExtern,   // computed elsewhere (ExternKernel, FallbackKernel): passes leave it as it is
    kTopK,     // of the operand, with ranks, `into`, for `dim`
    kHost,     // computed by the host between two kernels: as `host_shape` says
    kCollective,  // done by several cards between two kernels: as the operand, or `into` for `dim`
  };

  std::string_view name;
  Kind kind = Kind::kPointwise;
  std::vector<std::string_view> aliases;  // names of torch and others for it
  // In lists of operations and in workload.op; false: in bundles only, by its OpFuncs.
  bool listed = true;
  int min_inputs = 1, max_inputs = 1;
  std::vector<std::string_view> constants;  // keys that it may have in a list
  bool has_dim =
      false;  // `dim` is summed, works along, (restickify) goes into the stick, is sliced, joined
  // What the card executes; of a reduction one for each side of the stick. None: composites, which
  // decompose.h takes apart, views, kCat, which is a copy of each operand, kGather and kScatter.
  std::vector<OpFunc> op_funcs;
  // Of kHost: whether the operands broadcast, the result is as the first, without `dim`, or as the
  // second, of indices, with what else the first has.
  enum class HostShape : uint8_t { kBroadcast, kOperand, kWithoutDim, kChosen };
  HostShape host_shape = HostShape::kBroadcast;
  bool gives_int32 = false;  // whatever the operands are: of kHost
  // Of a reduction: the OpFunc that makes the whole of two partial results; "": none does.
  std::string_view combiner;
  std::string_view meaning;  // where the functions of the vector unit do not say it

  // A dimension of the operands becomes another one, `into`.
  bool HasInto() const {
    return kind == Kind::kView || kind == Kind::kCat || kind == Kind::kTopK ||
           (kind == Kind::kCollective && has_dim);
  }
  // Whether the second operand, of int32, numbers elements of the first.
  bool HasIndices() const { return Chooses() || name == "gather" || name == "scatter"; }
  // By its second operand, indices, among blocks of the first.
  bool Chooses() const { return kind == Kind::kGather || kind == Kind::kScatter; }
  // What a list's operation becomes; "": nothing by itself. (convert: depends on the types.)
  std::string_view op_func() const {
    return op_funcs.empty() || kind == Kind::kComposite ? "" : op_funcs.front().name;
  }
  // The result is 1 or 0, as one comparison of two operands decides.
  bool Compares() const { return op_funcs.size() == 1 && IsComparison(op_funcs.front()); }
};

const std::vector<OpEntry>& OpEntries();

// By name or alias, of those that are listed. nullptr: unknown.
const OpEntry* FindNamedOperation(std::string_view name_or_alias);

// The entry that an OpFunc belongs to. nullptr: unknown.
const OpEntry* FindEntryOf(std::string_view op_func);

// OpEntry::combiner of the reduction or matmul that this OpFunc is; "": nothing combines it.
std::string_view CombinerOf(std::string_view op_func);

}  // namespace spyre::compiler
