// SPDX-License-Identifier: Apache-2.0
// Kernel sources for the tests of bundle emission, in the words of the front end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/contract/formats.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

inline constexpr int64_t kTestSegment = 0x400000000;

// An argument in device memory at the base of its segment; the coordinates are expressions.
inline TensorArg MakeArg(int index, std::vector<int64_t> device_size,
                         const std::vector<std::string>& coordinates,
                         DataFormat format = DataFormat::kSen169Fp16) {
  TensorArg arg;
  arg.arg_index = index;
  arg.device_format = format;
  arg.device_size = std::move(device_size);
  for (const std::string& text : coordinates) {
    arg.device_coordinates.push_back(ParseExpression(text));
  }
  arg.address = index * kTestSegment;
  return arg;
}

inline TensorArg MakeScratch(Memory memory, int64_t address, std::vector<int64_t> device_size,
                             const std::vector<std::string>& coordinates) {
  TensorArg arg = MakeArg(0, std::move(device_size), coordinates);
  arg.arg_index = -1;
  arg.memory = memory;
  arg.address = address;
  return arg;
}

// The last argument is the output.
inline OpSpec MakeOp(const std::string& name, std::vector<IterationSymbol> space,
                     std::vector<TensorArg> args, bool is_reduction = false) {
  OpSpec op;
  op.op = name;
  op.is_reduction = is_reduction;
  op.iteration_space = std::move(space);
  op.args = std::move(args);
  op.args.back().is_input = false;
  return op;
}

inline KernelSource SourceOf(std::vector<SpecNode> body) { return {"kernel", std::move(body)}; }

inline SuperDsc Emit(const OpSpec& op, BundleDialect dialect = BundleDialect::kBakedAddresses) {
  return EmitBundle(SourceOf({op}), dialect).dscs.at(0);
}

// Rows x columns in sticks of 64 columns: [ceil(columns / 64), rows, 64].
inline const std::vector<std::string>& RowsByColumns() {
  static const std::vector<std::string> coordinates = {"floor(c1/64)", "c0", "Mod(c1, 64)"};
  return coordinates;
}

}  // namespace spyre::compiler
