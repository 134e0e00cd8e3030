// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "base/ranges.h"

namespace spyre::command_line {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kWidestName = 28;

std::string Table(const Rows& rows, const TextStyle& style) {
  size_t names = 0;
  for (const auto& [name, what] : rows)
    if (name.size() <= kWidestName) names = std::max(names, name.size());
  const size_t column = 2 + names + 2;
  std::string text;
  for (const auto& [name, what] : rows) {
    // A long name has a line of its own.
    const bool beside = name.size() <= names;
    text += beside ? fmt::format("  {:<{}}  ", name, names)
                   : fmt::format("  {}\n{:{}}", name, "", column);
    // The description is wrapped as if it began at the left, then moved to its column.
    const std::string wrapped =
        Wrap(what, style.width > column + 20 ? style.width - column : 20, 0);
    for (const char c : wrapped) {
      text += c;
      if (c == '\n') text.append(column, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string Section(const std::string& title, const Rows& rows, const TextStyle& style) {
  if (rows.empty()) return "";
  return "\n" + style.Paint(Accent::kTitle, title + ":") + "\n" + Table(rows, style);
}

// By heading, in the order in which these come first.
using Groups = std::vector<std::pair<std::string, Rows>>;

void AddRow(Groups& groups, const std::string& heading, std::string name, std::string what) {
  auto group = FindIf(groups, [&](const auto& known) { return known.first == heading; });
  if (group == groups.end()) group = groups.insert(groups.end(), {heading, {}});
  group->second.emplace_back(std::move(name), std::move(what));
}

void AddOptions(const Command& command, Groups& groups) {
  for (const Option& option : command.options()) {
    if (option.is_argument()) continue;
    AddRow(groups, option.group().empty() ? "Options" : option.group(), SynopsisOf(option),
           DescriptionOf(option));
  }
}

// Those that every command takes.
Rows CommonOptions(const Command& command) {
  Groups groups;
  const Command* root = &command;
  while (root->parent() != nullptr) root = root->parent();
  AddOptions(*root, groups);
  Rows rows;
  for (auto& [heading, options] : groups) rows.insert(rows.end(), options.begin(), options.end());
  rows.emplace_back("-h, --help", "print this");
  if (!root->version().empty())
    rows.emplace_back("--version", "print the version and what it was built with");
  return rows;
}

}  // namespace

std::string SynopsisOf(const Option& option) {
  if (option.is_argument()) return option.name() + (option.is_list() ? "..." : "");
  std::string text = fmt::format("{}", Joined(option.names(), ", "));
  return option.is_flag() ? text : text + " " + option.placeholder();
}

std::string DescriptionOf(const Option& option) {
  std::string text = option.what();
  if (!option.choices().empty() && text.find(option.choices().back()) == std::string::npos)
    text += fmt::format(": {}", Joined(option.choices(), ", "));
  if (!option.shown_default().empty()) text += fmt::format(" [{}]", option.shown_default());
  return text;
}

std::string UsageOf(const Command& command) {
  std::string usage = command.path();
  if (!command.commands().empty()) return usage + " COMMAND";
  for (const Option& option : command.options()) {
    if (!option.is_argument()) continue;
    usage +=
        option.is_required() ? " " + SynopsisOf(option) : fmt::format(" [{}]", SynopsisOf(option));
  }
  return usage + " [OPTIONS]";
}

std::string Help(const Command& command, const TextStyle& style) {
  std::string text = Wrap(command.summary(), style.width, 0) + "\n";
  text += fmt::format("{} {}\n", style.Paint(Accent::kTitle, "Usage:"), UsageOf(command));
  Groups commands;
  for (const Command& child : command.commands())
    AddRow(commands, child.heading(), child.name(), child.summary());
  for (const auto& [heading, rows] : commands) text += Section(heading, rows, style);
  Rows arguments;
  for (const Option& option : command.options())
    if (option.is_argument()) arguments.emplace_back(SynopsisOf(option), DescriptionOf(option));
  text += Section("Arguments", arguments, style);
  Groups groups;
  if (command.parent() != nullptr) AddOptions(command, groups);
  for (const auto& [heading, rows] : groups) text += Section(heading, rows, style);
  text += Section("Common options", CommonOptions(command), style);
  if (!command.footer().empty()) text += "\n" + Wrap(command.footer(), style.width) + "\n";
  return text;
}

}  // namespace spyre::command_line
