// SPDX-License-Identifier: Apache-2.0
// The front end's graph: operations in order of execution, the buffers that they write, and the
// tensors that come from and go to the caller. Coarse tiling rewrites it (coarse_tile.h,
// tiling_propagation.h); loop_groups.h makes the loop tree of it; ToOpIr gives one operation to
// work division and LX planning.
//
// Sizes and ranges in elements. Plain data and pure functions, any thread. Source: the
// coarse-tiling RFC, docs/facts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/contract/stick_layout.h"
#include "runtime/compiler/ir/extent.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::compiler {

// Where a buffer's elements are.
struct BufferLayout {
  enum class Kind : uint8_t {
    kTiled,     // it has a place in device memory: `device` holds
    kPlain,     // sizes and strides only
    kMutation,  // the operation writes into the buffer `target` instead of one of its own
  };

  Kind kind = Kind::kTiled;
  std::vector<Extent> size;
  std::vector<Extent> stride;
  // Follows from size and stride while those are numbers; a symbolic size leaves the last layout
  // unchanged.
  StickLayout device;
  std::string target;  // kMutation
  // kMutation: where in the target the operation begins, one for each host dimension; empty: it
  // writes all of the target, from loops around it if there are any.
  std::vector<int64_t> offset;
  // kMutation: the dimension of the target, outermost on the device, whose index is what the
  // operation's first read holds; -1: none.
  int chosen = -1;
  bool per_tile_fixed = false;  // used again by every iteration at the same address; kTiled only
};

// Contiguous, in the default stick layout of `format` with the stick along host dimension
// `stick_dim`; -1: the last.
BufferLayout MakeBufferLayout(const std::vector<int64_t>& size, DataFormat format,
                              int stick_dim = -1);

// One read of an operation. Host dimension d of the buffer is walked by loop `loop[d]` of the
// operation (ranges first, then reduction ranges), from `offset[d]` on; loop -1: it stays at the
// offset (broadcast). An empty `offset` is all zero.
struct GraphRead {
  std::string buffer;
  std::vector<int> loop;
  std::vector<int64_t> offset;
  // The host dimension, outermost on the device, whose index is what the operation's first read
  // holds; -1: none.
  int chosen = -1;
};

// The counted loops around an operation, outermost first; the three lists have the same length.
struct LoopStamp {
  std::vector<int> group_id;  // path: group, then slot at each deeper level
  std::vector<Extent> count;  // trips of each level
  // Per level: positions in `ranges` that it divides; of a partial reduction also behind them, in
  // reduction_ranges.
  std::vector<std::vector<int>> tiled_dims;
};

// One hint that covers an operation: the dimension it names, resolved for this operation.
struct DimHint {
  int hint_id = 0;  // the same on all operations of a scope, larger for inner scopes
  std::string dim;
  int64_t count = 1;             // slices
  std::optional<int> dim_index;  // position in `ranges`; nothing: the operation lacks the dimension
  bool is_reduction = false;     // the operation reduces along it; dim_index counts on from ranges
};

struct GraphOp {
  enum class Kind : uint8_t {
    kPointwise,
    kReduction,
    kEmpty,   // allocates its buffer and computes nothing
    kExtern,  // runs elsewhere; passes leave it as it is
  };

  std::string name;  // of the operation and of the buffer it writes
  Kind kind = Kind::kPointwise;
  std::string op;              // an OpFunc name, "add", "batchmatmul"
  std::string reduction_type;  // as OpIr::reduction_type
  // Loops may divide what it reduces: its result is that of one tile, which another operation adds
  // to the others (tiled_reductions.h).
  bool partial = false;
  std::vector<Extent> ranges;  // one per host dimension of the output, in order
  std::vector<Extent> reduction_ranges;
  std::vector<std::string> loop_names;  // as ranges, then reduction_ranges; empty: see NameLoops
  std::vector<GraphRead> reads;
  DataFormat host_format = DataFormat::kIeeeFp16;
  BufferLayout layout;
  std::optional<LoopStamp> loop;  // nothing: not in a loop
  std::vector<DimHint> dim_hints;
  std::vector<OpConstant> constants;

  // Of a loop of the operation, ranges first, then reduction ranges.
  Extent RangeOf(int position) const;
  bool IsComputed() const { return kind == Kind::kPointwise || kind == Kind::kReduction; }
  bool Reads(const std::string& buffer) const;
  // The elements of its first read choose what of another one is read, or where it writes.
  bool Gathers() const;
  // It adds to a result in each iteration of the loops around it, which is not work done again.
  bool Accumulates() const;
};

struct GraphInput {
  std::string name;
  DataFormat host_format = DataFormat::kIeeeFp16;
  BufferLayout layout;
  std::vector<std::string> dim_names;  // one per host dimension, "": no name; empty: none named
};

struct Graph {
  std::vector<GraphInput> inputs;
  std::vector<GraphOp> ops;
  std::vector<std::string> outputs;  // buffers that the caller gets

  const GraphOp* Find(const std::string& name) const;  // null: no such operation
  GraphOp* Find(const std::string& name);
  const GraphInput* FindInput(const std::string& name) const;  // null: no such input
  bool IsOutput(const std::string& buffer) const;
  bool IsChosenFrom(const std::string& buffer) const;  // or written to, by one that gathers
  // The layout of a buffer by name, through mutations. Throws BadInput for an unknown name.
  const BufferLayout& LayoutOf(const std::string& buffer) const;
};

// Loops are named c0, c1, ... in order of ranges, then reduction ranges; of a tiled operation they
// walk one tile. Indices use the strides of the buffer that is read, tile or whole tensor. Throws
// BadInput for symbolic sizes, for an operation that is not computed, and for reads that do not fit
// their buffer.
OpIr ToOpIr(const Graph& graph, const GraphOp& op);

}  // namespace spyre::compiler
