// SPDX-License-Identifier: Apache-2.0
// bundle.mlir as a Bundle: the function's values as affine functions of arguments and loops.
#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/AffineMap.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>
#include <modules/spyre_bundle_mlir.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/bundle/mlir/affine_evaluation.h"
#include "runtime/compiler/bundle/mlir/mlir_module.h"
#include "runtime/compiler/bundle/mlir/sdscbundle_dialect.h"
#include "runtime/compiler/bundle/mlir/text_check.h"

namespace spyre::compiler {
namespace {

using ArgumentKind = BundleArgument::Kind;

constexpr size_t kMaxLoops = 16;
constexpr int64_t kMaxPoolBytes = static_cast<int64_t>(kSegmentBytes);

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

class Evaluator {
 public:
  Evaluator(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Bundle Evaluate(mlir::ModuleOp module) {
    mlir::Operation* function = nullptr;
    for (mlir::Operation& op : *module.getBody()) {
      if (Name(op) != "func.func") Fail(op, "'{}' where the one func.func should be", Name(op));
      if (function != nullptr) Fail(op, "a second function; a bundle has one");
      function = &op;
    }
    if (function == nullptr) Fail(*module, "there is no function");
    mlir::Region& body = function->getRegion(0);
    if (body.empty()) Fail(*function, "the function has no body");
    Parameters(body.front());
    Region(*function, bundle_.body);
    CountInTrips();
    return std::move(bundle_);
  }

 private:
  static std::string Name(mlir::Operation& op) { return op.getName().getStringRef().str(); }

  template <typename... Args>
  [[noreturn]] void Fail(mlir::Operation& op, fmt::format_string<Args...> format,
                         Args&&... args) const {
    throw BadInput("{}: {}", PlaceOf(op.getLoc(), file_),
                   fmt::format(format, std::forward<Args>(args)...));
  }

  // ---- arguments

  void Parameters(mlir::Block& entry) {
    for (mlir::BlockArgument parameter : entry.getArguments()) {
      const int position = static_cast<int>(bundle_.arguments.size());
      BundleArgument argument;
      argument.name = ParameterName(parameter);
      if (argument.name.rfind("pool", 0) == 0) argument.kind = ArgumentKind::kPool;
      if (const auto type = AsInputArg(parameter.getType())) {
        if (type->max_value || type->granularity) argument.kind = ArgumentKind::kDimension;
        argument.max = type->max_value.value_or(0);
        argument.granularity = type->granularity.value_or(1);
        if (argument.max < 0 || argument.granularity < 1) {
          throw BadInput("{}: max_value {} and granularity {} must be at least 1",
                         PlaceOf(parameter.getLoc(), file_), argument.max, argument.granularity);
        }
      } else if (!parameter.getType().isIndex()) {
        throw BadInput("{}: a parameter must be index or !sdscbundle.input_arg<index>",
                       PlaceOf(parameter.getLoc(), file_));
      }
      if (argument.kind == ArgumentKind::kPool) Pool(position, parameter.getLoc());
      values_[parameter] = AffineValue::Argument(position);
      bundle_.arguments.push_back(std::move(argument));
    }
    units_.assign(bundle_.arguments.size(), 0);
  }

  void Pool(int position, mlir::Location location) {
    if (pool_ >= 0) throw BadInput("{}: a second pool", PlaceOf(location, file_));
    pool_ = position;
  }

  // MLIR keeps no names of values: "%arg_0_base_addr" is read where the parameter stands.
  std::string ParameterName(mlir::BlockArgument parameter) const {
    std::string name;
    const auto place = parameter.getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    if (place && place.getFilename().str() == file_) {
      size_t at = 0;
      for (unsigned line = 1; line < place.getLine() && at < text_.size(); ++line) {
        at = std::min(text_.find('\n', at), text_.size() - 1) + 1;
      }
      at += place.getColumn() - 1;
      const size_t end = text_.find_first_of(": \t\r\n,)", at);
      if (at < text_.size() && text_[at] == '%') name = text_.substr(at + 1, end - at - 1);
    }
    for (const std::string_view suffix : {"_base_addr", "_base"}) {
      if (name.size() > suffix.size() &&
          name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
        name.resize(name.size() - suffix.size());
      }
    }
    return name.empty() ? fmt::format("arg_{}", parameter.getArgNumber()) : name;
  }

  // A launch gives trips: how often its loops run, not how many elements that is.
  void CountInTrips() {
    for (size_t i = 0; i < units_.size(); ++i) {
      BundleArgument& argument = bundle_.arguments[i];
      if (units_[i] == 0) continue;
      argument.unit = units_[i];
      argument.max = CeilDivide(argument.max, argument.unit);
      const bool whole = argument.granularity % argument.unit == 0;
      argument.granularity = whole ? argument.granularity / argument.unit : 1;
    }
  }

  // ---- operations

  void Region(mlir::Operation& op, std::vector<BundleNode>& nodes) {
    if (!op.getRegion(0).hasOneBlock()) Fail(op, "one block is allowed; there are no branches");
    for (mlir::Operation& inner : op.getRegion(0).front()) Operation(inner, nodes);
  }

  void Operation(mlir::Operation& op, std::vector<BundleNode>& nodes) {
    const std::string name = Name(op);
    if (name == "sdscbundle.sdsc_execute") return Execute(op, nodes);
    if (name == "scf.for" || name == "affine.for") return Loop(op, nodes);
    if (name == "func.return" || name == "scf.yield" || name == "affine.yield") return;
    if (op.getNumResults() != 1) {
      Fail(op, "a bundle has no '{}' (loops, affine arithmetic and sdscbundle only)", name);
    }
    values_[op.getResult(0)] = Result(op, name);
  }

  AffineValue Result(mlir::Operation& op, const std::string& name) {
    if (name == "arith.constant") return AffineValue::Constant(Constant(op));
    if (name == "affine.apply") return Apply(op);
    if (name == "arith.index_cast") return Value(op.getOperand(0));
    if (name == "sdscbundle.input_arg_extract") return Extract(op);
    if (name == "sdscbundle.device_mem_allocate") return Allocate(op);
    const auto operation = FindBinary(name);
    if (operation == nullptr) {
      Fail(op, "a bundle has no '{}' (loops, affine arithmetic and sdscbundle only)", name);
    }
    const auto value = operation(Value(op.getOperand(0)), Value(op.getOperand(1)));
    if (!value) FailAffine(op);
    return *value;
  }

  [[noreturn]] void FailAffine(mlir::Operation& op) const {
    Fail(op,
         "'{}': the value must be a sum of an argument, loop variables with constant factors and "
         "a constant, within 64 bits",
         Name(op));
  }

  const AffineValue& Value(mlir::Value value) const { return values_.find(value)->second; }

  int64_t Constant(mlir::Operation& op) const {
    const auto number = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.getAttr("value"));
    if (!number || number.getValue().getSignificantBits() > 64) {
      Fail(op, "the constant must be an integer of 64 bits");
    }
    return number.getValue().getSExtValue();
  }

