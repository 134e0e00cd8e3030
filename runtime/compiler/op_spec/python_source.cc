// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/python_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::compiler {
namespace {

constexpr int kMaxNesting = 64;

bool StartsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool InName(char c) { return StartsName(c) || IsDigit(c); }

class SourceReader {
 public:
  SourceReader(const PySource& source, size_t at)
      : source_(source), text_(source.text()), at_(at) {}

  PyValue Value() {
    Blanks();
    if (++depth_ > kMaxNesting) {
      source_.Fail(at_, fmt::format("nested deeper than {} levels", kMaxNesting));
    }
    PyValue value = Bare();
    --depth_;
    return value;
  }
  size_t at() const { return at_; }

 private:
  char Here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char Next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  void Blanks() { at_ = source_.SkipBlanks(at_); }
  [[noreturn]] void Fail(std::string_view expected) const {
    std::string got = "the end";
    if (at_ < text_.size()) {
      got =
          fmt::format("'{}'", text_.substr(at_, std::min(text_.find('\n', at_) - at_, size_t{16})));
    }
    source_.Fail(at_, fmt::format("{} where {} should be", got, expected));
  }

  PyValue Bare() {
    PyValue value;
    value.offset = at_;
    const char c = Here();
    if (c == '[') {
      value.kind = PyKind::kList;
      Items(value, ']');
    } else if (c == '(') {
      Tuple(value);
    } else if (c == '{') {
      Dict(value);
    } else if (c == '\'' || c == '"' || IsPrefixedString()) {
      Strings(value);
    } else if (IsDigit(c) ||
               ((c == '-' || c == '+' || c == '.') && (IsDigit(Next()) || Next() == '.'))) {
      Number(value);
    } else if (c == '-' && StartsName(Next())) {
      ++at_;
      NameOrCall(value);
      if (value.kind != PyKind::kName) Fail("a number");
      value.text.insert(0, 1, '-');
    } else if (StartsName(c)) {
      NameOrCall(value);
    } else {
      Fail("a value (a constructor call, list, tuple, dict, string or number)");
    }
    return value;
  }

  // Elements up to `close`; returns whether a comma followed the last one.
  bool Items(PyValue& value, char close) {
    ++at_;
    bool comma = false;
    for (;;) {
      Blanks();
      if (Here() == close) break;
      if (!value.items.empty() && !comma) Fail(fmt::format("',' or '{}'", close));
      value.items.push_back(Value());
      Blanks();
      comma = Here() == ',';
      if (comma) ++at_;
    }
    ++at_;
    return comma;
  }

  void Tuple(PyValue& value) {
    const size_t offset = at_;
    value.kind = PyKind::kTuple;
    if (Items(value, ')') || value.items.size() != 1) return;
    PyValue inner = std::move(value.items.front());  // only parentheses
    value = std::move(inner);
    value.offset = offset;
  }

  void Dict(PyValue& value) {
    value.kind = PyKind::kDict;
    ++at_;
    for (bool comma = true;;) {
      Blanks();
      if (Here() == '}') break;
      if (!comma) Fail("',' or '}'");
      value.items.push_back(Value());
      Blanks();
      if (Here() != ':') Fail("':'");
      ++at_;
      value.items.push_back(Value());
      Blanks();
      comma = Here() == ',';
      if (comma) ++at_;
    }
    ++at_;
  }

