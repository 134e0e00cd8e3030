// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/promote_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/list/graph_rewriter.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::compiler {
namespace {

// Between neighbours among float8, float16 and float32: what the card has.
struct ConvertStep {
  DataFormat from, to;
};
bool operator==(const ConvertStep& a, const ConvertStep& b) {
  return a.from == b.from && a.to == b.to;
}

bool IsStep(DataFormat from, DataFormat to) {
  return from == DataFormat::kIeeeFp16 || to == DataFormat::kIeeeFp16;
}

CompileError Refusal(const char* kind, const NamedTensor& output, const std::string& message) {
  return CompileError("Unsupported", kind, message).Subject(output.name);
}

class Promoter {
 public:
  explicit Promoter(const NamedGraph& graph) : graph_(graph), out_(graph) {}

  NamedGraph Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      out_.Begin(static_cast<int>(i));
      NamedOp op = graph_.ops[i];
      if (op.on_host) {
        // It takes what there is.
      } else if (op.op == "convert") {
        Shorten(op);
      } else if (const auto kind = FindNamedOperation(op.op)->kind;
                 kind != OpEntry::Kind::kView && kind != OpEntry::Kind::kExtern &&
                 kind != OpEntry::Kind::kGather) {
        Promote(op);
      }
      out_.Append(std::move(op));
    }
    return out_.Finish();
  }

 private:
  const NamedTensor& tensor(int index) const { return graph_.tensors[static_cast<size_t>(index)]; }

  void Promote(NamedOp& op) {
    const DataFormat format = tensor(op.output).format;
    // Copies are made in any type.
    const OpEntry& entry = *FindNamedOperation(op.op);
    if (entry.kind != OpEntry::Kind::kCat && !entry.Chooses()) CheckUnit(op, format);
    std::map<int, int> converted;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int input = op.inputs[i];
      const NamedTensor& from = tensor(input);
      if (from.origin == NamedTensor::Origin::kConstant) {
        op.inputs[i] = out_.Constant(from.value, format);
      } else if (from.format != format && from.format != DataFormat::kIeeeInt32) {
        auto known = converted.find(input);
        if (known == converted.end())
          known = converted.emplace(input, Convert(op, i, format)).first;
        op.inputs[i] = known->second;
      }
    }
  }

  // Shortens a conversion of the list; it goes by way of float16 if the card has no direct one.
  void Shorten(NamedOp& op) {
    const NamedTensor& from = tensor(op.inputs[0]);
    const DataFormat to = tensor(op.output).format;
    if (from.format == to) {
      op.op = "copy";
    } else if (!IsStep(from.format, to)) {
      op.inputs[0] = Convert(op.inputs[0], DataFormat::kIeeeFp16, tensor(op.output).name + ".half");
    }
  }

  int Convert(const NamedOp& op, size_t operand, DataFormat format) {
    const std::string name = fmt::format("{}.operand{}", tensor(op.output).name, operand);
    int input = op.inputs[operand];
    if (!IsStep(tensor(input).format, format))
      input = Convert(input, DataFormat::kIeeeFp16, name + ".half");
    return Convert(input, format, name);
  }

  int Convert(int input, DataFormat format, const std::string& name) {
    const int output = out_.NewTensor(name, out_.tensor(input).dims);
    out_.tensor(output).format = format;
    out_.Append({"convert", {input}, output, {}, {}});
    return output;
  }

  void CheckUnit(const NamedOp& op, DataFormat format) const {
    if (format == DataFormat::kIeeeFp16) return;
    const OpFunc* const func = FindOpFunc(FindNamedOperation(op.op)->op_func());
    if (func != nullptr && func->fp32) return;
    throw Refusal(
        "dtype", tensor(op.output),
        fmt::format("'{}' (output '{}') has operands of {}, and the card computes it in "
                    "float16 only; put {{ op = \"convert\", dtype = \"float16\" }} before "
                    "it",
                    op.op, tensor(op.output).name, HostTypeName(format)))
        .Remedy("convert its operands to float16");
  }

  const NamedGraph& graph_;
  GraphRewriter out_;
};

// The conversions that the elements of a tensor's sticks have gone through and that none has
// undone, in order; none: the elements are as the host has them. Each leaves the elements of two
// sticks in an order of its own, and its opposite restores the one before.
using Arrangement = std::vector<ConvertStep>;

std::string Name(const Arrangement& arrangement) {
  if (arrangement.empty()) return "as the host has them";
  return fmt::format("as a conversion from {} to {} left them",
                     HostTypeName(arrangement.back().from), HostTypeName(arrangement.back().to));
}

