// SPDX-License-Identifier: Apache-2.0
#include "base/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre {
namespace {

constexpr size_t kColumn = 10;  // where texts begin: behind "verified: "

std::string Padded(std::string label) {
  if (label.size() < kColumn) label.resize(kColumn, ' ');
  return label;
}

std::string Line(const std::string& label, const std::string& text, size_t width) {
  return text.empty() ? "" : Wrap(Padded(label + ": ") + text, width, kColumn) + "\n";
}

size_t Lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::pair<Accent, const char*> LabelOf(Rightness right) {
  switch (right) {
    case Rightness::kRight:
      return {Accent::kGood, "verified"};
    case Rightness::kWrong:
      return {Accent::kBad, "WRONG"};
    case Rightness::kNotVerified:
      break;
  }
  return {Accent::kWarning, "not verified"};
}

// How many of each list are printed.
struct Room {
  size_t problems, notes, next;

  bool Shrink() {
    for (size_t* const list : {&next, &notes}) {
      if (*list > 0) return --*list, true;
    }
    return problems > 1 && (--problems, true);
  }
};

std::string ToText(const Verdict& verdict, const TextStyle& style, size_t width, const Room& room) {
  const auto painted = [&](Accent accent, const char* label, const std::string& text) {
    const std::string line = Line(label, text, width);
    const size_t colon = line.find(':');
    return line.empty() ? line : style.Paint(accent, line.substr(0, colon)) + line.substr(colon);
  };
  std::string text = painted(Accent::kTitle, "ran", verdict.ran);
  const auto [accent, label] = LabelOf(verdict.right);
  text += painted(accent, label, verdict.checked);
  for (size_t i = 0; i < room.problems; ++i)
    text += painted(Accent::kBad, "problem", verdict.problems[i]);
  if (const size_t more = verdict.problems.size() - room.problems; more > 0)
    text += painted(Accent::kBad, "problem", fmt::format("and {} more", more));
  for (size_t i = 0; i < room.notes; ++i) text += Line("note", verdict.notes[i], width);
  text += Line("time", verdict.time, width) + Line("trust", verdict.trust, width) +
          Line("bound by", verdict.bound, width);
  for (size_t i = 0; i < room.next; ++i) text += Line("next", verdict.next[i], width);
  for (const auto& [name, path] : verdict.files)
    text.append(Padded(name + ": ")).append(path).append("\n");
  return text + Line("more", verdict.more, width);
}

}  // namespace

std::vector<VerdictLine> LinesOf(const Verdict& verdict) {
  std::vector<VerdictLine> lines;
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) lines.push_back({label, text});
  };
  add("ran", verdict.ran);
  add(LabelOf(verdict.right).second, verdict.checked);
  for (const std::string& problem : verdict.problems) add("problem", problem);
  for (const std::string& note : verdict.notes) add("note", note);
  add("time", verdict.time);
  add("trust", verdict.trust);
  add("bound by", verdict.bound);
  for (const std::string& next : verdict.next) add("next", next);
  return lines;
}

const char* Name(Rightness right) {
  switch (right) {
    case Rightness::kRight:
      return "verified";
    case Rightness::kWrong:
      return "wrong";
    case Rightness::kNotVerified:
      break;
  }
  return "not_verified";
}

std::string ToText(const Verdict& verdict, const TextStyle& style) {
  // What is shown does not depend on how narrow a terminal is.
  const size_t width = std::max(style.width, kDefaultWidth);
  Room room{verdict.problems.size(), verdict.notes.size(), verdict.next.size()};
  while (Lines(ToText(verdict, {}, width, room)) > kVerdictLines && room.Shrink()) {
  }
  return ToText(verdict, style, style.width, room);
}

}  // namespace spyre
