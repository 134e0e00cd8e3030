// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/condition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::variant<double, bool, std::string>;

constexpr size_t kLongest = 4000;  // characters: a chain of operators is as deep as it is long
constexpr int kDeepest = 100;      // parentheses and signs inside each other
// Weakest first; each row binds alike. Where one is the beginning of another, the longer is first.
const std::vector<std::vector<std::string_view>> kLevels = {
    {"or"}, {"and"}, {"not"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
constexpr size_t kNotLevel = 2;
constexpr size_t kComparisonLevel = 3;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

struct Condition::Node {
  std::string op;  // an operator, "key" or "value"
  std::string key;
  Value value;
  std::unique_ptr<Node> left, right;  // right: null of an operator with one operand
};

namespace {

using NodePtr = std::unique_ptr<Condition::Node>;

NodePtr MakeNode(std::string op, NodePtr left = nullptr, NodePtr right = nullptr) {
  auto node = std::make_unique<Condition::Node>();
  node->op = std::move(op);
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

class Parser {
 public:
  Parser(const std::string& text, std::vector<std::string>& keys) : text_(text), keys_(keys) {}

  NodePtr Whole() {
    NodePtr node = Level(0);
    SkipSpace();
    if (at_ != text_.size()) Refuse("an operator");
    return node;
  }

 private:
  [[noreturn]] void Refuse(const char* expected) const {
    throw BadInput("condition \"{}\": {} expected at \"{}\"", text_, expected, text_.substr(at_))
        .Subject(text_);
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  // Takes the operator if it is next; one of letters must end there.
  bool Take(std::string_view op) {
    SkipSpace();
    if (text_.compare(at_, op.size(), op) != 0) return false;
    const size_t end = at_ + op.size();
    if (IsWordCharacter(op.front()) && end < text_.size() &&
        (IsWordCharacter(text_[end]) || text_[end] == '.'))
      return false;
    at_ = end;
    return true;
  }

  std::string_view TakeOneOf(const std::vector<std::string_view>& ops) {
    for (const std::string_view op : ops)
      if (Take(op)) return op;
    return {};
  }

  NodePtr Level(size_t level) {
    if (level == kLevels.size()) return Operand();
    if (level == kNotLevel) {
      if (!Take("not")) return Level(level + 1);
      const Nesting nesting(*this);
      return MakeNode("not", Level(level));
    }
    NodePtr node = Level(level + 1);
    for (std::string_view op = TakeOneOf(kLevels[level]); !op.empty();
         op = TakeOneOf(kLevels[level])) {
      node = MakeNode(std::string(op), std::move(node), Level(level + 1));
      if (level == kComparisonLevel) break;  // a < b < c is nothing
    }
    return node;
  }

  NodePtr Operand() {
    const Nesting nesting(*this);
    SkipSpace();
    if (Take("-")) return MakeNode("negative", Operand());
    if (Take("(")) {
      NodePtr node = Level(0);
      if (!Take(")")) Refuse("')'");
      return node;
    }
    if (at_ == text_.size()) Refuse("a key or a value");
    const char c = text_[at_];
    if (c == '"' || c == '\'') return Text(c);
    if (c >= '0' && c <= '9') return Number();
    return Word();
  }

  NodePtr ValueNode(Value value) {
    NodePtr node = MakeNode("value");
    node->value = std::move(value);
    return node;
  }

  NodePtr Text(char quote) {
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) Refuse("a text that ends");
    std::string value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return ValueNode(std::move(value));
  }

  NodePtr Number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) Refuse("a number");
    at_ = static_cast<size_t>(end - text_.data());
    return ValueNode(value);
  }

  NodePtr Word() {
    const size_t begin = at_;
    while (at_ < text_.size() && (IsWordCharacter(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word.empty()) Refuse("a key or a value");
    if (word == "true" || word == "false") return ValueNode(word == "true");
    if (word.find('.') == std::string::npos) {
      at_ = begin;
      Refuse("a key such as card.cores");
    }
    if (std::find(keys_.begin(), keys_.end(), word) == keys_.end()) keys_.push_back(word);
    NodePtr node = MakeNode("key");
    node->key = word;
    return node;
  }

  // Counts how deep the expression is: the parser must not exhaust the stack.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepest) parser_.Refuse("an expression that is nested less deep");
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  const std::string& text_;
  std::vector<std::string>& keys_;
  size_t at_ = 0;
  int depth_ = 0;
};

class Evaluator {
 public:
  Evaluator(const std::string& text, const Condition::ValueOfKey& value_of)
      : text_(text), value_of_(value_of) {}

  bool Bool(const Condition::Node& node) const { return Get<bool>(node, "true or false"); }

 private:
  template <class T>
  T Get(const Condition::Node& node, const char* what) const {
    Value value = Of(node);
    if (T* const found = std::get_if<T>(&value)) return std::move(*found);
    throw BadInput("condition \"{}\": {} must be {}", text_,
                   node.op == "key" ? node.key : "an operand of its operators", what)
        .Subject(text_);
  }
  double Number(const Condition::Node& node) const { return Get<double>(node, "a number"); }

  Value KeyValue(const std::string& key) const {
    const Json value = value_of_(key);
    if (value.is_number()) return value.get<double>();
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_string()) return value.get<std::string>();
    throw BadInput("condition \"{}\": {} is neither a number nor a text nor a flag", text_, key)
        .Subject(key);
  }

  Value Of(const Condition::Node& node) const {
    const std::string& op = node.op;
    if (op == "value") return node.value;
    if (op == "key") return KeyValue(node.key);
    if (op == "or") return Bool(*node.left) || Bool(*node.right);
    if (op == "and") return Bool(*node.left) && Bool(*node.right);
    if (op == "not") return !Bool(*node.left);
    if (op == "negative") return -Number(*node.left);
    if (op == "==" || op == "!=") return Same(Of(*node.left), Of(*node.right)) == (op == "==");
    const double left = Number(*node.left), right = Number(*node.right);
    if (op == "<") return left < right;
    if (op == "<=") return left <= right;
    if (op == ">") return left > right;
    if (op == ">=") return left >= right;
    if (op == "+") return left + right;
    if (op == "-") return left - right;
    if (op == "*") return left * right;
    if (right == 0) throw BadInput("condition \"{}\": division by zero", text_).Subject(text_);
    return op == "/" ? left / right : std::fmod(left, right);
  }

  bool Same(const Value& left, const Value& right) const {
    if (left.index() == right.index()) return left == right;
    throw BadInput("condition \"{}\": compares values of different types", text_).Subject(text_);
  }

  const std::string& text_;
  const Condition::ValueOfKey& value_of_;
};

}  // namespace

Condition::Condition(std::string text) : text_(std::move(text)) {
  if (text_.size() > kLongest) {
    throw BadInput("condition \"{}...\": longer than {} characters; make several of it",
                   text_.substr(0, 60), kLongest);
  }
  root_ = Parser(text_, keys_).Whole();
}
Condition::~Condition() = default;
Condition::Condition(Condition&&) noexcept = default;
Condition& Condition::operator=(Condition&&) noexcept = default;

bool Condition::Holds(const ValueOfKey& value_of) const {
  return Evaluator(text_, value_of).Bool(*root_);
}

}  // namespace spyre::cosim
