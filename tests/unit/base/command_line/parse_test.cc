// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/command_line/help.h"
#include "base/error.h"
#include "tests/unit/base/command_line/sample_command_line.h"

namespace spyre::command_line::parse_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ParseTest : public ::testing::Test {
 protected:
  Request Ask(const std::vector<std::string>& words) { return Parse(line_.root, words); }
  std::string Problem(const std::vector<std::string>& words) {
    try {
      Ask(words);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "accepted";
  }
  SampleCommandLine line_;
};

TEST_F(ParseTest, ValuesOfEveryKindReachTheirTargets) {
  const Request request =
      Ask({"run", "--set", "a.b=1", "f.toml", "--set", "a.c=x y", "--shape", "1x2,3", "--shape",
           "4", "-q", "--out=d", "--jobs", "8", "--port", "0x10", "--rate", "0.5"});
  ASSERT_EQ(request.kind, Request::Kind::kRun);
  EXPECT_EQ(request.command->action()(), 0);
  EXPECT_EQ(line_.ran, "run");
  EXPECT_EQ(line_.config, "f.toml");
  EXPECT_THAT(line_.sets, ElementsAre("a.b=1", "a.c=x y"));
  EXPECT_THAT(line_.shapes, ElementsAre("1x2", "3", "4"));
  EXPECT_TRUE(line_.quiet);
  EXPECT_EQ(line_.out, "d");
  EXPECT_EQ(line_.jobs, 8u);
  EXPECT_EQ(line_.port, 16u);
  EXPECT_EQ(line_.rate, 0.5);
  EXPECT_EQ(line_.limit, 100u) << "what is not given stays";
}

TEST_F(ParseTest, CommandsOfCommandsTakeListsOfFiles) {
  const Request request = Ask({"look", "all", "a", "b", "--format", "json", "c", "-ox"});
  EXPECT_EQ(request.command->path(), "prog look all");
  EXPECT_EQ(request.command->action()(), 7);
  EXPECT_THAT(line_.files, ElementsAre("a", "b", "c"));
  EXPECT_EQ(line_.format, SampleCommandLine::Format::kJson);
  EXPECT_EQ(line_.output, "x");
}

TEST_F(ParseTest, OptionsOfTheProgramMayStandBehindACommand) {
  Ask({"run", "f", "--color", "never"});
  EXPECT_EQ(line_.color, SampleCommandLine::Color::kNever);
  Ask({"--color=auto", "run", "f"});
  EXPECT_EQ(line_.color, SampleCommandLine::Color::kAuto);
}

TEST_F(ParseTest, ANameOfACommandMayBeAFile) {
  Ask({"run", "look"});
  EXPECT_EQ(line_.config, "look");
  Ask({"run", "--", "-f.toml"});
  EXPECT_EQ(line_.config, "-f.toml");
}

TEST_F(ParseTest, HelpAndVersionNeedNothingElse) {
  const Request help = Ask({"run", "--help", "--color", "never"});
  EXPECT_EQ(help.kind, Request::Kind::kHelp);
  EXPECT_EQ(help.command->name(), "run");
  EXPECT_EQ(line_.color, SampleCommandLine::Color::kNever) << "the help is without colour, too";
  EXPECT_EQ(Ask({"look", "-h"}).command->name(), "look");
  EXPECT_EQ(Ask({"--version"}).kind, Request::Kind::kVersion);
  EXPECT_EQ(Ask({"run", "--version"}).kind, Request::Kind::kVersion);
}

TEST_F(ParseTest, AMistypedWordIsToldTheNearestOne) {
  EXPECT_THAT(Problem({"rnu", "f"}), HasSubstr("'rnu' is not a command; did you mean 'run'?"));
  EXPECT_THAT(Problem({"look", "al"}), HasSubstr("did you mean 'all'?"));
  EXPECT_THAT(Problem({"run", "f", "--quit"}),
              AllOf(HasSubstr("'--quit' is not an option of `prog run`"),
                    HasSubstr("did you mean '--quiet'?"), HasSubstr("`prog run --help`")));
  EXPECT_THAT(Problem({"run", "--ste", "a=b"}), HasSubstr("did you mean '--set'?"))
      << "before what is missing";
  EXPECT_THAT(Problem({"run", "f", "--colour=never"}), HasSubstr("did you mean '--color'?"));
  EXPECT_THAT(Problem({"look", "all", "f", "--format", "jsn"}), HasSubstr("did you mean 'json'?"));
  EXPECT_THAT(Problem({"xyzzy"}), Not(HasSubstr("did you mean")));
}

TEST_F(ParseTest, WhatIsMissingTwiceOrTooMuchIsRefused) {
  EXPECT_THAT(Problem({}), HasSubstr("a command is missing"));
  EXPECT_THAT(Problem({"look"}), HasSubstr("a command is missing (`prog look --help`"));
  EXPECT_THAT(Problem({"run"}), HasSubstr("CONFIG is required"));
  EXPECT_THAT(Problem({"run", "f", "g"}), HasSubstr("'g' is one word too many for `prog run`"));
  EXPECT_THAT(Problem({"run", "f", "--out"}), HasSubstr("--out: 1 required DIR missing"));
  EXPECT_THAT(Problem({"run", "f", "--out", "a", "--out", "b"}),
              HasSubstr("--out is given more than once"));
  EXPECT_THAT(Problem({"run", "f", "--quiet=false"}), HasSubstr("takes no value"));
  EXPECT_THAT(Problem({"run", "f", "-q", "--limit", "3"}),
              HasSubstr("--limit and --quiet cannot both be given"));
}

TEST_F(ParseTest, AnEmptyArgumentIsRefused) {
  EXPECT_THAT(Problem({"run", ""}), HasSubstr("CONFIG of `prog run` is empty"));
  EXPECT_THAT(Problem({"look", "all", "a", ""}), HasSubstr("FILE of `prog look all` is empty"));
}

TEST_F(ParseTest, NumbersAreWholeAndInTheirRange) {
  EXPECT_THAT(Problem({"run", "f", "--jobs", "9"}), HasSubstr("--jobs 9 is out of range; allowed: "
                                                              "1 .. 8"));
  for (const char* text : {"many", "1.5", "-1", "", " 1", "1x", "99999999999999999999"}) {
    EXPECT_THAT(Problem({"run", "f", "--limit", text}), HasSubstr("--limit '")) << text;
  }
  EXPECT_THAT(Problem({"run", "f", "--jobs", "4294967297"}), HasSubstr("out of range"));
  EXPECT_THAT(Problem({"run", "f", "--port", "65536"}), HasSubstr("--port 65536 is out of range"));
  EXPECT_THAT(Problem({"run", "f", "--rate", "nan"}), HasSubstr("must be a number"));
  EXPECT_THAT(Problem({"run", "f", "--rate", "1.1"}), HasSubstr("allowed: 0 .. 1"));
}

TEST_F(ParseTest, ADeclarationTwiceIsABug) {
  EXPECT_THROW(line_.root.Add("--color", line_.out, "again"), std::logic_error);
}

TEST_F(ParseTest, HelpShowsEverythingAndFitsTheWidth) {
  const std::string text = Help(line_.root.commands().front(), {50, false});
  for (const char* part : {"Usage: prog run CONFIG [OPTIONS]", "-q, --quiet", "--out DIR",
                           "Of a bundle:", "--jobs N", "[2]", "--color WHEN", "--version"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 50u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_THAT(Help(line_.root), AllOf(HasSubstr("run  Run a file"), HasSubstr("Exit status: 0")));
}

TEST_F(ParseTest, HelpShowsCommandsUnderTheirHeadings) {
  const std::string text = Help(line_.root);
  EXPECT_THAT(text, HasSubstr("\nCommands:\n  run  Run a file"));
  EXPECT_THAT(text, HasSubstr("\nFiles:\n  look  Look into files\n\n"));
}

}  // namespace
}  // namespace spyre::command_line::parse_test
