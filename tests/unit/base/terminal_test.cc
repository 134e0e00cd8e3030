// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace spyre::terminal_test {
namespace {

constexpr int kNoTerminal = -1;

TEST(Terminal, ColourIsForTerminalsUnlessItIsAskedFor) {
  EXPECT_FALSE(WantsColor(ColorMode::kAuto, kNoTerminal));
  EXPECT_TRUE(WantsColor(ColorMode::kAlways, kNoTerminal));
  EXPECT_FALSE(WantsColor(ColorMode::kNever, kNoTerminal));
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(WantsColor(ColorMode::kAlways, kNoTerminal)) << "what is asked for goes first";
  unsetenv("NO_COLOR");
}

TEST(Terminal, WithoutATerminalTheWidthIsThatOfTheEnvironmentOr100) {
  unsetenv("COLUMNS");
  EXPECT_EQ(TerminalWidth(kNoTerminal), 100u);
  setenv("COLUMNS", "72", 1);
  EXPECT_EQ(TerminalWidth(kNoTerminal), 72u);
  setenv("COLUMNS", "3", 1);
  EXPECT_EQ(TerminalWidth(kNoTerminal), 40u) << "text stays readable";
  setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(TerminalWidth(kNoTerminal), 100u);
  unsetenv("COLUMNS");
}

TEST(Terminal, PaintIsTheTextItselfWithoutColour) {
  EXPECT_EQ(TextStyle{}.Paint(Accent::kGood, "verified"), "verified");
  EXPECT_EQ((TextStyle{80, true}.Paint(Accent::kGood, "verified")), "\033[1;32mverified\033[0m");
}

TEST(Terminal, LinesAreBrokenBetweenWordsAndContinueIndented) {
  EXPECT_EQ(Wrap("one two three four", 9), "one two\n  three\n  four");
  EXPECT_EQ(Wrap("  indented text here", 15), "  indented text\n    here");
  EXPECT_EQ(Wrap("one two three four", 9, 0), "one two\nthree\nfour");
  EXPECT_EQ(Wrap("short\nlines stay\n", 20), "short\nlines stay\n");
}

TEST(Terminal, ANumberStaysWithItsUnit) {
  EXPECT_EQ(Wrap("memory 50.6 % of 204.8 GB/s", 19), "memory 50.6 % of\n  204.8 GB/s");
}

TEST(Terminal, WordsThatAreTooWideStayWhole) {
  EXPECT_EQ(Wrap("see out/a/very/long/path now", 10), "see\n  out/a/very/long/path\n  now");
}

TEST(Terminal, ColumnsCountCharactersNotBytes) {
  EXPECT_EQ(Columns("µs"), 2u);
  EXPECT_EQ(Columns("\033[1;32mverified\033[0m: 4"), 11u);
  EXPECT_EQ(Wrap("µs µs µs", 8), "µs µs µs");
}

}  // namespace
}  // namespace spyre::terminal_test
