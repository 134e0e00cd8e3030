// SPDX-License-Identifier: Apache-2.0
// The sdscbundle dialect as MLIR needs it to parse a bundle: one type and three operations, built
// at run time. Only the files of this folder include it.
//
//   sdscbundle.sdsc_execute (%a, %b) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2]}
//   %v = sdscbundle.input_arg_extract value from %p : !sdscbundle.input_arg<index> -> index
//   %p = sdscbundle.device_mem_allocate 65536 bytes : index
//
// What an operation says besides operands becomes attributes: "field", "size". The parameters of
// the type: the type itself, then granularity and max_value as given, each as a dictionary of one.
// Source: public SDSC bundle specification (docs/facts.md).
#pragma once

#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/DialectRegistry.h>
#include <mlir/IR/Types.h>

#include <cstdint>
#include <optional>

namespace spyre::compiler {

void RegisterSdscBundle(mlir::DialectRegistry& registry);

// The parameters of !sdscbundle.input_arg<index, granularity=64, max_value=512>; nothing for other
// types.
struct InputArgType {
  std::optional<int64_t> granularity;
  std::optional<int64_t> max_value;
};
std::optional<InputArgType> AsInputArg(mlir::Type type);

}  // namespace spyre::compiler