  bool IsPrefixedString() const {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(Here())));
    return (c == 'b' || c == 'r' || c == 'u') && (Next() == '\'' || Next() == '"');
  }

  // One or more string literals behind each other.
  void Strings(PyValue& value) {
    value.kind = PyKind::kString;
    for (;;) {
      const bool prefixed = IsPrefixedString();
      if (!prefixed && Here() != '\'' && Here() != '"') return;
      const bool raw = prefixed && (Here() == 'r' || Here() == 'R');
      if (prefixed) ++at_;
      OneString(value.text, raw);
      Blanks();
    }
  }

  void OneString(std::string& text, bool raw) {
    const size_t start = at_;
    const char quote = Here();
    const bool triple = text_.compare(at_, 3, std::string(3, quote)) == 0;
    at_ += triple ? 3 : 1;
    const std::string close(triple ? 3 : 1, quote);
    while (text_.compare(at_, close.size(), close) != 0) {
      if (at_ >= text_.size() || (Here() == '\n' && !triple)) {
        source_.Fail(start, "the string that begins here does not end");
      }
      if (Here() == '\\' && !raw) {
        Escape(text);
      } else {
        text += text_[at_++];
      }
    }
    at_ += close.size();
  }

  void Escape(std::string& text) {
    static constexpr std::string_view kLetters = "ntr0'\"\\";
    static constexpr std::string_view kMeanings("\n\t\r\0'\"\\", 7);
    const size_t which = kLetters.find(Next());
    if (Next() == 'x' && at_ + 3 < text_.size()) {
      int byte = 0;
      const char* digits = text_.data() + at_ + 2;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        text += static_cast<char>(byte);
        at_ += 4;
        return;
      }
    }
    if (which == std::string_view::npos || Next() == '\0') Fail("a known escape");
    text += kMeanings[which];
    at_ += 2;
  }

  void Number(PyValue& value) {
    const size_t start = at_;
    if (Here() == '-' || Here() == '+') ++at_;
    bool real = false;
    std::string digits(text_[start] == '-' ? "-" : "");
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const bool sign = (c == '-' || c == '+') && std::tolower(digits.back()) == 'e';
      if (IsDigit(c) || sign) {
        digits += c;
      } else if (c == '.' || c == 'e' || c == 'E') {
        real = true;
        digits += c;
      } else if (c != '_') {
        break;
      }
    }
    char* end = nullptr;
    value.real = std::strtod(digits.c_str(), &end);
    if (*end != '\0' || StartsName(Here())) {
      source_.Fail(start,
                   fmt::format("'{}' is not a number", text_.substr(start, at_ - start + 1)));
    }
    value.kind = real ? PyKind::kFloat : PyKind::kInteger;
    if (real) return;
    const auto result =
        std::from_chars(digits.data(), digits.data() + digits.size(), value.integer);
    if (result.ec == std::errc()) return;
    value.kind = PyKind::kBigInteger;
    value.text = digits;
  }

  void NameOrCall(PyValue& value) {
    for (;;) {
      if (!StartsName(Here())) Fail("a name");
      while (InName(Here())) value.text += text_[at_++];
      if (Here() != '.') break;
      value.text += text_[at_++];
    }
    value.kind = PyKind::kName;
    if (value.text == "None") value.kind = PyKind::kNone;
    if (value.text == "True" || value.text == "False") {
      value.kind = PyKind::kBool;
      value.boolean = value.text == "True";
    }
    const size_t behind = at_;
    Blanks();
    if (value.kind == PyKind::kName && Here() == '(') {
      Call(value);
    } else {
      at_ = behind;
    }
  }

  void Call(PyValue& value) {
    value.kind = PyKind::kCall;
    ++at_;
    for (bool comma = true;;) {
      Blanks();
      if (Here() == ')') break;
      if (!comma) Fail("',' or ')'");
      Argument(value);
      Blanks();
      comma = Here() == ',';
      if (comma) ++at_;
    }
    ++at_;
  }

  void Argument(PyValue& call) {
    size_t end = at_;
    while (end < text_.size() && InName(text_[end])) ++end;
    const size_t behind = source_.SkipBlanks(end);
    const bool keyword = StartsName(Here()) && text_.compare(behind, 1, "=") == 0;
    if (!keyword) {
      if (!call.keywords.empty()) Fail("a keyword argument");
      call.items.push_back(Value());
      return;
    }
    PyKeyword argument;
    argument.name = text_.substr(at_, end - at_);
    argument.offset = at_;
    at_ = behind + 1;
    argument.value = Value();
    const auto same = [&](const PyKeyword& k) { return k.name == argument.name; };
    if (AnyFits(call.keywords, same)) {
      source_.Fail(argument.offset, fmt::format("keyword '{}' is given twice", argument.name));
    }
    call.keywords.push_back(std::move(argument));
  }

  const PySource& source_;
  const std::string& text_;
  size_t at_;
  int depth_ = 0;
};

}  // namespace

std::string Describe(const PyValue& value) {
  switch (value.kind) {
    case PyKind::kNone:
      return "None";
    case PyKind::kBool:
      return value.boolean ? "True" : "False";
    case PyKind::kInteger:
      return std::to_string(value.integer);
    case PyKind::kBigInteger:
      return value.text.substr(0, 40) + " (beyond 64 bits)";
    case PyKind::kFloat:
      return fmt::format("{}", value.real);
    case PyKind::kString:
      return fmt::format("the string '{}'", value.text.substr(0, 40));
    case PyKind::kName:
      return fmt::format("the name {}", value.text.substr(0, 40));
    case PyKind::kCall:
      return fmt::format("a call of {}", value.text.substr(0, 40));
    case PyKind::kList:
      return fmt::format("a list of {}", value.items.size());
    case PyKind::kTuple:
      return fmt::format("a tuple of {}", value.items.size());
    case PyKind::kDict:
      return fmt::format("a dict of {}", value.items.size() / 2);
  }
  return "";
}

PyValue PySource::Parse(size_t begin, size_t* end) const {
  SourceReader reader(*this, begin);
  PyValue value = reader.Value();
  if (end != nullptr) *end = reader.at();
  return value;
}

size_t PySource::SkipBlanks(size_t offset) const {
  while (offset < text_.size()) {
    const char c = text_[offset];
    if (c == '#') {
      offset = std::min(text_.find('\n', offset), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' ||
               (c == '\\' && offset + 1 < text_.size() && text_[offset + 1] == '\n')) {
      ++offset;
    } else {
      break;
    }
  }
  return offset;
}

std::string PySource::Where(size_t offset) const {
  const auto begin = text_.begin();
  const auto here = begin + static_cast<std::ptrdiff_t>(std::min(offset, text_.size()));
  const auto line = std::count(begin, here, '\n') + 1;
  const size_t start = offset == 0 ? std::string::npos : text_.rfind('\n', offset - 1);
  const size_t column = start == std::string::npos ? offset + 1 : offset - start;
  return fmt::format("{}:{}:{}", file_, line, column);
}

void PySource::Fail(size_t offset, const std::string& message) const {
  throw BadInput("{}: {}", Where(offset), message);
}

}  // namespace spyre::compiler
