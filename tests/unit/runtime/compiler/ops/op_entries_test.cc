// SPDX-License-Identifier: Apache-2.0
// The entries of the operations: no name twice, and docs/operations.md, which is written from them:
// run the test OperationsPage.IsCurrent with SPYRE_UPDATE_DOCS=1 to bring it up to date.
#include "runtime/compiler/ops/op_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "model/contract/op_table.h"
#include "tests/paths.h"

namespace spyre::compiler::op_entries_test {
namespace {

TEST(OpEntries, HaveNoNameTwice) {
  std::set<std::string_view> names, funcs;
  for (const OpEntry& entry : OpEntries()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    for (const std::string_view alias : entry.aliases)
      EXPECT_TRUE(names.insert(alias).second) << alias;
    for (const OpFunc& func : entry.op_funcs) {
      EXPECT_TRUE(funcs.insert(func.name).second) << func.name;
      EXPECT_EQ(FindEntryOf(func.name), &entry);
    }
  }
}

TEST(OpEntries, AreFoundByNameAndAliasIfTheyAreListed) {
  for (const OpEntry& entry : OpEntries()) {
    const OpEntry* expected = entry.listed ? &entry : nullptr;
    EXPECT_EQ(FindNamedOperation(entry.name), expected) << entry.name;
    for (const std::string_view alias : entry.aliases)
      EXPECT_EQ(FindNamedOperation(alias), expected) << alias;
  }
}

TEST(OpEntries, PartialResultsAreCombinedByAnOperationOfTwoOperands) {
  for (const OpEntry& entry : OpEntries()) {
    if (entry.combiner.empty()) continue;
    const OpFunc* combiner = FindOpFunc(entry.combiner);
    ASSERT_NE(combiner, nullptr) << entry.name;
    EXPECT_EQ(combiner->inputs, 2) << entry.name;
  }
  EXPECT_EQ(CombinerOf("sum"), "add");
  EXPECT_EQ(CombinerOf("maxnonstick"), "maximum");
  EXPECT_EQ(CombinerOf("exx2"), "");
  EXPECT_EQ(CombinerOf("nothing"), "");
}

// ---------------------------------------------------------------- docs/operations.md

namespace page {

const std::string kFile = std::string(SPYRE_SOURCE_DIR) + "/docs/operations.md";

std::string Code(std::string_view name) { return fmt::format("`{}`", name); }

template <class Names>
std::string CodeList(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + Code(name);
  return text;
}

std::string FuncNames(const OpEntry& entry) {
  std::vector<std::string_view> names;
  for (const OpFunc& func : entry.op_funcs) names.push_back(func.name);
  return CodeList(names);
}

std::string Count(const OpEntry& entry) {
  return entry.min_inputs == entry.max_inputs
             ? std::to_string(entry.min_inputs)
             : fmt::format("{} to {}", entry.min_inputs, entry.max_inputs);
}

std::string Types(const OpEntry& entry) {
  if (entry.gives_int32) return "any; gives int32";
  if (entry.kind == OpEntry::Kind::kHost)
    return entry.name.rfind("bitwise", 0) == 0 ? "int32" : "float16, float32, int32";
  if (entry.kind == OpEntry::Kind::kCollective)
    return entry.meaning.find("sum") != std::string_view::npos ? "float16" : "float16, float32";
  if (entry.op_funcs.empty()) return "";
  switch (entry.op_funcs.front().op_class) {
    case OpFuncClass::kMatmul:
      return std::string(FormatName(OperandFormat(entry.op_funcs.front().matmul)));
    case OpFuncClass::kConversion:
      return "see the OpFunc";
    case OpFuncClass::kRestickify:
      return "any";
    default:
      return entry.op_funcs.front().fp32 ? "SEN169_FP16, IEEE_FP32" : "SEN169_FP16";
  }
}

std::string Shape(const OpEntry& entry) {
  switch (entry.kind) {
    case OpEntry::Kind::kPointwise:
      return "broadcast";
    case OpEntry::Kind::kReduction:
      return "without `dim`";
    case OpEntry::Kind::kTopK:
      return "`into` for `dim`";
    case OpEntry::Kind::kMatmul:
      return "of both, without the summed one";
    case OpEntry::Kind::kComposite:
      return entry.name == "swiglu" || entry.name == "silu" ? "broadcast" : "of its chain";
    case OpEntry::Kind::kView:
      return "`into` for `dim`";
    case OpEntry::Kind::kCat:
      return "of all, with `into` for `dim`";
    case OpEntry::Kind::kGather:
      return "of the first, with those of the second for `dim`";
    case OpEntry::Kind::kScatter:
      return "of the first";
    case OpEntry::Kind::kHost:
      switch (entry.host_shape) {
        case OpEntry::HostShape::kBroadcast:
          return "broadcast";
        case OpEntry::HostShape::kOperand:
          return "of the first";
        case OpEntry::HostShape::kWithoutDim:
          return "without `dim`";
        case OpEntry::HostShape::kChosen:
          return "of the second, with what else the first has";
      }
      break;
    case OpEntry::Kind::kCollective:
      return entry.has_dim ? "`into` for `dim`" : "of the operand";
    case OpEntry::Kind::kExtern:
      break;
  }
  return "`dims`";
}

std::string StepNames(const OpFunc& func) {
  std::vector<std::string> names;
  for (const OpFuncStep& step : func.steps) {
    const FnSet set = step.op == Op::kVunary ? FnSet::kUnary : FnSet::kBinary;
    names.push_back(fmt::format("{}{}", FindOp(static_cast<uint8_t>(step.op))->mnemonic,
                                FnSuffix(set, step.fn)));
  }
  return CodeList(names);
}

std::string Instructions(const OpEntry& entry) {
  if (entry.kind == OpEntry::Kind::kComposite) return "a chain of operations";
  if (entry.kind == OpEntry::Kind::kCat) return "a copy of each operand";
  if (entry.kind == OpEntry::Kind::kGather) return Code("load") + " of a block for each index";
  if (entry.kind == OpEntry::Kind::kScatter) return Code("store") + " of a block for each index";
  if (entry.kind == OpEntry::Kind::kHost) return "nothing: the host does";
  if (entry.kind == OpEntry::Kind::kCollective) return "copies to other cards, and additions";
  if (entry.op_funcs.empty()) return "nothing";
  const OpFunc& func = entry.op_funcs.front();
  switch (func.op_class) {
    case OpFuncClass::kMatmul:
      return Code("matmul");
    case OpFuncClass::kRestickify:
      return Code("vtranspose");
    case OpFuncClass::kConversion:
      return Code("vconvert");
    case OpFuncClass::kTopK:
      return Code("vbinary.less") + ", " + Code("vbinary.select") + " for each rank of each row";
    case OpFuncClass::kStickReduction:
    case OpFuncClass::kNonstickReduction: {
      std::string text = Code("vreduce" + FnSuffix(FnSet::kReduce, FnByte(func.reduction.first)));
      if (func.reduction.second)
        text += ", " + Code("vreduce" + FnSuffix(FnSet::kReduce, FnByte(*func.reduction.second)));
      text += ", " + Code("vround");
      if (func.reduction.of_products) text = Code("vbinary.mul") + ", " + text;
      return func.steps.empty() ? text : text + ", " + StepNames(func);
    }
    default:
      return StepNames(func);
  }
}

#define SPYRE_UNARY_ROW(id, name, meaning) {name, meaning},
#define SPYRE_REDUCE_ROW(id, name, identity, meaning) {name, meaning},
using Rows = std::vector<std::pair<std::string_view, std::string_view>>;
const Rows& BinaryRows() {
  static const Rows rows = {SPYRE_BINARY_FUNCTIONS(SPYRE_UNARY_ROW)};
  return rows;
}
const Rows& UnaryRows() {
  static const Rows rows = {SPYRE_UNARY_FUNCTIONS(SPYRE_UNARY_ROW)};
  return rows;
}
const Rows& ReduceRows() {
  static const Rows rows = {SPYRE_REDUCE_FUNCTIONS(SPYRE_REDUCE_ROW)};
  return rows;
}
#undef SPYRE_UNARY_ROW
#undef SPYRE_REDUCE_ROW

// What the entry says, or else the one function that it is.
std::string Meaning(const OpEntry& entry) {
  if (!entry.meaning.empty() || entry.op_funcs.empty()) return std::string(entry.meaning);
  const OpFunc& func = entry.op_funcs.front();
  const bool unary = !func.steps.empty() && func.steps[0].op == Op::kVunary;
  const Rows& rows = func.steps.empty() ? ReduceRows() : unary ? UnaryRows() : BinaryRows();
  const auto fn = func.steps.empty() ? static_cast<size_t>(func.reduction.first)
                                     : static_cast<size_t>(func.steps[0].fn);
  std::string text(rows.at(fn).second);
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string Row(const OpEntry& entry) {
  std::string keys = entry.has_dim ? Code("dim") : "";
  for (const std::string_view key : entry.constants) keys += (keys.empty() ? "" : ", ") + Code(key);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", Code(entry.name),
                     CodeList(entry.aliases), FuncNames(entry), Count(entry), keys, Types(entry),
                     Shape(entry), Instructions(entry), Meaning(entry));
}

std::string FunctionTable(std::string_view kind, const Rows& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string meaning(rows[i].second);
    for (size_t at = 0; (at = meaning.find('|', at)) != std::string::npos; at += 2)
      meaning.insert(at, "\\");
    text += fmt::format("| {} | {} | {} | {} |\n", kind, i, Code(rows[i].first), meaning);
  }
  return text;
}

std::string Text() {
  std::string text = R"(# Operations

This page is written by a test from the entries in `runtime/compiler/ops/op_entries.cc`, one for each operation. The
[compiler](compiler.md#from-a-list-of-operations-to-the-card) says how lists of operations are compiled, the [program
format](program-format.md#vector) what the instructions do.

An operation has one name in [lists of operations](compiler.md#from-a-list-of-operations-to-the-card) and in `workload.op`;
the spellings beside it are accepted as well. In bundles it has the names of the public SDSC specification, its OpFuncs. A
reduction has one for the dimension that is inside the stick and one for the others. `workload.op` takes those operations
that are one instruction, one reduction or a matmul, and `softmax`.

How far a result may be from the real number that the meaning gives:

* One instruction of the vector unit gives the correctly rounded SEN169_FP16, at most half a unit in the last place off. In
  IEEE_FP32 the functions of two operands are correctly rounded, and those of one are at most 0.501 units off.
* Where an operation takes several instructions, each of them rounds.
* A reduction combines fp32 values in the order that the program format states, and rounds once. `amax`, `amin` and `absmax`
  are exact.
* A matmul adds exact products in fp32, in the order that the program format states, and rounds once.
* What [the host](host-operations.md) computes is rounded once to the type of the result; integers are exact.

Every run is compared with a reference that rounds in the same places, bit for bit, and with real numbers. The reference's
functions are in `cosim/reference/reference_functions.cc` and share no code with the model.

## In lists and bundles

)";
  const std::string head =
      "| operation | also | OpFuncs | operands | keys | types | shape of the result | the card "
      "computes | meaning |\n|---|---|---|---|---|---|---|---|---|\n";
  text += head;
  for (const OpEntry& entry : OpEntries())
    if (entry.listed) text += Row(entry);
  text += "\n## In bundles only\n\n" + head;
  std::string refused;
  for (const OpEntry& entry : OpEntries()) {
    if (entry.listed) continue;
    const OpFunc& func = entry.op_funcs.front();
    if (func.refusal.empty()) {
      text += Row(entry);
    } else {
      refused += fmt::format("| {} | {} |\n", Code(func.name), func.refusal);
    }
  }
  text += "\n## Refused\n\n| OpFunc | reason |\n|---|---|\n" + refused;
  text +=
      "\n## Functions of the vector unit\n\nThe number is in the function byte of the "
      "instruction.\n\n| operands | number | function | meaning |\n|---|---|---|---|\n";
  text += FunctionTable("one", UnaryRows()) + FunctionTable("two", BinaryRows()) +
          FunctionTable("many", ReduceRows());
  return text;
}

}  // namespace page

TEST(OperationsPage, IsCurrent) {
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) std::ofstream(page::kFile) << page::Text();
  std::ifstream file(page::kFile);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), page::Text())
      << "run again with SPYRE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace spyre::compiler::op_entries_test
