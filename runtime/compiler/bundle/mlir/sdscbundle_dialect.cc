// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/mlir/sdscbundle_dialect.h"

#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/ExtensibleDialect.h>
#include <mlir/IR/OpImplementation.h>

#include <string>

namespace spyre::compiler {
namespace {

using mlir::failure;
using mlir::ParseResult;
using mlir::success;

constexpr char kDialect[] = "sdscbundle";

mlir::LogicalResult NothingToVerify(mlir::Operation*) { return success(); }
void PrintNothing(mlir::Operation*, mlir::OpAsmPrinter&, llvm::StringRef) {}

ParseResult ParseExecute(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  if (parser.parseOperandList(operands, mlir::OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes)) {
    return failure();
  }
  return parser.resolveOperands(operands, parser.getBuilder().getIndexType(), result.operands);
}

ParseResult ParseExtract(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  llvm::StringRef field;
  mlir::OpAsmParser::UnresolvedOperand operand;
  mlir::Type type;
  mlir::Type value;
  const auto at = parser.getCurrentLocation();
  if (parser.parseKeyword(&field)) return failure();
  if (field != "value" && field != "granularity" && field != "max_value") {
    return parser.emitError(at) << "'" << field
                                << "' where value, granularity or max_value should be";
  }
  if (parser.parseKeyword("from") || parser.parseOperand(operand) || parser.parseColonType(type) ||
      parser.parseArrow() || parser.parseType(value)) {
    return failure();
  }
  result.addAttribute("field", parser.getBuilder().getStringAttr(field));
  result.addTypes(value);
  return parser.resolveOperand(operand, type, result.operands);
}

ParseResult ParseAllocate(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  int64_t bytes = 0;
  mlir::Type value;
  if (parser.parseInteger(bytes) || parser.parseKeyword("bytes") || parser.parseColonType(value)) {
    return failure();
  }
  result.addAttribute("size", parser.getBuilder().getI64IntegerAttr(bytes));
  result.addTypes(value);
  return success();
}

// <index, granularity=64, max_value=512>
ParseResult ParseInputArg(mlir::AsmParser& parser,
                          llvm::SmallVectorImpl<mlir::Attribute>& parameters) {
  mlir::Type value;
  if (parser.parseLess() || parser.parseType(value)) return failure();
  parameters.push_back(mlir::TypeAttr::get(value));
  while (succeeded(parser.parseOptionalComma())) {
    std::string name;
    int64_t number = 0;
    const auto at = parser.getCurrentLocation();
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseInteger(number)) {
      return failure();
    }
    if (name != "granularity" && name != "max_value") {
      return parser.emitError(at) << "'" << name << "' where granularity or max_value should be";
    }
    mlir::Builder builder(parser.getContext());
    parameters.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(name, builder.getI64IntegerAttr(number))));
  }
  return parser.parseGreater();
}

void AddOperation(mlir::DynamicDialect& dialect, llvm::StringRef name,
                  ParseResult (*parse)(mlir::OpAsmParser&, mlir::OperationState&)) {
  dialect.registerDynamicOp(mlir::DynamicOpDefinition::get(name, &dialect, NothingToVerify,
                                                           NothingToVerify, parse, PrintNothing));
}

}  // namespace

void RegisterSdscBundle(mlir::DialectRegistry& registry) {
  registry.insertDynamic(kDialect, [](mlir::MLIRContext*, mlir::DynamicDialect* dialect) {
    const auto verify = [](llvm::function_ref<mlir::InFlightDiagnostic()>,
                           llvm::ArrayRef<mlir::Attribute>) { return success(); };
    dialect->registerDynamicType(mlir::DynamicTypeDefinition::get(
        "input_arg", dialect, verify, ParseInputArg,
        [](mlir::AsmPrinter& printer, llvm::ArrayRef<mlir::Attribute>) { printer << "<...>"; }));
    AddOperation(*dialect, "sdsc_execute", ParseExecute);
    AddOperation(*dialect, "input_arg_extract", ParseExtract);
    AddOperation(*dialect, "device_mem_allocate", ParseAllocate);
  });
}

std::optional<InputArgType> AsInputArg(mlir::Type type) {
  auto dynamic = mlir::dyn_cast<mlir::DynamicType>(type);
  if (!dynamic) return std::nullopt;
  InputArgType result;
  for (const mlir::Attribute parameter : dynamic.getParams()) {
    const auto pair = mlir::dyn_cast<mlir::DictionaryAttr>(parameter);
    if (!pair || pair.size() != 1) continue;
    const mlir::NamedAttribute named = *pair.begin();
    const auto number = mlir::dyn_cast<mlir::IntegerAttr>(named.getValue());
    if (!number) continue;
    (named.getName() == "granularity" ? result.granularity : result.max_value) = number.getInt();
  }
  return result;
}

}  // namespace spyre::compiler
