// SPDX-License-Identifier: Apache-2.0
// A bundle: SuperDSCs in execution order with counted loops around them. Everything that runs on
// the card as a kernel of several operations becomes a Bundle first: SDSC directories are read into
// it, OpSpec source and op lists are emitted into it; code generation takes it. Plain data.
//
// Addresses and strides in bytes. Source: public SDSC bundle specification, the coarse-tiling RFC.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/module.h"
#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

// What the caller of a kernel gives, in order of the launch: tensors, and values of dimensions.
struct BundleArgument {
  enum class Kind : uint8_t { kTensor, kPool, kDimension };
  Kind kind = Kind::kTensor;
  std::string name;  // "arg_0", "pool"
  // kDimension: largest value and granularity, both in trips of the loops that it bounds; a trip
  // stands for `unit` elements of what the front end calls the dimension, the last one for fewer.
  int64_t max = 0;
  int64_t granularity = 1;
  int64_t unit = 1;
};

// An address: a start, plus a step for each enclosing loop's iteration.
struct AddressExpression {
  // Position in Bundle::arguments whose base is added; -1: `constant` is absolute, a device virtual
  // address whose segment says which tensor it is in.
  int argument = -1;
  int64_t constant = 0;
  std::vector<int64_t> loop_stride;  // outermost loop first, one per enclosing loop
};

struct BundleExecute {
  int dsc = 0;                                   // position in Bundle::dscs
  std::map<int64_t, AddressExpression> symbols;  // by symbol id; ids are negative
};

struct BundleLoop;
using BundleNode = std::variant<BundleExecute, BundleLoop>;

struct BundleLoop {
  int64_t count = 1;        // trips, at least 1; of a symbolic loop its most
  int count_argument = -1;  // a kDimension argument that holds the count, -1: constant
  std::vector<BundleNode> body;
};

struct Bundle {
  std::string name;                // for reports: of the directory, or of the kernel source
  std::vector<std::string> files;  // of each dsc, "sdsc_0.json"
  std::vector<SuperDsc> dscs;
  std::vector<BundleArgument> arguments;  // empty where addresses are constants
  std::vector<BundleNode> body;
  // What its files leave open or contradict each other in, and how that was taken.
  std::vector<std::string> notes;
};

// Reads bundle.mlir and the SDSC files that it names. Without bundle.mlir, the sdsc_*.json files of
// the directory in numeric order, no loops. Throws BadInput with file, line and column: MLIR
// syntax, operations and types that a bundle does not have, symbolic loop bounds that are no
// argument, operands that are not affine expressions of loops and arguments, counts of operands and
// symbol ids that differ, symbol ids that a file uses and the call does not bind, files that are
// missing or outside the directory.
Bundle ReadBundle(const std::filesystem::path& directory);
// Whether that is a directory with a bundle.mlir, so that ReadBundle opens the module that knows
// MLIR.
bool HasBundleMlir(const std::filesystem::path& directory);
// The MLIR alone, by the module that knows MLIR: `files` in order of first use; dscs stay empty,
// execute.dsc is a position in files. Also throws as base/module.h says.
inline constexpr Module kBundleMlirModule{"spyre_bundle_mlir", "the reader of bundle.mlir"};
Bundle ParseBundleMlir(const std::string& text, const std::string& file);

// How the bundle uses one argument, found by walking every execute and loop.
struct ArgumentUse {
  bool read = false;
  bool written = false;
  bool read_first = false;     // some byte is read that no earlier execute wrote
  uint64_t bytes = 0;          // to behind the last byte that any core touches in any iteration
  uint64_t written_bytes = 0;  // likewise, of what is written
  uint64_t whole_bytes = 0;    // from the first byte on, of which every one is written
};

// Replaces absolute addresses by arguments: each segment that is used is one, in order of segments,
// but for the pool: segment 0 if its bytes are written before they are read, and read as well, or
// if `pool_in_segment_0` says so. Nothing to do for a bundle that has arguments. Returns how each
// argument is used. Throws BadInput for an address in the program segment or beyond the last.
std::vector<ArgumentUse> BindSegments(Bundle& bundle,
                                      std::optional<bool> pool_in_segment_0 = std::nullopt);

std::vector<ArgumentUse> ArgumentUses(const Bundle& bundle);  // after BindSegments

// From the front end's objects: one SuperDSC per operation, symbols for the addresses. Throws
// CompileError as the public emitter would (facts 3.9, 6), and for an UnimplementedOp, which that
// skips without a word.
Bundle EmitBundle(const KernelSource& source, BundleDialect dialect);
// bundle.mlir and the SDSC files; creates the directory.
void WriteBundle(const Bundle& bundle, BundleDialect dialect, const std::filesystem::path& dir);
std::string BundleMlir(const Bundle& bundle, BundleDialect dialect);

}  // namespace spyre::compiler
