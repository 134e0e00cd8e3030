// SPDX-License-Identifier: Apache-2.0
// What the terminal can show: its width, colour, and text broken to that width. Any thread. Nothing
// here writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spyre {

enum class ColorMode { kAuto, kAlways, kNever };

// kAuto: colour where the file descriptor is a terminal, NO_COLOR is unset or empty and TERM is not
// "dumb".
bool WantsColor(ColorMode mode, int fd);

constexpr size_t kDefaultWidth = 100;
// Columns of the terminal behind the descriptor; without one, those of the variable COLUMNS;
// without that, kDefaultWidth. At least 40, so that text stays readable.
size_t TerminalWidth(int fd);

enum class Accent { kGood, kBad, kWarning, kTitle };

// How text for people is laid out.
struct TextStyle {
  size_t width = kDefaultWidth;
  bool color = false;

  // The text between the escape sequences of the accent, or as it is without colour.
  std::string Paint(Accent accent, std::string_view text) const;
};

// Number of columns of UTF-8 text: one for each character, none for the sequences of Paint.
size_t Columns(std::string_view text);

// Every line of the text that is wider than `width` broken between words, its continuation indented
// as the line and by `hanging` more. Words that are wider stay whole.
std::string Wrap(std::string_view text, size_t width, size_t hanging = 2);

}  // namespace spyre
