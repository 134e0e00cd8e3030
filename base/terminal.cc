// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace spyre {
namespace {

constexpr size_t kMinWidth = 40;

const char* EscapeOf(Accent accent) {
  switch (accent) {
    case Accent::kGood:
      return "\033[1;32m";
    case Accent::kBad:
      return "\033[1;31m";
    case Accent::kWarning:
      return "\033[1;33m";
    case Accent::kTitle:
      return "\033[1m";
  }
  return "";
}

bool IsNumber(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !word.empty() && is_digit(word.front()) && is_digit(word.back());
}

void WrapLine(std::string_view line, size_t width, size_t hanging, std::string& out) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  out += line.substr(0, indent);
  size_t column = indent;
  bool first = true;
  for (size_t at = indent; at < line.size();) {
    // A word goes with the spaces before it, so that columns inside a line stay as they are.
    const size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    size_t end = std::min(line.find(' ', word), line.size());
    // A number stays with what it counts, "50.6 %".
    if (IsNumber(line.substr(word, end - word)) && end + 1 < line.size() && line[end + 1] != ' ')
      end = std::min(line.find(' ', end + 1), line.size());
    const std::string_view text = line.substr(word, end - word);
    const size_t gap = word - at;
    if (!first && column + gap + Columns(text) > width) {
      out += '\n' + std::string(indent + hanging, ' ');
      column = indent + hanging;
    } else {
      out.append(gap, ' ');
      column += gap;
    }
    out += text;
    column += Columns(text);
    first = false;
    at = end;
  }
}

}  // namespace

bool WantsColor(ColorMode mode, int fd) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(fd) != 0;
}

size_t TerminalWidth(int fd) {
  size_t width = kDefaultWidth;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (const char* const columns = std::getenv("COLUMNS")) {
    const unsigned long value = std::strtoul(columns, nullptr, 10);
    if (value > 0) width = value;
  }
  return std::max(width, kMinWidth);
}

std::string TextStyle::Paint(Accent accent, std::string_view text) const {
  return color ? EscapeOf(accent) + std::string(text) + "\033[0m" : std::string(text);
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size());
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {  // a character begins
      ++columns;
    }
  }
  return columns;
}

std::string Wrap(std::string_view text, size_t width, size_t hanging) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (Columns(line) <= width) {
      out += line;
    } else {
      WrapLine(line, width, hanging, out);
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace spyre
