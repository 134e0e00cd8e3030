// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/mlir/text_check.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>

#include "base/error.h"

namespace spyre::compiler {
namespace {

constexpr int kMaxNesting = 64;
constexpr size_t kMaxMapCharacters = 4096;
constexpr int kMaxOperators = 256;
constexpr std::string_view kForeign[] = {"dense",  "dense_resource", "sparse",    "tensor",
                                         "memref", "vector",         "opaque",    "complex",
                                         "tuple",  "distinct",       "affine_set"};

bool InWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class Checker {
 public:
  Checker(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  void Check() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
      } else if (c == '/' && text_.compare(at_, 2, "//") == 0) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '#' || c == '!') {
        Alias();
      } else if (InWord(c)) {
        Word();
      } else {
        Punctuation(c);
        ++at_;
      }
    }
  }

 private:
  template <typename... Args>
  [[noreturn]] void Fail(size_t offset, fmt::format_string<Args...> format, Args&&... args) const {
    throw BadInput("{}: {}", PlaceOf(text_, file_, offset),
                   fmt::format(format, std::forward<Args>(args)...));
  }

  void SkipString() {
    const size_t start = at_++;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size() && text_[at_] == '\n') break;
    }
    if (at_ >= text_.size() || text_[at_] != '"') {
      Fail(start, "the string that begins here does not end");
    }
    ++at_;
  }

  void Word() {
    const size_t start = at_;
    while (at_ < text_.size() && InWord(text_[at_])) ++at_;
    const std::string_view word(text_.data() + start, at_ - start);
    // Names of values may be any word.
    if (start > 0 && text_[start - 1] == '%') return;
    if (std::find(std::begin(kForeign), std::end(kForeign), word) != std::end(kForeign)) {
      Fail(start, "a bundle has no '{}'", word);
    }
    if (word == "affine_map") CheckMap(start);
    if (word == "mod" || word == "floordiv" || word == "ceildiv") Operator(start);
  }

  // "#name" or "!name": a definition, or a mention in what may still be the last one. One that
  // mentions another is nested in it without a bracket.
  void Alias() {
    const size_t start = at_++;
    while (at_ < text_.size() && (InWord(text_[at_]) || text_[at_] == '.' || text_[at_] == '-')) {
      ++at_;
    }
    const std::string name = text_.substr(start, at_ - start);
    const size_t next = BehindBlanks(at_);
    if (next < text_.size() && text_[next] == '=') {
      defined_ = name;
      return;
    }
    if (defined_.empty() || name == defined_) return;
    const auto mentioned = aliases_.find(name);
    const int nesting = mentioned == aliases_.end() ? 1 : mentioned->second + 1;
    if (nesting > kMaxNesting) Fail(start, "nested deeper than {} levels", kMaxNesting);
    int& most = aliases_[defined_];
    most = std::max(most, nesting);
  }

  size_t BehindBlanks(size_t at) const {
    for (;;) {
      at = std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
      if (text_.compare(at, 2, "//") != 0) return at;
      at = std::min(text_.find('\n', at), text_.size());
    }
  }

  // The parser recurses over the operators of an expression, wherever one may stand.
  void Operator(size_t start) {
    if (++operators_ > kMaxOperators) {
      Fail(start, "an expression of more than {} operators", kMaxOperators);
    }
  }

  // It ends at the first '>' that is not an arrow's.
  void CheckMap(size_t start) const {
    for (size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == '>' && text_[i - 1] != '-') return;
      if (i - at_ >= kMaxMapCharacters) {
        Fail(start, "an affine map of more than {} characters", kMaxMapCharacters);
      }
    }
  }

  void Punctuation(char c) {
    if (std::string_view(",=:{}").find(c) != std::string_view::npos) operators_ = 0;
    if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++nesting_ > kMaxNesting) Fail(at_, "nested deeper than {} levels", kMaxNesting);
    } else if (c == ')' || c == ']' || c == '}' || (c == '>' && at_ > 0 && text_[at_ - 1] != '-')) {
      nesting_ = std::max(nesting_ - 1, 0);
    } else if (c == '+' || c == '*' || (c == '-' && text_.compare(at_, 2, "->") != 0)) {
      Operator(at_);
    } else if (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r') {
      Fail(at_, "byte 0x{:02x} is not text", static_cast<unsigned char>(c));
    }
  }

  const std::string& text_;
  const std::string& file_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::string defined_;                           // the last alias
  std::unordered_map<std::string, int> aliases_;  // that mention others: how deep they nest
  int operators_ = 0;                             // of the expression so far
};

}  // namespace

std::string PlaceOf(const std::string& text, const std::string& file, size_t offset) {
  offset = std::min(offset, text.size());
  const auto here = text.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto line = std::count(text.begin(), here, '\n') + 1;
  const size_t before = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  const size_t column = before == std::string::npos ? offset + 1 : offset - before;
  return fmt::format("{}:{}:{}", file, line, column);
}

void CheckMlirText(const std::string& text, const std::string& file) {
  Checker(text, file).Check();
}

}  // namespace spyre::compiler