class ArrangementChecker {
 public:
  explicit ArrangementChecker(const NamedGraph& graph) : graph_(graph), of_(graph.tensors.size()) {}

  void Run() {
    for (const NamedOp& op : graph_.ops) Follow(op);
    for (const int output : graph_.outputs) {
      if (of(output).empty()) continue;
      throw Refusal(
          "element_arrangement", tensor(output),
          fmt::format("output '{}' has the elements of its sticks {}, which no copy to "
                      "the host puts in order; convert it back to {} before",
                      tensor(output).name, Name(of(output)), HostTypeName(of(output).back().from)));
    }
  }

 private:
  const NamedTensor& tensor(int index) const { return graph_.tensors[static_cast<size_t>(index)]; }
  Arrangement& of(int index) { return of_[static_cast<size_t>(index)]; }

  void Follow(const NamedOp& op) {
    const NamedTensor& output = tensor(op.output);
    if (op.op == "convert" && !op.on_host) return Convert(op);
    const Arrangement arrangement = Common(op);
    const OpEntry& operation = *FindNamedOperation(op.op);
    const bool moves =
        operation.kind == OpEntry::Kind::kMatmul || operation.name == "restickify" ||
        operation.kind == OpEntry::Kind::kExtern || op.on_host || operation.Chooses() ||
        (operation.kind == OpEntry::Kind::kView && op.reduced[0] == tensor(op.inputs[0]).stick) ||
        (operation.kind == OpEntry::Kind::kCat && op.into == output.stick);
    if (operation.name == "restickify" && output.format != DataFormat::kIeeeFp16) {
      throw Refusal("dtype", output,
                    fmt::format("'{}' {} of float32 would need another dimension inside its "
                                "sticks, and the card changes sticks of float16 only; give its "
                                "readers one dimension inside the stick (\"stick\")",
                                tensor(op.inputs[0]).name, graph_.ShapeText(output)));
    }
    if (moves && !arrangement.empty()) {
      throw Refusal("element_arrangement", output,
                    fmt::format("'{}' (output '{}') needs the elements of sticks as the host has "
                                "them; they are {}",
                                op.op, output.name, Name(arrangement)));
    }
    if (output.stick >= 0) of(op.output) = arrangement;
  }

  // The arrangement common to all operands that have elements side by side. Elements that lie one
  // to a stick have no order.
  Arrangement Common(const NamedOp& op) {
    int first = -1;
    for (const int input : op.inputs) {
      if (tensor(input).stick < 0) continue;
      if (first < 0) first = input;
      if (of(input) == of(first)) continue;
      throw Refusal(
          "element_arrangement", tensor(op.output),
          fmt::format("'{}' (output '{}') works on '{}', whose sticks have their elements {}, "
                      "and on '{}', whose have them {}; let both come from the same type",
                      op.op, tensor(op.output).name, tensor(first).name, Name(of(first)),
                      tensor(input).name, Name(of(input))));
    }
    return first < 0 ? Arrangement() : of(first);
  }

  void Convert(const NamedOp& op) {
    const NamedTensor& input = tensor(op.inputs[0]);
    const NamedTensor& output = tensor(op.output);
    if (input.stick < 0 || output.stick < 0) {
      throw Refusal("sparse_stick", output,
                    fmt::format("'{}' {} has its elements one to a stick, and conversions work on "
                                "whole sticks; convert before the reduction",
                                input.name, graph_.ShapeText(input)));
    }
    const NamedDim& dim = graph_.dims[static_cast<size_t>(input.stick)];
    const int64_t whole = std::max(ElementsPerStick(DeviceFormatOf(input.format)),
                                   ElementsPerStick(DeviceFormatOf(output.format)));
    if (dim.size % whole != 0) {
      throw Refusal("partial_stick_conversion", output,
                    fmt::format("'{}' {} is converted to {}, and its {} = {} inside the sticks is "
                                "not a whole number of sticks of {}; pad it",
                                input.name, graph_.ShapeText(input), HostTypeName(output.format),
                                dim.name, dim.size, whole));
    }
    Arrangement& arrangement = of(op.output) = of(op.inputs[0]);
    const ConvertStep step{input.format, output.format};
    if (!arrangement.empty() && arrangement.back() == ConvertStep{step.to, step.from}) {
      arrangement.pop_back();
    } else {
      arrangement.push_back(step);
    }
  }

  const NamedGraph& graph_;
  std::vector<Arrangement> of_;
};

}  // namespace

NamedGraph PromoteTypes(const NamedGraph& graph) { return Promoter(graph).Run(); }

void CheckArrangements(const NamedGraph& graph) { ArrangementChecker(graph).Run(); }

}  // namespace spyre::compiler
