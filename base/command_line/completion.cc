// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/joined.h"

namespace spyre::command_line {
namespace {

// Visits the command and all below it.
template <class Visit>
void ForEachCommand(const Command& command, Visit visit) {
  visit(command);
  for (const Command& child : command.commands()) ForEachCommand(child, visit);
}

// Options that hold for the command: its own and those of the commands above it.
std::vector<const Option*> OptionsOf(const Command& command) {
  std::vector<const Option*> options;
  for (const Command* at = &command; at != nullptr; at = at->parent())
    for (const Option& option : at->options())
      if (!option.is_argument()) options.push_back(&option);
  return options;
}

const Command& RootOf(const Command& command) {
  return command.parent() == nullptr ? command : RootOf(*command.parent());
}

// The first part of a description, as short as menus want it.
std::string Short(const std::string& text) { return text.substr(0, text.find_first_of(";:(\n")); }

std::string Replaced(const std::string& text, std::string_view characters,
                     std::string_view escape) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += escape;
    out += c;
  }
  return out;
}

// A name that may be part of a function's name: "_spyre_cosim_trace_summary".
std::string FunctionOf(const Command& command) {
  std::string name = "_" + command.path();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

// What may be offered word by word.
const std::vector<std::string>& Offered(const Option& option) {
  return option.choices().empty() ? option.suggestions() : option.choices();
}

// ---- bash

// " trace summary": where the words lead, as the script collects it.
std::string BashPath(const Command& command) {
  return command.parent() == nullptr ? "" : BashPath(*command.parent()) + " " + command.name();
}

std::string BashWords(const Words words) {
  switch (words) {
    case Words::kFiles:
      return "files=-f";
    case Words::kDirectories:
      return "files=-d";
    case Words::kNone:
      break;
  }
  return ":";
}

std::string BashValue(const Option& option) {
  return Offered(option).empty() ? BashWords(option.words())
                                 : fmt::format("words='{}'", Joined(Offered(option), " "));
}

std::string Bash(const Command& root) {
  std::string paths, values, commands;
  ForEachCommand(root, [&](const Command& command) {
    const std::string path = BashPath(command);
    if (!path.empty()) paths += fmt::format("{}'{}'", paths.empty() ? "" : " | ", path);
    std::vector<std::string> names{"--help"};
    if (!root.version().empty()) names.emplace_back("--version");
    for (const Option* option : OptionsOf(command)) {
      names.insert(names.end(), option->names().begin(), option->names().end());
      if (option->is_flag()) continue;
      for (const std::string& name : option->names())
        values += fmt::format("    '{}:{}') {} ;;\n", path, name, BashValue(*option));
    }
    std::vector<std::string> words;
    std::string files;
    for (const Command& child : command.commands()) words.push_back(child.name());
    for (const Option& option : command.options()) {
      if (!option.is_argument()) continue;
      words.insert(words.end(), Offered(option).begin(), Offered(option).end());
      if (option.words() != Words::kNone) files = "; " + BashWords(option.words());
    }
    commands += fmt::format("        '{}') options='{}'; words='{}'{} ;;\n", path,
                            Joined(names, " "), Joined(words, " "), files);
  });
  const std::string function = FunctionOf(root);
  return fmt::format(R"(# bash completion of {0}, made by `{0} completion bash`
{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local path= options= words= files= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {2}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  case "$path:$prev" in
{3}    *)
      case "$path" in
{4}      esac
      if [[ $cur == -* ]]; then words=$options files=; fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  if [[ ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen "$files" -- "$cur")
  fi
}}
complete -F {1} {0}
)",
                     root.name(), function, paths, values, commands);
}

// ---- zsh

