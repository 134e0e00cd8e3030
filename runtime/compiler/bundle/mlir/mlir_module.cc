// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/mlir/mlir_module.h"

#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <mlir/Dialect/Affine/IR/AffineOps.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/DialectRegistry.h>
#include <mlir/Parser/Parser.h>

#include "base/error.h"
#include "runtime/compiler/bundle/mlir/sdscbundle_dialect.h"

namespace spyre::compiler {

ParsedModule ParseMlir(const std::string& text, const std::string& file) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::scf::SCFDialect>();
  RegisterSdscBundle(registry);
  ParsedModule parsed;
  parsed.context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  const mlir::ScopedDiagnosticHandler first_error(
      parsed.context.get(), [&](mlir::Diagnostic& diagnostic) {
        if (message.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
          message =
              fmt::format("{}: {}", PlaceOf(diagnostic.getLocation(), file), diagnostic.str());
        }
        return mlir::success();
      });
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, file), llvm::SMLoc());
  parsed.module =
      mlir::parseSourceFile<mlir::ModuleOp>(source, mlir::ParserConfig(parsed.context.get()));
  if (!parsed.module) {
    throw BadInput("{}", message.empty() ? file + ": this is not an MLIR module" : message);
  }
  return parsed;
}

std::string PlaceOf(mlir::Location location, const std::string& file) {
  const auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  if (!place) return file;
  return fmt::format("{}:{}:{}", place.getFilename().str(), place.getLine(), place.getColumn());
}

}  // namespace spyre::compiler
