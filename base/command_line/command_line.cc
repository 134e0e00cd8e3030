// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/command_line.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"

namespace spyre::command_line {
namespace {

std::vector<std::string> Split(const std::string& text, char delimiter) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == delimiter) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The whole of the text as a number, or nothing.
template <class Number>
std::optional<Number> Parse(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return {};
  char* end = nullptr;
  errno = 0;
  if constexpr (std::is_floating_point_v<Number>) {
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0' || std::isnan(value)) return {};
    return value;
  } else {
    const unsigned long long value = std::strtoull(text.c_str(), &end, 0);
    // "-1" is not a large number.
    if (*end != '\0' || errno != 0 || text.front() == '-') return {};
    return value;
  }
}

std::string ShownName(const std::string& names) { return Split(names, ',').back(); }

}  // namespace

Option::Option(const std::string& names, const std::string& what, Store store)
    : names_(Split(names, ',')), what_(what), store_(std::move(store)) {}

void Option::Write(const std::vector<std::string>& values) const {
  if (delimiter_ == '\0') {
    store_(values);
    return;
  }
  std::vector<std::string> parts;
  for (const std::string& value : values)
    for (std::string& part : Split(value, delimiter_)) parts.push_back(std::move(part));
  store_(parts);
}

Option& Option::Required() {
  is_required_ = true;
  return *this;
}
Option& Option::ShowDefault() {
  shown_default_ = default_;
  return *this;
}
Option& Option::Placeholder(std::string text) {
  placeholder_ = std::move(text);
  return *this;
}
Option& Option::Group(std::string heading) {
  group_ = std::move(heading);
  return *this;
}
Option& Option::Completes(Words words) {
  words_ = words;
  return *this;
}
Option& Option::Suggests(std::vector<std::string> values) {
  suggestions_ = std::move(values);
  return *this;
}
Option& Option::Excludes(Option& other) {
  excluded_.push_back(&other);
  return *this;
}
Option& Option::SplitAt(char delimiter) {
  delimiter_ = delimiter;
  return *this;
}

Command::Command(std::string name, std::string summary, const Command* parent)
    : name_(std::move(name)), summary_(std::move(summary)), parent_(parent) {}

std::string Command::path() const {
  return parent_ == nullptr ? name_ : parent_->path() + " " + name_;
}

const Option* Command::FindOption(const std::string& name) const {
  for (const Option& option : options_)
    for (const std::string& candidate : option.names())
      if (candidate == name) return &option;
  return parent_ == nullptr ? nullptr : parent_->FindOption(name);
}

Command& Command::AddCommand(std::string name, std::string summary) {
  Command& command = commands_.emplace_back(std::move(name), std::move(summary), this);
  command.heading_ = next_heading_;
  return command;
}
Command& Command::Footer(std::string text) {
  footer_ = std::move(text);
  return *this;
}
Command& Command::Version(std::string text) {
  version_ = std::move(text);
  return *this;
}
void Command::Action(std::function<int()> action) { action_ = std::move(action); }

Option& Command::AddOption(const std::string& names, const std::string& what, Option::Store store) {
  Option option(names, what, std::move(store));
  for (const std::string& name : option.names()) {
    if (FindOption(name) != nullptr)
      throw std::logic_error(fmt::format("{}: option {} is declared twice", path(), name));
  }
  return options_.emplace_back(std::move(option));
}

Option& Command::Add(const std::string& names, bool& flag, const std::string& what) {
  Option& option = AddOption(names, what, [&flag](const auto&) { flag = true; });
  option.is_flag_ = true;
  return option;
}

Option& Command::Add(const std::string& names, std::string& target, const std::string& what) {
  Option& option =
      AddOption(names, what, [&target](const auto& values) { target = values.back(); });
  option.default_ = target;
  return option.Placeholder("TEXT");
}

Option& Command::Add(const std::string& names, std::vector<std::string>& target,
                     const std::string& what) {
  Option& option = AddOption(names, what, [&target](const auto& values) { target = values; });
  option.is_list_ = true;
  return option.Placeholder("TEXT");
}

template <class Number>
Option& Command::AddNumber(const std::string& names, const std::string& what, Number min,
                           Number max, std::function<void(Number)> store) {
  using Wide = std::conditional_t<std::is_floating_point_v<Number>, double, uint64_t>;
  const std::string name = ShownName(names);
  return AddOption(names, what,
                   [name, min, max, store = std::move(store)](const auto& values) {
                     const std::string& text = values.back();
                     const auto number = Parse<Wide>(text);
                     if (!number) {
                       throw BadInput("{} '{}': must be a {}number", name, text,
                                      std::is_integral_v<Number> ? "whole " : "");
                     }
                     if (*number < min || *number > max) {
                       throw BadInput("{} {} is out of range; allowed: {} .. {}", name, text, min,
                                      max);
                     }
                     store(static_cast<Number>(*number));
                   })
      .Placeholder("N");
}

Option& Command::Add(const std::string& names, uint32_t& target, const std::string& what,
                     uint32_t min, uint32_t max) {
  Option& option =
      AddNumber<uint32_t>(names, what, min, max, [&target](uint32_t value) { target = value; });
  option.default_ = fmt::format("{}", target);
  return option;
}
Option& Command::Add(const std::string& names, uint64_t& target, const std::string& what,
                     uint64_t min, uint64_t max) {
  Option& option =
      AddNumber<uint64_t>(names, what, min, max, [&target](uint64_t value) { target = value; });
  option.default_ = fmt::format("{}", target);
  return option;
}
Option& Command::Add(const std::string& names, std::optional<uint64_t>& target,
                     const std::string& what, uint64_t min, uint64_t max) {
  return AddNumber<uint64_t>(names, what, min, max, [&target](uint64_t value) { target = value; });
}
Option& Command::Add(const std::string& names, double& target, const std::string& what, double min,
                     double max) {
  Option& option =
      AddNumber<double>(names, what, min, max, [&target](double value) { target = value; });
  option.default_ = fmt::format("{}", target);
  return option;
}

Option& Command::AddChoice(const std::string& names, const std::string& what,
                           std::vector<std::string> words, std::string current,
                           std::function<void(size_t)> store) {
  const std::string name = ShownName(names);
  Option& option =
      AddOption(names, what, [name, words, store = std::move(store)](const auto& values) {
        for (size_t i = 0; i < words.size(); ++i) {
          if (words[i] == values.back()) return store(i);
        }
        throw BadInput("{} {}: must be one of {}{}", name, values.back(), Joined(words, ", "),
                       DidYouMean(values.back(), words));
      });
  option.choices_ = std::move(words);
  option.default_ = std::move(current);
  return option.Placeholder("NAME");
}

}  // namespace spyre::command_line
