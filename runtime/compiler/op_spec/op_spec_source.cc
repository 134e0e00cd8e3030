// SPDX-License-Identifier: Apache-2.0
// The front end's objects as Python source, in the form of one era.
#include <fmt/format.h>

#include <cmath>

#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/op_spec/spec_era.h"

namespace spyre::compiler {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string Sympify(const std::string& text) { return "sympify(" + Quoted(text) + ")"; }

std::string Bool(bool value) { return value ? "True" : "False"; }

std::string PythonNumber(double value) {
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "float('-inf')";
  return fmt::format("{}", value);
}

template <typename Items, typename Write>
std::string Join(const Items& items, Write write) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    text += write(item);
  }
  return text;
}

class Writer {
 public:
  explicit Writer(OpSpecEra era) : era_(era) {}

  std::string Text(const KernelSource& source) {
    if (!source.name.empty()) {
      Line(fmt::format("kernel = async_compile.sdsc({},", Quoted(source.name)));
      Nested([&] { List(source.body, "["); });
      text_.pop_back();  // no comma behind the last argument
      text_.pop_back();
      text_ += "\n)\n";
    } else {
      List(source.body, "[");
      text_.pop_back();
      text_.pop_back();
      text_ += "\n";
    }
    return std::move(text_);
  }

 private:
  void Line(const std::string& line) { text_ += std::string(indent_, ' ') + line + "\n"; }
  template <typename Body>
  void Nested(Body body) {
    indent_ += 4;
    body();
    indent_ -= 4;
  }

  void List(const std::vector<SpecNode>& nodes, const std::string& open) {
    Line(open);
    Nested([&] {
      for (const SpecNode& node : nodes) {
        std::visit([this](const auto& value) { Node(value); }, node);
      }
    });
    Line("],");
  }

  void Node(const UnimplementedOp& op) {
    Line(fmt::format("UnimplementedOp(op={}),", Quoted(op.op)));
  }

  void Node(const LoopSpec& loop) {
    Line("LoopSpec(");
    Nested([&] {
      const auto* symbolic = std::get_if<std::string>(&loop.count);
      const std::string count =
          symbolic != nullptr ? *symbolic : std::to_string(std::get<int64_t>(loop.count));
      Line(fmt::format("count={},", Sympify(count)));
      List(loop.body, "body=[");
    });
    Line("),");
  }

  void Node(const OpSpec& op) {
    Line("OpSpec(");
    Nested([&] {
      Line(fmt::format("op={},", Quoted(op.op)));
      Line(fmt::format("is_reduction={},", Bool(op.is_reduction)));
      Line(fmt::format("iteration_space={{{}}},",
                       Join(op.iteration_space, [](const IterationSymbol& s) {
                         return fmt::format("{}: ({}, {})", Sympify(s.name),
                                            Sympify(std::to_string(s.range)), s.split);
                       })));
      Line(fmt::format("op_info={{{}}},", Constants(op)));
      const std::string tiled = Tiled(op);
      if (!tiled.empty()) Line(fmt::format("tiled_symbols=[{}],", tiled));
      if (!op.core_slices.empty()) Line(fmt::format("core_id_to_work_slice={{{}}},", Slices(op)));
      Line("args=[");
      Nested([&] {
        for (const TensorArg& arg : op.args) Arg(arg);
      });
      Line("]");
    });
    Line("),");
  }

  static std::string Constants(const OpSpec& op) {
    if (op.constants.empty()) return "";
    return fmt::format("'constants': {{{}}}", Join(op.constants, [](const OpConstant& constant) {
                         return Quoted(constant.name) + ": " + PythonNumber(constant.value);
                       }));
  }
  std::string Tiled(const OpSpec& op) const {
    std::string text;
    if (era_ == OpSpecEra::kRfc) {
      for (const auto& level : op.tiled_symbols) {
        if (!text.empty() && !level.empty()) text += ", ";
        text += Join(level, Sympify);
      }
      return text;
    }
    for (auto level = op.tiled_symbols.rbegin(); level != op.tiled_symbols.rend(); ++level) {
      if (!text.empty()) text += ", ";
      text += "[" + Join(*level, Sympify) + "]";
    }
    return text;
  }
  static std::string Slices(const OpSpec& op) {
    std::string text;
    for (size_t i = 0; i < op.core_slices.size(); ++i) {
      if (i > 0) text += ", ";
      text += Sympify(op.iteration_space[i].name) + ": " + Sympify(ToString(op.core_slices[i]));
    }
    return text;
  }

  void Arg(const TensorArg& arg) {
    const char* const pool = era_ == OpSpecEra::kRfc ? "pool" : "hbm_pool";
    const char* const memories[] = {"hbm", pool, "lx"};
    const auto number = [](int64_t value) { return std::to_string(value); };
    const auto expression = [](const Expression& e) { return Sympify(ToString(e)); };
    Line("TensorArg(");
    Nested([&] {
      Line(fmt::format("is_input={}, arg_index={}, device_dtype=DataFormats.{},",
                       Bool(arg.is_input), arg.arg_index, FormatName(arg.device_format)));
      Line(fmt::format("device_size=[{}],", Join(arg.device_size, number)));
      Line(fmt::format("device_coordinates=[{}],", Join(arg.device_coordinates, expression)));
      Line(fmt::format("allocation={{'{}': {}}},", memories[static_cast<int>(arg.memory)],
                       arg.address));
      if (!arg.stride_map.empty()) {
        Line(fmt::format("stride_map=[{}],", Join(arg.stride_map, number)));
      }
      if (arg.per_tile_fixed) Line("per_tile_fixed=True,");
      if (arg.related_value_tensor_idx >= 0) {
        Line(fmt::format("is_index_tensor=True, related_value_tensor_idx={},",
                         arg.related_value_tensor_idx));
      }
      if (arg.tile_advance) {
        Line(fmt::format("device_tile_advance_expr={},", expression(*arg.tile_advance)));
      }
    });
    Line("),");
  }

  const OpSpecEra era_;
  std::string text_;
  size_t indent_ = 0;
};

}  // namespace

std::string ToSource(const KernelSource& source) {
  const OpSpecEra era = EraOf(source);
  return Writer(era).Text(era == OpSpecEra::kRfc ? source : InNewestEra(source));
}

}  // namespace spyre::compiler
