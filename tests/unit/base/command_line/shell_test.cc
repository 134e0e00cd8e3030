// SPDX-License-Identifier: Apache-2.0
// Completion scripts and the manual page, where their readers are there: bash always.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/command_line/completion.h"
#include "base/command_line/man_page.h"
#include "tests/unit/base/command_line/sample_command_line.h"

namespace spyre::command_line::shell_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class ShellTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::path(::testing::TempDir()) /
           (std::string(info->test_suite_name()) + "_" + info->name());
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_ / "data dir");
    Write("file one.toml", "");
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }
  // Standard output and standard error of a shell command, run in the test's directory.
  std::string Shell(const std::string& command, int* status = nullptr) const {
    FILE* const pipe = popen(("cd '" + dir_.string() + "' && " + command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer;
    size_t count = 0;
    while ((count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
      text.append(buffer.data(), count);
    const int ended = pclose(pipe);
    if (status != nullptr) *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return text;
  }
  bool Has(const std::string& program) const {
    int status = -1;
    Shell("command -v " + program, &status);
    return status == 0;
  }
  // What bash offers for the last of these words.
  std::vector<std::string> Complete(const std::string& words) const {
    Write("c.bash", CompletionScript(line_.root, command_line::Shell::kBash));
    Write("ask.bash", "source ./c.bash\nCOMP_WORDS=(" + words +
                          ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                          "_prog\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    const std::string text = Shell("bash --norc ask.bash");
    std::vector<std::string> lines;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      if (end > begin) lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }

  std::filesystem::path dir_;
  SampleCommandLine line_;
};

TEST_F(ShellTest, BashReadsTheScriptAndBindsTheProgram) {
  Write("c.bash", CompletionScript(line_.root, command_line::Shell::kBash));
  int status = -1;
  EXPECT_THAT(Shell("bash -n c.bash", &status), IsEmpty());
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Shell("bash --norc -c 'source ./c.bash; complete -p prog'"), HasSubstr("-F _prog"));
}

TEST_F(ShellTest, BashCompletesCommandsOptionsAndChoices) {
  EXPECT_THAT(Complete("prog r"), ElementsAre("run"));
  EXPECT_THAT(Complete("prog ''"), UnorderedElementsAre("run", "look"));
  EXPECT_THAT(Complete("prog look a"), ElementsAre("all"));
  EXPECT_THAT(Complete("prog run --o"), ElementsAre("--out"));
  EXPECT_THAT(Complete("prog run x --v"), ElementsAre("--version"));
  EXPECT_THAT(Complete("prog --color never look all --f"), ElementsAre("--format"));
  EXPECT_THAT(Complete("prog look all --format j"), ElementsAre("json"));
  EXPECT_THAT(Complete("prog --color n"), ElementsAre("never"));
  EXPECT_THAT(Complete("prog --color = n"), ElementsAre("never")) << "bash splits at =";
  EXPECT_THAT(Complete("prog run --set a."), UnorderedElementsAre("a.b=", "a.c="));
}

TEST_F(ShellTest, BashCompletesFilesWithBlanksAndDirectories) {
  EXPECT_THAT(Complete("prog run fi"), ElementsAre("file one.toml"));
  EXPECT_THAT(Complete("prog run --out d"), ElementsAre("data dir"));
  EXPECT_THAT(Complete("prog run --jobs f"), IsEmpty()) << "a number is not a file";
}

TEST_F(ShellTest, ZshAndFishReadTheirScripts) {
  const std::string zsh = CompletionScript(line_.root, command_line::Shell::kZsh);
  EXPECT_THAT(zsh, HasSubstr("#compdef prog\n"));
  EXPECT_THAT(zsh, HasSubstr("'--format=[how]:NAME:(text json)'"));
  EXPECT_THAT(zsh, HasSubstr("'run:Run a file'"));
  const std::string fish = CompletionScript(line_.root, command_line::Shell::kFish);
  EXPECT_THAT(fish, HasSubstr("complete -c prog -n '__fish_seen_subcommand_from look; and "
                              "__fish_seen_subcommand_from all' -l format -x -a 'text json'"));
  Write("c.zsh", zsh);
  Write("c.fish", fish);
  for (const std::string shell : {"zsh", "fish"}) {
    if (!Has(shell)) continue;
    int status = -1;
    EXPECT_THAT(Shell(shell + " -n c." + shell, &status), IsEmpty());
    EXPECT_EQ(status, 0);
  }
}

TEST_F(ShellTest, TheManualPageIsRoffThatGroffTakesWithoutAWarning) {
  const std::string page =
      ManPage(line_.root, "prog 1.2", {{"ENVIRONMENT", ".dots and 'quotes' \\ stay"}});
  EXPECT_THAT(page, HasSubstr(".SH NAME\nprog \\- Does things\n"));
  EXPECT_THAT(page, HasSubstr(".SS run\n"));
  EXPECT_THAT(page, HasSubstr(".SS look all\n"));
  Write("prog.1", page);
  if (!Has("groff")) GTEST_SKIP() << "groff is not installed";
  EXPECT_THAT(Shell("groff -man -Tascii -ww -z prog.1"), IsEmpty());
  const std::string text = Shell("groff -man -Tascii -P -cbou prog.1");
  EXPECT_THAT(text, HasSubstr("PROG(1)"));
  EXPECT_THAT(text, HasSubstr("prog run CONFIG [OPTIONS]"));
  EXPECT_THAT(text, HasSubstr("-q, --quiet"));
  EXPECT_THAT(text, HasSubstr(".dots and 'quotes' \\ stay"));
}

TEST_F(ShellTest, TheManualPageOfAProgramWithoutCommandsHasItsOptions) {
  Command root("small", "Does one thing");
  bool quiet = false;
  root.Add("--quiet", quiet, "say nothing");
  const std::string page = ManPage(root, "small 1", {});
  EXPECT_THAT(page,
              HasSubstr(".SH SYNOPSIS\n.B small [OPTIONS]\n.SH OPTIONS\n.TP\n.B \\-\\-quiet\n"));
  EXPECT_THAT(page, Not(HasSubstr("COMMANDS")));
}

}  // namespace
}  // namespace spyre::command_line::shell_test
