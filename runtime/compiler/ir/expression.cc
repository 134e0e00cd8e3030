// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/nearest.h"

namespace spyre::compiler {
namespace {

// An expression with the height of its tree, which the parser limits: everything that walks a tree
// may then recurse.
struct Tree {
  Expression expression;
  int height = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression Whole() {
    Tree tree = Sum();
    if (at_ < text_.size()) Fail("an operator or the end");
    return std::move(tree.expression);
  }

 private:
  // Counts the levels of parentheses, functions and signs.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser.depth_ > kMaxExpressionDepth) parser.FailDeep();
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void Fail(std::string_view expected) const {
    const std::string got =
        at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 12)) : "the end";
    throw BadInput("expression '{}', column {}: {} where {} should be", text_.substr(0, 120),
                   at_ + 1, got, expected);
  }
  [[noreturn]] void FailDeep() const {
    throw BadInput("expression '{}', column {}: nested deeper than {} levels", text_.substr(0, 120),
                   at_ + 1, kMaxExpressionDepth);
  }

  void Spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  char Peek() {
    Spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(std::string_view token) {
    Spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void Need(std::string_view token, std::string_view expected) {
    if (!Take(token)) Fail(expected);
  }

  Tree Make(ExpressionKind kind, std::vector<Tree> operands) const {
    Tree tree;
    tree.expression.kind = kind;
    for (Tree& operand : operands) {
      tree.height = std::max(tree.height, operand.height + 1);
      tree.expression.operands.push_back(std::move(operand.expression));
    }
    if (tree.height > kMaxExpressionDepth) FailDeep();
    return tree;
  }

  // Behind another operand of the same chain, or as the first of a new one.
  Tree Chain(ExpressionKind kind, Tree left, Tree right, bool& open) const {
    if (!open) {
      open = true;
      std::vector<Tree> operands;
      operands.push_back(std::move(left));
      operands.push_back(std::move(right));
      return Make(kind, std::move(operands));
    }
    left.height = std::max(left.height, right.height + 1);
    if (left.height > kMaxExpressionDepth) FailDeep();
    left.expression.operands.push_back(std::move(right.expression));
    return left;
  }

  Tree Negative(Tree tree) const {
    Expression& expression = tree.expression;
    if (expression.kind == ExpressionKind::kNumber &&
        expression.number != std::numeric_limits<int64_t>::min()) {
      expression.number = -expression.number;
      return tree;
    }
    Expression* first =
        expression.kind == ExpressionKind::kMultiply ? &expression.operands.front() : nullptr;
    if (first != nullptr && first->kind == ExpressionKind::kNumber &&
        first->number != std::numeric_limits<int64_t>::min()) {
      first->number = -first->number;
      return tree;
    }
    std::vector<Tree> operands;
    operands.push_back({Expression::Number(-1), 1});
    operands.push_back(std::move(tree));
    return Make(ExpressionKind::kMultiply, std::move(operands));
  }

  Tree Sum() {
    Tree left = Product();
    for (bool open = false;;) {
      if (Take("+")) {
        left = Chain(ExpressionKind::kAdd, std::move(left), Product(), open);
      } else if (Take("-")) {
        left = Chain(ExpressionKind::kAdd, std::move(left), Negative(Product()), open);
      } else {
        return left;
      }
    }
  }

  Tree Product() {
    Tree left = Signed();
    for (bool open = false;;) {
      Spaces();
      if (text_.substr(at_, 2) == "**") Fail("one of + - * / (there are no powers)");
      if (Take("*")) {
        left = Chain(ExpressionKind::kMultiply, std::move(left), Signed(), open);
        continue;
      }
      const bool floor = Take("//");
      const bool mod = !floor && Take("%");
      if (!floor && !mod && !Take("/")) return left;
      open = false;
      left = Pair(mod ? ExpressionKind::kMod : ExpressionKind::kDivide, std::move(left), Signed());
      if (floor) left = Floor(std::move(left));
    }
  }

  Tree Pair(ExpressionKind kind, Tree a, Tree b) const {
    std::vector<Tree> operands;
    operands.push_back(std::move(a));
    operands.push_back(std::move(b));
    return Make(kind, std::move(operands));
  }
  Tree Floor(Tree a) const {
    std::vector<Tree> operands;
    operands.push_back(std::move(a));
    return Make(ExpressionKind::kFloor, std::move(operands));
  }

  Tree Signed() {
    if (Peek() == '-') {
      const Level level(*this);
      ++at_;
      if (std::isdigit(static_cast<unsigned char>(Peek())) != 0) return Literal("-");
      return Negative(Signed());
    }
    if (Take("+")) {
      const Level level(*this);
      return Signed();
    }
    return Primary();
  }

  Tree Primary() {
    const char c = Peek();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return Literal("");
    if (Take("(")) {
      const Level level(*this);
      Tree inner = Sum();
      Need(")", "')'");
      return inner;
    }
    if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_') {
      Fail("a number, a symbol or '('");
    }
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string_view name = text_.substr(start, at_ - start);
    if (Peek() == '(') return Function(name, start);
    return {Expression::Symbol(std::string(name)), 1};
  }

  Tree Literal(std::string_view sign) {
    Spaces();
    size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) ++end;
    const std::string digits = fmt::format("{}{}", sign, text_.substr(at_, end - at_));
    int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc()) Fail("a number of 64 bits");
    at_ = end;
    return {Expression::Number(value), 1};
  }

  Tree Function(std::string_view name, size_t start) {
    struct Known {
      std::string_view name;
      size_t arguments;
    };
    static constexpr Known kKnown[] = {
        {"floor", 1}, {"Mod", 2}, {"ceiling", 1}, {"FloorDiv", 2}, {"ModularIndexing", 3}};
    const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                     [name](const Known& k) { return k.name == name; });
    if (known == std::end(kKnown)) {
      throw BadInput(
          "expression '{}', column {}: function '{}' is not known (known: floor, Mod, "
          "ceiling, FloorDiv, ModularIndexing){}",
          text_.substr(0, 120), start + 1, name,
          DidYouMean(name, {"floor", "Mod", "ceiling", "FloorDiv", "ModularIndexing"}));
    }
    const Level level(*this);
    Need("(", "'('");
    std::vector<Tree> a;
    for (size_t i = 0; i < known->arguments; ++i) {
      if (i > 0) Need(",", fmt::format("',' ({} takes {} arguments)", name, known->arguments));
      a.push_back(Sum());
    }
    Need(")", fmt::format("')' ({} takes {})", name, known->arguments));
    if (name == "floor") return Floor(std::move(a[0]));
    if (name == "Mod") return Pair(ExpressionKind::kMod, std::move(a[0]), std::move(a[1]));
    if (name == "ceiling") return Negative(Floor(Negative(std::move(a[0]))));
    Tree quotient = Floor(Pair(ExpressionKind::kDivide, std::move(a[0]), std::move(a[1])));
    if (name == "FloorDiv") return quotient;
    return Pair(ExpressionKind::kMod, std::move(quotient), std::move(a[2]));
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

