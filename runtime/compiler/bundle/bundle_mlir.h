// SPDX-License-Identifier: Apache-2.0
// The text of bundle.mlir: loops, address arithmetic and one execute per SuperDSC. One writer for
// every caller: BundleMlir (bundle.h) gives it a Bundle, `opt bundle` a loop tree whose addresses
// come without SuperDSCs.
//
// Numbering, depth first throughout: affine maps by first use of their strides, loop bounds and
// induction variables by loop, addresses by use, symbols by id. Pure functions, any thread. Source:
// public bundle emitter, docs/facts.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// Addresses of an operation that advance together: one symbol id per core, repeated where cores
// share an address.
struct MlirTensor {
  std::vector<int64_t> symbols;
  std::vector<int64_t> loop_stride;  // bytes per iteration, outermost loop first; may end early
};

struct MlirExecute {
  std::string file;
  std::vector<MlirTensor> tensors;  // in device memory; those in LX have no symbols
};

struct MlirLoop;
using MlirNode = std::variant<MlirExecute, MlirLoop>;

struct MlirLoop {
  int64_t count = 1;
  int count_argument = -1;  // as BundleLoop
  std::vector<MlirNode> body;
};

// What a symbol stands for: `value` bytes behind the start of a slice, which is `slice` bytes
// behind the base of an argument; argument -1: `value`.
struct MlirSymbol {
  int argument = -1;
  int64_t value = 0;
  int64_t slice = 0;
};

struct MlirModule {
  bool with_symbols = true;  // executes have operands and symbol_ids
  std::vector<BundleArgument> arguments;
  std::map<int64_t, MlirSymbol> symbols;  // by id; ids are negative
  std::vector<MlirNode> body;
};

// Among the tensors of one operation that name the same symbol, the first that advances decides how
// it does. Throws Error(kInternal) for an id that `symbols` lacks.
std::string WriteMlir(const MlirModule& module);

}  // namespace spyre::compiler
