// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/command_line/help.h"

namespace spyre::command_line {
namespace {

// Text that roff prints as it is: no requests at the beginning of a line, minus for the dash.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Paragraphs that keep their lines.
std::string Paragraphs(const std::string& text) { return ".PP\n.nf\n" + Roff(text) + "\n.fi\n"; }

std::string OptionsText(const Command& command) {
  std::string text;
  for (const Option& option : command.options()) {
    text += fmt::format(".TP\n.B {}\n{}\n", Roff(SynopsisOf(option)), Roff(DescriptionOf(option)));
  }
  return text;
}

void AddCommand(const Command& command, std::string& text) {
  // The lines of `trace` itself only say that there are commands below.
  if (command.commands().empty()) {
    const std::string& root_path = command.path();
    text += fmt::format(".SS {}\n", Roff(root_path.substr(root_path.find(' ') + 1)));
    text += fmt::format(".B {}\n.PP\n{}.\n", Roff(UsageOf(command)), Roff(command.summary()));
    text += OptionsText(command);
    if (!command.footer().empty()) text += Paragraphs(command.footer());
  }
  for (const Command& child : command.commands()) AddCommand(child, text);
}

}  // namespace

std::string ManPage(const Command& root, const std::string& release,
                    const std::vector<ManSection>& sections) {
  std::string text =
      fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n", Roff(Upper(root.name())), release);
  text += fmt::format(".SH NAME\n{} \\- {}\n", Roff(root.name()), Roff(root.summary()));
  text += ".SH SYNOPSIS\n";
  for (const Command& command : root.commands())
    text += fmt::format(".B {}\n.br\n", Roff(UsageOf(command)));
  if (root.commands().empty()) {  // a program without commands
    text += fmt::format(".B {}\n.SH OPTIONS\n", Roff(UsageOf(root)));
  } else {
    std::string heading;
    for (const Command& command : root.commands()) {
      if (command.heading() != heading) {
        heading = command.heading();
        text += fmt::format(".SH {}\n", Roff(Upper(heading)));
      }
      AddCommand(command, text);
    }
    text += ".SH COMMON OPTIONS\n";
  }
  text += OptionsText(root);
  text += fmt::format(".TP\n.B {}\nprint help and do nothing else\n", Roff("-h, --help"));
  if (!root.version().empty()) {
    text += fmt::format(".TP\n.B {}\nprint the version and what it was built with\n",
                        Roff("--version"));
  }
  for (const auto& [heading, body] : sections)
    text += fmt::format(".SH {}\n{}\n", Roff(heading), Roff(body));
  return text;
}

}  // namespace spyre::command_line
