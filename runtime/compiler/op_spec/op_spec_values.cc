// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/op_spec_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"

namespace spyre::compiler {

void SpecValues::Wrong(const PyValue& value, std::string_view what, std::string_view right) const {
  source_.Fail(value.offset,
               fmt::format("{}: {} where {} should be", what, Describe(value), right));
}

std::string SpecValues::Constructor(const PyValue& value) {
  if (value.kind != PyKind::kCall) return "";
  return value.text.substr(value.text.rfind('.') + 1);
}

void SpecValues::Keywords(const PyValue& call, const Handlers& known,
                          const std::vector<std::string>& required) const {
  if (!call.items.empty()) {
    source_.Fail(call.items[0].offset, fmt::format("{} takes keyword arguments only", call.text));
  }
  std::vector<std::string> names;
  for (const auto& [name, handler] : known) names.push_back(name);
  for (const PyKeyword& keyword : call.keywords) {
    const auto it = std::find(names.begin(), names.end(), keyword.name);
    if (it == names.end()) {
      source_.Fail(keyword.offset,
                   fmt::format("{} has no keyword '{}' (known: {}){}", call.text, keyword.name,
                               Joined(names, ", "), DidYouMean(keyword.name, names)));
    }
    known[static_cast<size_t>(it - names.begin())].second(keyword.value);
  }
  for (const std::string& name : required) {
    const auto same = [&](const PyKeyword& keyword) { return keyword.name == name; };
    if (NoneFits(call.keywords, same)) {
      source_.Fail(call.offset, fmt::format("{} needs {}=", call.text, name));
    }
  }
}

const std::string& SpecValues::String(const PyValue& value, std::string_view what) const {
  if (value.kind != PyKind::kString || value.text.empty()) Wrong(value, what, "a string");
  return value.text;
}

bool SpecValues::Bool(const PyValue& value, std::string_view what) const {
  if (value.kind != PyKind::kBool) Wrong(value, what, "True or False");
  return value.boolean;
}

const std::vector<PyValue>& SpecValues::List(const PyValue& value, std::string_view what) const {
  if (value.kind != PyKind::kList && value.kind != PyKind::kTuple) Wrong(value, what, "a list");
  return value.items;
}

const std::vector<PyValue>& SpecValues::Dict(const PyValue& value, std::string_view what) const {
  if (value.kind != PyKind::kDict) Wrong(value, what, "a dict");
  return value.items;
}

Expression SpecValues::AsExpression(const PyValue& value, std::string_view what) const {
  if (value.kind == PyKind::kInteger) return Expression::Number(value.integer);
  const std::string name = Constructor(value);
  const bool call = (name == "sympify" || name == "Integer" || name == "Symbol") &&
                    value.items.size() == 1 && value.keywords.empty();
  if (call && value.items[0].kind == PyKind::kInteger) {
    return Expression::Number(value.items[0].integer);
  }
  if (!call || value.items[0].kind != PyKind::kString) {
    Wrong(value, what, "sympify('...') or a number");
  }
  try {
    return ParseExpression(value.items[0].text);
  } catch (const Error& error) {
    source_.Fail(value.items[0].offset, fmt::format("{}: {}", what, error.what()));
  }
}

std::string SpecValues::Symbol(const PyValue& value, std::string_view what) const {
  if (value.kind == PyKind::kString) return String(value, what);
  Expression expression = AsExpression(value, what);
  if (expression.kind != Expression::Kind::kSymbol) Wrong(value, what, "a symbol");
  return std::move(expression.symbol);
}

std::vector<std::string> SpecValues::Symbols(const PyValue& value, std::string_view what) const {
  std::vector<std::string> names;
  for (const PyValue& item : List(value, what)) names.push_back(Symbol(item, what));
  return names;
}

int64_t SpecValues::Integer(const PyValue& value, std::string_view what, int64_t least,
                            int64_t most) const {
  const Expression expression = AsExpression(value, what);
  const auto symbols = FreeSymbols(expression);
  if (!symbols.empty()) {
    source_.Fail(value.offset, fmt::format("{}: '{}' is symbolic in {}; it must be a number", what,
                                           ToString(expression), *symbols.begin()));
  }
  int64_t number = 0;
  try {
    number = Evaluate(expression, {});
  } catch (const Error& error) {
    source_.Fail(value.offset, fmt::format("{}: {}", what, error.what()));
  }
  if (number < least) {
    source_.Fail(value.offset, fmt::format("{}: {} must be at least {}", what, number, least));
  }
  if (number > most) {
    source_.Fail(value.offset, fmt::format("{}: {} must be at most {}", what, number, most));
  }
  return number;
}

std::vector<int64_t> SpecValues::Integers(const PyValue& value, std::string_view what,
                                          int64_t least) const {
  std::vector<int64_t> numbers;
  for (const PyValue& item : List(value, what)) numbers.push_back(Integer(item, what, least));
  return numbers;
}

double SpecValues::Float(const PyValue& value, std::string_view what) const {
  const bool call = Constructor(value) == "float" && value.items.size() == 1;
  const PyValue& inner = call ? value.items[0] : value;
  if (inner.kind == PyKind::kBool) return inner.boolean ? 1 : 0;
  const bool number = inner.kind == PyKind::kInteger || inner.kind == PyKind::kBigInteger ||
                      inner.kind == PyKind::kFloat;
  if (number) return inner.real;
  if (inner.kind == (call ? PyKind::kString : PyKind::kName)) {
    const bool negative = inner.text.rfind('-', 0) == 0;
    const size_t module = inner.text.rfind('.');  // "math.inf"
    const std::string name = inner.text.substr(module == std::string::npos ? negative : module + 1);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (name == "inf") return negative ? -kInfinity : kInfinity;
    if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  Wrong(value, what, "a number");
}

}  // namespace spyre::compiler