bool IsCompound(const Expression& expression) {
  return expression.kind == ExpressionKind::kAdd || expression.kind == ExpressionKind::kMultiply ||
         expression.kind == ExpressionKind::kDivide;
}

std::string Factor(const Expression& expression) {
  return IsCompound(expression) ? "(" + ToString(expression) + ")" : ToString(expression);
}

// A term of a sum behind the first one, with its sign, so that it is read as the same term again.
std::string SignedTerm(const Expression& expression) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const std::string text =
      expression.kind == ExpressionKind::kAdd ? Factor(expression) : ToString(expression);
  const bool number = expression.kind == ExpressionKind::kNumber && expression.number < 0 &&
                      expression.number != kMin;
  const bool product = expression.kind == ExpressionKind::kMultiply &&
                       expression.operands[0].kind == ExpressionKind::kNumber &&
                       expression.operands[0].number < -1 && expression.operands[0].number != kMin;
  if (number || product) return " - " + text.substr(1);
  const bool negated =
      expression.kind == ExpressionKind::kMultiply && expression.operands.size() == 2 &&
      expression.operands[0].kind == ExpressionKind::kNumber &&
      expression.operands[0].number == -1 &&
      expression.operands[1].kind != ExpressionKind::kNumber && !IsCompound(expression.operands[1]);
  return negated ? " - " + ToString(expression.operands[1]) : " + " + text;
}

std::string OperandsText(const Expression& expression, std::string_view separator) {
  std::string text;
  for (const Expression& operand : expression.operands) {
    if (!text.empty()) text += separator;
    text += Factor(operand);
  }
  return text;
}

void CollectSymbols(const Expression& expression, std::set<std::string>& names) {
  if (expression.kind == ExpressionKind::kSymbol) names.insert(expression.symbol);
  for (const Expression& operand : expression.operands) CollectSymbols(operand, names);
}

}  // namespace

Expression Expression::Number(int64_t value) {
  Expression expression;
  expression.number = value;
  return expression;
}

Expression Expression::Symbol(std::string name) {
  Expression expression;
  expression.kind = ExpressionKind::kSymbol;
  expression.symbol = std::move(name);
  return expression;
}

Expression ParseExpression(std::string_view text) { return Parser(text).Whole(); }

std::string ToString(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::kNumber:
      return std::to_string(expression.number);
    case ExpressionKind::kSymbol:
      return expression.symbol;
    case ExpressionKind::kAdd: {
      const Expression& first = expression.operands.front();
      std::string text = first.kind == ExpressionKind::kAdd ? Factor(first) : ToString(first);
      for (size_t i = 1; i < expression.operands.size(); ++i)
        text += SignedTerm(expression.operands[i]);
      return text;
    }
    case ExpressionKind::kMultiply:
      return OperandsText(expression, "*");
    case ExpressionKind::kDivide:
      return OperandsText(expression, "/");
    case ExpressionKind::kFloor:
      return "floor(" + ToString(expression.operands[0]) + ")";
    case ExpressionKind::kMod:
      return "Mod(" + ToString(expression.operands[0]) + ", " + ToString(expression.operands[1]) +
             ")";
  }
  throw InternalError("expression of an unknown kind");
}

std::set<std::string> FreeSymbols(const Expression& expression) {
  std::set<std::string> names;
  CollectSymbols(expression, names);
  return names;
}

}  // namespace spyre::compiler
