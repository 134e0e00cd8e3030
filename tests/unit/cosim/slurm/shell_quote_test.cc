// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/shell_quote.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "base/files.h"

namespace spyre::cosim::shell_quote_test {
namespace {

// What bash makes of a line: printf gets its words, each behind a byte that no word has.
std::string SeenByBash(const std::string& line) {
  const ScratchDirectory scratch("shell_quote_test");
  const std::string script = scratch.path() + "/script";
  WriteFile(script, "printf '\\377%s' " + line + "\n", "script");
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("bash " + script).c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;)
    text.append(buffer.data(), count);
  return text;
}

TEST(ShellQuote, BashReadsBackEveryByte) {
  std::vector<std::string> words = {
      "",         "plain-word_1.toml",  "a b", "it's", "$HOME",  "`id` \"x\" \\ !* ?",
      "~/x;y|z&", "new\nline's \\ end", "-n",  "#x",   "ü 100%", "\t"};
  for (int byte = 1; byte < 255; ++byte)
    words.push_back(std::string("x") + static_cast<char>(byte));
  std::string expected;
  for (const std::string& word : words) expected += '\xff' + word;
  EXPECT_EQ(SeenByBash(ShellLine(words)), expected);
}

TEST(ShellQuote, HarmlessWordsStayReadableAndNoneTakesTwoLines) {
  EXPECT_EQ(ShellLine({"sweep", "configs/grid.toml", "--jobs=2"}),
            "sweep configs/grid.toml --jobs=2");
  EXPECT_EQ(ShellQuote("my grid.toml"), "'my grid.toml'");
  EXPECT_EQ(ShellQuote("a\nb").find('\n'), std::string::npos);
}

}  // namespace
}  // namespace spyre::cosim::shell_quote_test
