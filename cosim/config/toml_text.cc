// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/toml_text.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr size_t kMaxTomlDepth = 64;

// Walks over the text and leaves comments and strings out. A bracket is a level, and so is a dot of
// the key in front of it.
class TomlDepth {
 public:
  TomlDepth(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void Check() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '"' || c == '\'') {
        SkipString(c);
      } else if (c == '[' || c == '{') {
        open_.push_back(dots_ + 1);
        depth_ += open_.back();
        dots_ = 0;
      } else if (c == ']' || c == '}') {
        if (!open_.empty()) {
          depth_ -= open_.back();
          open_.pop_back();
        }
        dots_ = 0;
      } else if (c == '.') {
        ++dots_;
      } else if (c == ',' || c == '\n' || c == '/') {  // a path, in the value of a --set
        dots_ = 0;
      }
      if (depth_ + dots_ > kMaxTomlDepth) Fail();
    }
  }

 private:
  [[noreturn]] void Fail() const {
    const auto here = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    throw BadInput("{}:{}: arrays, tables and dotted keys are nested more than {} levels deep",
                   name_, std::count(text_.begin(), here, '\n') + 1, kMaxTomlDepth);
  }

  // To its last quote, or to the end of the line in which it should have been.
  void SkipString(char quote) {
    const bool is_long = text_.substr(at_, 3) == std::string(3, quote);
    const std::string_view close = text_.substr(at_, is_long ? 3 : 1);
    at_ += close.size();
    while (at_ < text_.size() && text_.substr(at_, close.size()) != close) {
      if (!is_long && text_[at_] == '\n') {
        --at_;
        return;
      }
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    }
    at_ += close.size() - 1;
    // A long string may end in more quotes than three: they are its own.
    while (is_long && at_ + 1 < text_.size() && text_[at_ + 1] == quote) ++at_;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  std::vector<size_t> open_;  // levels of each open bracket
  size_t depth_ = 0;          // their sum
  size_t dots_ = 0;           // since the last key or value began
};

}  // namespace

void CheckTomlDepth(std::string_view text, const std::string& name) {
  TomlDepth(text, name).Check();
}

toml::table ParseToml(const std::string& text, const std::string& name) {
  CheckTomlDepth(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw BadInput("{}:{}:{}: not valid TOML: {}", name, error.source().begin.line,
                   error.source().begin.column, std::string(error.description()));
  }
}

}  // namespace spyre::cosim
