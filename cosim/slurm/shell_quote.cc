// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/shell_quote.h"

#include <fmt/format.h>

#include <string_view>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

bool IsHarmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+=.,:/@%").find(c) != std::string_view::npos;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string ShellQuote(const std::string& text) {
  if (!text.empty() && AllFit(text, IsHarmless)) return text;
  std::string word;
  if (NoneFits(text, IsControl)) {
    // Nothing has a meaning between single quotes; a single quote itself stands outside of them.
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return "'" + word + "'";
  }
  for (const char c : text) {
    if (IsControl(c)) {
      word += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      if (c == '\'' || c == '\\') word += '\\';
      word += c;
    }
  }
  return "$'" + word + "'";
}

std::string ShellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellQuote(word);
  return line;
}

}  // namespace spyre::cosim
