// SPDX-License-Identifier: Apache-2.0
// A text of MLIR as a module, with every dialect that a bundle may use. Only the files of this
// folder include it.
#pragma once

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>

#include <memory>
#include <string>

namespace spyre::compiler {

struct ParsedModule {
  std::unique_ptr<mlir::MLIRContext> context;  // outlives the module
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

// Throws BadInput with file, line, column and MLIR's own message for text that does not parse or
// that its verifier refuses. CheckMlirText has accepted the text.
ParsedModule ParseMlir(const std::string& text, const std::string& file);

// "file:line:column" where the location says so, else the file.
std::string PlaceOf(mlir::Location location, const std::string& file);

}  // namespace spyre::compiler
