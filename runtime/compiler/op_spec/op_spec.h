// SPDX-License-Identifier: Apache-2.0
// What the front end hands to bundle emission: operations with their iteration space, tensors with
// device coordinates, and counted loops around them (the coarse-tiling RFC). Plain data.
//
// Sizes and ranges in elements, allocations in bytes. Sources: the coarse-tiling RFC,
// docs/facts.md; the newest front end's form of the same objects is read into these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/contract/formats.h"
#include "runtime/compiler/ir/expression.h"

namespace spyre::compiler {

enum class Memory : uint8_t { kHbm, kPool, kLx };

struct TensorArg {
  bool is_input = true;
  int arg_index = -1;  // kernel argument, -1: scratch
  DataFormat device_format = DataFormat::kSen169Fp16;
  std::vector<int64_t> device_size;            // outermost first, the last inside the stick
  std::vector<Expression> device_coordinates;  // one per device dimension
  Memory memory = Memory::kHbm;
  int64_t address = 0;  // hbm: device virtual address, or (newest form) the argument's number;
                        // pool: offset in the pool; lx: offset in the LX of every core
  std::vector<int64_t>
      stride_map;               // host strides as given, of any length; empty in the newest form
  bool per_tile_fixed = false;  // not advanced by the loops around it
  // Of an index tensor: the position among the operation's arguments of the tensor that it chooses
  // from. That has the device dimensions of one block, which lie one behind the other.
  int related_value_tensor_idx = -1;
  // Newest form: device elements from the first tile, over one symbol per loop level.
  std::optional<Expression> tile_advance;
};

struct IterationSymbol {
  std::string name;
  int64_t range = 1;  // of one core group, that is of the tile, before the split
  int split = 1;
};

struct OpConstant {
  std::string name;  // "eps", "clipMin", ...
  double value = 0;
};

// A matmul with this constant masks what the sticks of its first operand hold behind the last
// element that is summed over, as the public hardware is said to do (docs/compiler-passes.md); it
// may be the NaN of a function that was applied to whole sticks. The public compiler does not have
// it.
inline constexpr const char* kMaskContraction = "maskContraction";

struct OpSpec {
  std::string op;  // an OpFunc name, "add", "batchmatmul", "ReStickifyOpHBM", ...
  bool is_reduction = false;
  std::vector<IterationSymbol> iteration_space;  // in loop order
  std::vector<TensorArg> args;                   // inputs first, then the output
  std::vector<OpConstant> constants;             // op_info's, in its order: it numbers them
  // Newest form: which slice of each iteration symbol a core has, over "core_id", as
  // iteration_space. Empty: the default order (first dimension fastest; K of a matmul first).
  std::vector<Expression> core_slices;
  // The iteration symbols (newest form: the symbols of tile_advance) that each enclosing loop
  // advances, outermost loop first. Empty outside loops, and where nothing advances.
  std::vector<std::vector<std::string>> tiled_symbols;

  bool HasConstant(std::string_view name) const;
};

// An operation that the front end could not lower; emission refuses it.
struct UnimplementedOp {
  std::string op;
};

struct LoopSpec;
using SpecNode = std::variant<OpSpec, UnimplementedOp, LoopSpec>;

struct LoopSpec {
  std::variant<int64_t, std::string> count = int64_t{1};  // a string: a symbolic count
  std::vector<SpecNode> body;
};

// One kernel: what one sdsc() call of the front end holds.
struct KernelSource {
  std::string name;  // "sdsc_fused_add_mul_0"; "" if the source does not say
  std::vector<SpecNode> body;
};

// Constructor calls in Python syntax, as the front end writes them:
// `[OpSpec(op='add', ..., args=[TensorArg(...)]), LoopSpec(count=sympify('4'), body=[...])]`, bare
// or as the second argument of async_compile.sdsc('name', [...]). Reads the keys of the
// coarse-tiling RFC and the newest ones. Of a wrapper module with several calls the one of the
// kernel `kernel` is read; "" is the only one. Throws BadInput with file, line, column and what was
// expected. `file` is for messages.
KernelSource ParseOpSpecSource(const std::string& text, const std::string& file,
                               const std::string& kernel = "");
// The same source again, in the form of the RFC if that can say it, else in the newest, whole
// (spec_era.h). ParseOpSpecSource of it gives a KernelSource that means the same, and that has the
// same text.
std::string ToSource(const KernelSource& source);

}  // namespace spyre::compiler