std::string ZshQuote(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

std::string ZshValue(const Option& option) {
  if (!option.choices().empty()) return fmt::format("({})", Joined(option.choices(), " "));
  if (!option.suggestions().empty())
    return fmt::format("{{compadd -S '' {}}}", Joined(option.suggestions(), " "));
  switch (option.words()) {
    case Words::kFiles:
      return "_files";
    case Words::kDirectories:
      return "_files -/";
    case Words::kNone:
      break;
  }
  return " ";  // a value, but nothing to offer
}

std::string ZshOption(const Option& option) {
  std::string specs;
  const std::string what = Replaced(Short(option.what()), "[]\\", "\\");
  for (const std::string& name : option.names()) {
    std::string spec = option.is_list() ? "*" : "";
    spec += name;
    if (!option.is_flag() && name.size() > 2) spec += "=";
    spec += "[" + what + "]";
    if (!option.is_flag())
      spec += ":" + Replaced(option.placeholder(), ":", "\\") + ":" + ZshValue(option);
    specs += " \\\n    " + ZshQuote(spec);
  }
  return specs;
}

std::string ZshFunction(const Command& command) {
  std::string specs = " \\\n    '(- *)--help[print help]'";
  if (!RootOf(command).version().empty()) specs += " \\\n    '(- *)--version[print the version]'";
  for (const Option* option : OptionsOf(command)) specs += ZshOption(*option);
  size_t place = 0;
  for (const Option& option : command.options()) {
    if (!option.is_argument()) continue;
    specs += " \\\n    " + ZshQuote((option.is_list() ? "*" : fmt::format("{}", ++place)) + ":" +
                                    option.name() + ":" + ZshValue(option));
  }
  const std::string function = FunctionOf(command);
  if (command.commands().empty())
    return fmt::format("{}() {{\n  _arguments -s{}\n}}\n", function, specs);
  std::string names, calls;
  for (const Command& child : command.commands()) {
    names += fmt::format(
        "        {}\n", ZshQuote(child.name() + ":" + Replaced(Short(child.summary()), ":", "\\")));
    calls += fmt::format("        {}) {} ;;\n", child.name(), FunctionOf(child));
  }
  return fmt::format(
      "{}() {{\n  local state\n  local -a line commands\n  _arguments -C{} \\\n"
      "    '1:command:->command' \\\n    '*::argument:->argument'\n"
      "  case $state in\n    command)\n      commands=(\n{}      )\n      _describe command "
      "commands\n"
      "      ;;\n    argument)\n      case $line[1] in\n{}      esac\n      ;;\n  esac\n}}\n",
      function, specs, names, calls);
}

std::string Zsh(const Command& root) {
  std::string text = fmt::format(
      "#compdef {0}\n# zsh completion of {0}, made by `{0} completion zsh`\n", root.name());
  ForEachCommand(root, [&](const Command& command) { text += ZshFunction(command); });
  return text + fmt::format(
                    "if [ \"$funcstack[1]\" = _{0} ]; then\n  {1} \"$@\"\nelse\n"
                    "  compdef {1} {0}\nfi\n",
                    root.name(), FunctionOf(root));
}

// ---- fish

std::string FishQuote(const std::string& text) { return "'" + Replaced(text, "'\\", "\\") + "'"; }

// True inside the command, and before a command of its own is given.
std::string FishCondition(const Command& command, bool before_child) {
  std::vector<std::string> parts;
  for (const Command* at = &command; at->parent() != nullptr; at = at->parent())
    parts.insert(parts.begin(), "__fish_seen_subcommand_from " + at->name());
  if (before_child) {
    std::vector<std::string> children;
    for (const Command& child : command.commands()) children.push_back(child.name());
    parts.push_back(fmt::format("not __fish_seen_subcommand_from {}", Joined(children, " ")));
  }
  return parts.empty() ? "" : fmt::format(" -n '{}'", Joined(parts, "; and "));
}

std::string FishValue(const Option& option) {
  if (!Offered(option).empty())
    return fmt::format(" -x -a {}", FishQuote(fmt::format("{}", Joined(Offered(option), " "))));
  switch (option.words()) {
    case Words::kFiles:
      return " -r -F";
    case Words::kDirectories:
      return " -x -a '(__fish_complete_directories)'";
    case Words::kNone:
      break;
  }
  return " -x";
}

std::string Fish(const Command& root) {
  std::string text = fmt::format(
      "# fish completion of {0}, made by `{0} completion fish`\ncomplete -c {0} -f\n", root.name());
  const auto add = [&](const std::string& condition, const std::string& rest) {
    text += fmt::format("complete -c {}{}{}\n", root.name(), condition, rest);
  };
  add("", " -l help -s h -d 'print help'");
  if (!root.version().empty()) add("", " -l version -d 'print the version'");
  ForEachCommand(root, [&](const Command& command) {
    for (const Command& child : command.commands()) {
      add(FishCondition(command, true),
          fmt::format(" -a {} -d {}", child.name(), FishQuote(Short(child.summary()))));
    }
    for (const Option& option : command.options()) {
      const std::string condition = FishCondition(command, false);
      if (option.is_argument()) {
        if (Offered(option).empty() && option.words() == Words::kNone) continue;
        add(condition, Offered(option).empty() ? " -F" : FishValue(option));
        continue;
      }
      std::string spec;
      for (const std::string& name : option.names())
        spec += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      add(condition, spec + (option.is_flag() ? "" : FishValue(option)) + " -d " +
                         FishQuote(Short(option.what())));
    }
  });
  return text;
}

}  // namespace

std::string CompletionScript(const Command& root, Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return Bash(root);
    case Shell::kZsh:
      return Zsh(root);
    case Shell::kFish:
      return Fish(root);
  }
  return "";
}

}  // namespace spyre::command_line