  AffineValue Extract(mlir::Operation& op) const {
    const auto type = AsInputArg(op.getOperand(0).getType());
    const auto field = mlir::dyn_cast_or_null<mlir::StringAttr>(op.getAttr("field"));
    if (!type || !field) Fail(op, "the operand must be of type !sdscbundle.input_arg");
    const AffineValue& argument = Value(op.getOperand(0));
    if (field == "value") return argument;
    const auto given = field == "granularity" ? type->granularity : type->max_value;
    if (!given) Fail(op, "the type has no {}", field.getValue().str());
    return AffineValue::Constant(*given);
  }

  // The pool: all allocations behind each other.
  AffineValue Allocate(mlir::Operation& op) {
    const auto size = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.getAttr("size"));
    const int64_t bytes = size ? size.getInt() : 0;
    if (bytes < 1 || bytes > kMaxPoolBytes - pool_bytes_) {
      Fail(op, "{} bytes where 1 to {} should be", bytes, kMaxPoolBytes - pool_bytes_);
    }
    if (!steps_.empty()) Fail(op, "memory is allocated outside loops only");
    if (pool_bytes_ == 0) {
      Pool(static_cast<int>(bundle_.arguments.size()), op.getLoc());
      bundle_.arguments.push_back({});
      bundle_.arguments.back().kind = ArgumentKind::kPool;
      bundle_.arguments.back().name = "pool";
      units_.push_back(0);
    }
    AffineValue value = AffineValue::Argument(pool_);
    value.constant = pool_bytes_;
    pool_bytes_ =
        static_cast<int64_t>(AlignUp(static_cast<uint64_t>(pool_bytes_ + bytes), kStickBytes));
    return value;
  }

