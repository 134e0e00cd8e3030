// SPDX-License-Identifier: Apache-2.0
// How every command that runs something ends: the same few lines in the same order, which say what
// ran, whether it is right, how long it took, how far to trust that, what bounds it, what would
// help, and where the rest is. Commands fill in what they know; this is how it is printed. Pure
// functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"

namespace spyre {

enum class Rightness { kRight, kWrong, kNotVerified };
const char* Name(Rightness right);  // "verified", "wrong", "not_verified", as in report.json

// Texts are sentences without a full stop; what is empty is not printed.
struct Verdict {
  std::string ran;
  Rightness right = Rightness::kNotVerified;
  std::string checked;                // what was compared, or what is wrong, or why nothing was
  std::vector<std::string> problems;  // what the user has to act on, the worst first
  std::vector<std::string> notes;     // what the user should know, without having to act
  std::string time, trust, bound;
  std::vector<std::string> next;  // what would help, the most helpful first
  // Label, and a path or a command that is there to be copied, and so is never broken.
  std::vector<std::pair<std::string, std::string>> files;
  std::string more;  // how to see the rest
};

inline constexpr size_t kVerdictLines = 12;

// "bound by", and what stands behind it.
struct VerdictLine {
  std::string label, text;
};
// All there is to say but files and more, in order: for whoever shows a verdict elsewhere.
std::vector<VerdictLine> LinesOf(const Verdict& verdict);

// At most kVerdictLines lines at kDefaultWidth. What would help, then notes, then problems from the
// last one on give way to what has no room; the problems left out are counted.
std::string ToText(const Verdict& verdict, const TextStyle& style);

}  // namespace spyre
