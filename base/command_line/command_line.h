// SPDX-License-Identifier: Apache-2.0
// The command line as data: a tree of commands with their options and arguments. Whoever adds a
// command declares it here once; parsing, --help, the shell's completion and the manual page are
// made from the declaration (parse.h, help.h, completion.h, man_page.h).
//
//   Command root("spyre-cosim", "Co-simulation of the Spyre accelerator card");
//   Command& run = root.AddCommand("run", "Run a configuration");
//   run.Add("CONFIG", config, "TOML file").Required().Completes(Words::kFiles);
//   run.Add("--out", out, "directory of the results").Placeholder("DIR");
//   run.Action([&] { return Run(config, out); });
//
// Targets must outlive the tree and are written by parsing. Single thread. A declaration that makes
// no sense (two options of one name) throws std::logic_error.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spyre::command_line {

// What a shell offers where a value is wanted.
enum class Words { kNone, kFiles, kDirectories };

// One option ("--out", "-o,--output"), flag or positional argument ("FILE").
class Option {
 public:
  // What is given on the command line, an element for each value. Throws Error(kBadInput) for a
  // value of the wrong kind.
  using Store = std::function<void(const std::vector<std::string>& values)>;

  Option(const std::string& names, const std::string& what, Store store);

  // Names that begin with a dash, the longest last; or the one name of an argument.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& name() const { return names_.back(); }
  const std::string& what() const { return what_; }
  const std::string& placeholder() const { return placeholder_; }  // "" of a flag
  const std::string& group() const { return group_; }
  const std::string& shown_default() const { return shown_default_; }
  const std::vector<std::string>& choices() const { return choices_; }  // nothing else is allowed
  const std::vector<std::string>& suggestions() const { return suggestions_; }
  const std::vector<const Option*>& excluded() const { return excluded_; }
  Words words() const { return words_; }
  bool is_argument() const { return names_.front().front() != '-'; }
  bool is_flag() const { return is_flag_; }
  bool is_list() const { return is_list_; }
  bool is_required() const { return is_required_; }
  void Write(const std::vector<std::string>& values) const;

  Option& Required();
  Option& ShowDefault();  // of the target as it was when it was declared
  Option& Placeholder(std::string text);
  Option& Group(std::string heading);  // under which --help shows it
  Option& Completes(Words words);
  Option& Suggests(std::vector<std::string> values);  // what a shell offers; "key=" goes on
  Option& Excludes(Option& other);                    // both cannot be given
  Option& SplitAt(char delimiter);                    // of a list: one word may hold several values

 private:
  friend class Command;

  std::vector<std::string> names_;
  std::string what_, placeholder_, group_, default_, shown_default_;
  std::vector<std::string> choices_, suggestions_;
  std::vector<const Option*> excluded_;
  Store store_;
  Words words_ = Words::kNone;
  char delimiter_ = '\0';
  bool is_flag_ = false, is_list_ = false, is_required_ = false;
};

template <class Value>
using Choices = std::vector<std::pair<const char*, Value>>;

class Command {
 public:
  explicit Command(std::string name, std::string summary = "", const Command* parent = nullptr);
  Command(const Command&) = delete;  // options point to each other
  Command& operator=(const Command&) = delete;

  const std::string& name() const { return name_; }
  std::string path() const;  // "spyre-cosim trace summary"
  const std::string& summary() const { return summary_; }
  const std::string& heading() const { return heading_; }  // under which --help shows it
  const std::string& footer() const { return footer_; }
  const std::string& version() const { return version_; }
  const Command* parent() const { return parent_; }
  const std::deque<Command>& commands() const { return commands_; }
  // With the arguments, as declared. Those of a command hold for its commands too.
  const std::deque<Option>& options() const { return options_; }
  const Option* FindOption(const std::string& name) const;  // also of the commands above it
  const std::function<int()>& action() const { return action_; }

  // Commands that are added from now on stand under this heading.
  void Heading(std::string heading) { next_heading_ = std::move(heading); }
  // References stay valid.
  Command& AddCommand(std::string name, std::string summary);
  Command& Footer(std::string text);
  Command& Version(std::string text);  // of the root: what --version prints
  // Called when this command was asked for and its values are stored; returns the exit status. A
  // command has an action or commands of its own.
  void Action(std::function<int()> action);

  Option& Add(const std::string& names, bool& flag, const std::string& what);
  Option& Add(const std::string& names, std::string& target, const std::string& what);
  Option& Add(const std::string& names, std::vector<std::string>& target, const std::string& what);
  // Whole numbers from min to max, decimal or with 0x.
  Option& Add(const std::string& names, uint32_t& target, const std::string& what, uint32_t min = 0,
              uint32_t max = UINT32_MAX);
  Option& Add(const std::string& names, uint64_t& target, const std::string& what, uint64_t min = 0,
              uint64_t max = UINT64_MAX);
  Option& Add(const std::string& names, std::optional<uint64_t>& target, const std::string& what,
              uint64_t min = 0, uint64_t max = UINT64_MAX);
  Option& Add(const std::string& names, double& target, const std::string& what,
              double min = -HUGE_VAL, double max = HUGE_VAL);
  template <class Value>
  Option& Add(const std::string& names, Value& target, const std::string& what,
              const Choices<Value>& choices) {
    std::vector<std::string> words;
    std::string current;
    for (const auto& [word, value] : choices) {
      words.emplace_back(word);
      if (value == target) current = word;
    }
    return AddChoice(names, what, std::move(words), std::move(current),
                     [&target, choices](size_t chosen) { target = choices[chosen].second; });
  }

 private:
  Option& AddOption(const std::string& names, const std::string& what, Option::Store store);
  template <class Number>
  Option& AddNumber(const std::string& names, const std::string& what, Number min, Number max,
                    std::function<void(Number)> store);
  Option& AddChoice(const std::string& names, const std::string& what,
                    std::vector<std::string> words, std::string current,
                    std::function<void(size_t)> store);

  std::string name_, summary_, heading_, footer_, version_;
  std::string next_heading_ = "Commands";
  const Command* parent_ = nullptr;
  std::deque<Command> commands_;
  std::deque<Option> options_;
  std::function<int()> action_;
};

}  // namespace spyre::command_line