  // ---- affine maps

  AffineValue Apply(mlir::Operation& op) const {
    const auto attribute = mlir::dyn_cast_or_null<mlir::AffineMapAttr>(op.getAttr("map"));
    if (!attribute || attribute.getValue().getNumResults() != 1) {
      Fail(op, "an affine map with one result is expected");
    }
    std::vector<AffineValue> operands;
    for (const mlir::Value operand : op.getOperands()) operands.push_back(Value(operand));
    const auto value = EvaluateMap(attribute.getValue(), operands);
    if (!value) FailAffine(op);
    return *value;
  }

  // ---- loops

  struct Bounds {
    AffineValue lower;
    AffineValue upper;
    AffineValue step;
  };

  Bounds LoopBounds(mlir::Operation& op) const {
    if (Name(op) == "scf.for") {
      if (op.getNumOperands() != 3) Fail(op, "values carried by a loop are not supported");
      return {Value(op.getOperand(0)), Value(op.getOperand(1)), Value(op.getOperand(2))};
    }
    const auto bound = [&](const char* name) {
      const auto map = mlir::dyn_cast_or_null<mlir::AffineMapAttr>(op.getAttr(name));
      const bool constant = map && map.getValue().isSingleConstant() && op.getNumOperands() == 0;
      if (!constant) Fail(op, "bounds of affine.for must be constants");
      return AffineValue::Constant(map.getValue().getSingleConstantResult());
    };
    const auto step = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op.getAttr("step"));
    return {bound("lowerBoundMap"), bound("upperBoundMap"),
            AffineValue::Constant(step ? step.getInt() : 1)};
  }

  void Loop(mlir::Operation& op, std::vector<BundleNode>& nodes) {
    if (op.getNumResults() != 0) Fail(op, "values carried by a loop are not supported");
    if (steps_.size() >= kMaxLoops) Fail(op, "more than {} loops within each other", kMaxLoops);
    const Bounds bounds = LoopBounds(op);
    if (!bounds.lower.IsConstant() || !bounds.step.IsConstant() || bounds.step.constant < 1) {
      Fail(op, "lower bound and step must be constants, the step at least 1");
    }
    BundleLoop loop;
    loop.count = Trips(op, bounds, loop);
    const AffineValue variable =
        AffineValue::Loop(steps_.size(), bounds.lower.constant, bounds.step.constant);
    values_[op.getRegion(0).front().getArgument(0)] = variable;
    steps_.push_back(bounds.step.constant);
    Region(op, loop.body);
    steps_.pop_back();
    if (loop.count > 0) nodes.push_back(std::move(loop));
  }

  int64_t Trips(mlir::Operation& op, const Bounds& bounds, BundleLoop& loop) {
    const int64_t lower = bounds.lower.constant;
    if (bounds.upper.IsConstant()) {
      int64_t range = 0;
      if (__builtin_sub_overflow(bounds.upper.constant, lower, &range)) {
        Fail(op, "from {} to {} is beyond 64 bits", lower, bounds.upper.constant);
      }
      return range <= 0 ? 0 : CeilDivide(range, bounds.step.constant);
    }
    const auto argument = bounds.upper.PlainArgument();
    const bool dimension = argument && bundle_.arguments[static_cast<size_t>(*argument)].kind ==
                                           ArgumentKind::kDimension;
    if (!dimension || lower != 0) {
      Fail(op, "the upper bound must be a constant, or from 0 to an argument with max_value");
    }
    const auto position = static_cast<size_t>(*argument);
    int64_t unit = 0;
    if (__builtin_mul_overflow(bounds.upper.divisor, bounds.step.constant, &unit)) {
      FailAffine(op);
    }
    const int64_t most = bundle_.arguments[position].max;
    if (most < 1) Fail(op, "the type of '{}' has no max_value", bundle_.arguments[position].name);
    if (units_[position] != 0 && units_[position] != unit) {
      Fail(op, "one loop takes '{}' in steps of {}, another in steps of {}",
           bundle_.arguments[position].name, units_[position], unit);
    }
    units_[position] = unit;
    loop.count_argument = *argument;
    return CeilDivide(most, unit);
  }

