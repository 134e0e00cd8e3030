// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"

// CLI11 takes the words apart (--a=b, -ofile, --, options before and after arguments). Everything
// that a user reads is made from the declaration.
namespace spyre::command_line {
namespace {

using Given = std::map<const Option*, std::vector<std::string>>;

std::string Hint(const Command& command) {
  return fmt::format(" (`{} --help` tells more)", command.path());
}

class Parser {
 public:
  explicit Parser(const Command& root) : root_(root) { Declare(root, app_); }

  Request Parse(const std::vector<std::string>& words) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      throw BadInput("{}{}", error.what(), Hint(CommandOf(app_)));
    }
    const Command& command = CommandOf(app_);
    RequireKnown(command);
    if (help_ || version_) {
      Write(Collect(root_));
      return {help_ ? Request::Kind::kHelp : Request::Kind::kVersion, &command};
    }
    if (!command.action()) {
      throw BadInput("a command is missing{}", Hint(command));
    }
    Write(Collect(command));
    return {Request::Kind::kRun, &command};
  }

 private:
  void Declare(const Command& command, CLI::App& app) {
    apps_[&command] = &app;
    app.set_help_flag();
    app.add_flag("-h,--help", help_);
    if (!command.version().empty()) app.add_flag("--version", version_);
    app.allow_extras();
    app.fallthrough(command.parent() != nullptr);
    for (const Option& option : command.options()) {
      const std::string names = fmt::format("{}", Joined(option.names(), ","));
      CLI::Option* const declared = option.is_flag()
                                        ? app.add_flag(names)
                                        : app.add_option(names, [](const auto&) { return true; });
      const bool many = option.is_argument() && option.is_list();
      declared->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      declared->type_name(option.placeholder());
      if (!option.is_flag()) declared->expected(1, many ? 1 << 20 : 1)->allow_extra_args(many);
      declared_[&option] = declared;
    }
    if (!command.commands().empty()) app.require_subcommand(0, 1);
    for (const Command& child : command.commands())
      Declare(child, *app.add_subcommand(child.name()));
  }

  // The innermost command that was named.
  const Command& CommandOf(CLI::App& app) const {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    if (!chosen.empty()) return CommandOf(*chosen.front());
    return *FindIf(apps_, [&](const auto& entry) { return entry.second == &app; })->first;
  }

  // What CLI11 could not place is a mistake; the first one is told.
  void RequireKnown(const Command& command) const {
    std::vector<std::string> extras = app_.remaining(/*recurse=*/true);
    for (const std::string& word : extras) {
      if (word.size() < 2 || word.front() != '-' || word == "--") continue;
      const std::string name = word.substr(0, word.find('='));
      std::vector<std::string> names{"--help"};
      for (const Command* at = &command; at != nullptr; at = at->parent()) {
        if (!at->version().empty()) names.emplace_back("--version");
        for (const Option& option : at->options()) {
          if (option.is_argument()) continue;
          names.insert(names.end(), option.names().begin(), option.names().end());
        }
      }
      throw BadInput("'{}' is not an option of `{}`{}{}", name, command.path(),
                     DidYouMean(name, names), Hint(command));
    }
    extras.erase(std::remove(extras.begin(), extras.end(), "--"), extras.end());
    if (extras.empty()) return;
    if (command.commands().empty()) {
      throw BadInput("'{}' is one word too many for `{}`{}", extras.front(), command.path(),
                     Hint(command));
    }
    std::vector<std::string> names;
    for (const Command& child : command.commands()) names.push_back(child.name());
    throw BadInput("'{}' is not a command{}{}", extras.front(), DidYouMean(extras.front(), names),
                   Hint(command));
  }

  Given Collect(const Command& command) const {
    Given given;
    for (const Command* at = &command; at != nullptr; at = at->parent()) {
      for (const Option& option : at->options()) {
        const CLI::Option& declared = *declared_.at(&option);
        if (declared.count() > 0) {
          given[&option] = declared.results();
          Check(command, option, given[&option]);
        } else if (option.is_required()) {
          throw BadInput("{} is required{}", option.name(), Hint(command));
        }
      }
    }
    for (const auto& [option, values] : given) {
      for (const Option* other : option->excluded()) {
        if (given.count(other) != 0)
          throw BadInput("{} and {} cannot both be given", option->name(), other->name());
      }
    }
    return given;
  }

  static void Write(const Given& given) {
    for (const auto& [option, values] : given) option->Write(values);
  }

  static void Check(const Command& command, const Option& option,
                    const std::vector<std::string>& values) {
    if (values.size() > 1 && !option.is_list() && !option.is_flag())
      throw BadInput("{} is given more than once to `{}`", option.name(), command.path());
    for (const std::string& value : values) {
      if (option.is_flag() && value != "true") {
        throw BadInput(
            "{} of `{}` takes no value, and '{}' was given; leave it out to switch it off",
            option.name(), command.path(), value);
      }
    }
    const bool empty = std::find(values.begin(), values.end(), "") != values.end();
    if (option.is_argument() && empty)
      throw BadInput("{} of `{}` is empty; it is: {}", option.name(), command.path(),
                     option.what());
  }

  const Command& root_;
  CLI::App app_;
  std::map<const Command*, CLI::App*> apps_;
  std::map<const Option*, CLI::Option*> declared_;
  bool help_ = false, version_ = false;
};

}  // namespace

Request Parse(const Command& root, const std::vector<std::string>& words) {
  return Parser(root).Parse(words);
}

}  // namespace spyre::command_line