  // ---- execution

  void Execute(mlir::Operation& op, std::vector<BundleNode>& nodes) {
    const auto file = mlir::dyn_cast_or_null<mlir::StringAttr>(op.getAttr("sdsc_filename"));
    if (!file || file.getValue().empty()) Fail(op, "sdsc_execute needs sdsc_filename=\"...\"");
    const std::vector<int64_t> ids = SymbolIds(op);
    if (ids.size() != op.getNumOperands()) {
      Fail(op, "{} operands for {} symbol_ids", op.getNumOperands(), ids.size());
    }
    BundleExecute execute;
    execute.dsc = FileNumber(file.getValue().str());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0) Fail(op, "symbol id {} must be negative", ids[i]);
      const AddressExpression address = Address(op, Value(op.getOperand(static_cast<unsigned>(i))));
      const auto [known, added] = execute.symbols.emplace(ids[i], address);
      if (added) continue;
      const AddressExpression& other = known->second;
      if (other.argument != address.argument || other.constant != address.constant ||
          other.loop_stride != address.loop_stride) {
        Fail(op, "symbol id {} is given twice, with two values", ids[i]);
      }
    }
    nodes.push_back(std::move(execute));
  }

  std::vector<int64_t> SymbolIds(mlir::Operation& op) const {
    std::vector<int64_t> ids;
    const mlir::Attribute attribute = op.getAttr("symbol_ids");
    if (!attribute) return ids;
    if (const auto numbers = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
      ids.assign(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
      return ids;
    }
    const auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
    if (!list) Fail(op, "symbol_ids must be a list of numbers");
    for (const mlir::Attribute element : list) {
      const auto number = mlir::dyn_cast<mlir::IntegerAttr>(element);
      if (!number || number.getValue().getSignificantBits() > 64) {
        Fail(op, "symbol_ids must be a list of numbers");
      }
      ids.push_back(number.getValue().getSExtValue());
    }
    return ids;
  }

  AddressExpression Address(mlir::Operation& op, const AffineValue& value) const {
    AddressExpression address;
    address.constant = value.constant;
    address.loop_stride = value.loops;
    address.loop_stride.resize(steps_.size(), 0);
    if (value.arguments.empty()) return address;
    const auto& [argument, coefficient] = *value.arguments.begin();
    const ArgumentKind kind = bundle_.arguments[static_cast<size_t>(argument)].kind;
    if (value.arguments.size() > 1 || coefficient != 1 || value.divisor != 1 ||
        kind == ArgumentKind::kDimension) {
      Fail(op,
           "an address must be one argument, loop variables with constant factors and a "
           "constant");
    }
    address.argument = argument;
    return address;
  }

  int FileNumber(const std::string& file) {
    const auto [it, added] = file_numbers_.emplace(file, static_cast<int>(bundle_.files.size()));
    if (added) bundle_.files.push_back(file);
    return it->second;
  }

  const std::string& text_;
  const std::string& file_;
  Bundle bundle_;
  llvm::DenseMap<mlir::Value, AffineValue> values_;
  std::vector<int64_t> steps_;  // of the loops around
  std::vector<int64_t> units_;  // by argument: elements of a dimension per trip, 0: no loop uses it
  std::map<std::string, int> file_numbers_;
  int pool_ = -1;
  int64_t pool_bytes_ = 0;  // of device_mem_allocate so far
};

}  // namespace

}  // namespace spyre::compiler

// What the compiler calls once it has loaded this module; errors pass through as exceptions.
extern "C" __attribute__((visibility("default"))) void SPYRE_BUNDLE_MLIR(
    const std::string& text, const std::string& file, spyre::compiler::Bundle& bundle) {
  using namespace spyre::compiler;
  CheckMlirText(text, file);
  ParsedModule parsed = ParseMlir(text, file);
  bundle = Evaluator(text, file).Evaluate(*parsed.module);
}
