// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim opt`: lines in, lines out.
#include "cosim/cli/opt_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace spyre::cosim::opt_command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Opt(const std::string& pass, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  EXPECT_EQ(RunOptCommand({pass, "-"}, in, out), 0);
  return out.str();
}

std::string Refusal(const OptOptions& options) {
  std::istringstream in;
  std::ostringstream out;
  try {
    RunOptCommand(options, in, out);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_EQ(out.str(), "");
    return error.what();
  }
  return "no error";
}

TEST(OptCommand, AnswersEveryLineThatIsNotBlankInOrder) {
  EXPECT_EQ(Opt("core-split",
                "{\"id\": 1, \"size\": 12, \"max_cores\": 8}\n\n  \t\r\n"
                "{\"id\": 2, \"size\": 7, \"max_cores\": 4}\r\n"
                "{\"id\": 3, \"size\": 7, \"max_cores\": 7}"),
            "{\"id\":1,\"split\":6}\n{\"id\":2,\"split\":1}\n{\"id\":3,\"split\":7}\n");
  EXPECT_EQ(Opt("core-split", ""), "");
}

TEST(OptCommand, ALineThatIsRefusedDoesNotStopTheRest) {
  const std::string out = Opt("core-split", "nonsense\n{\"size\": 12, \"max_cores\": 8}\n");
  EXPECT_THAT(out, AllOf(HasSubstr("\"InvalidInput\""), HasSubstr("\n{\"split\":6}\n")));
}

TEST(OptCommand, ReadsAFile) {
  const std::string path = ::testing::TempDir() + "/opt_lines.jsonl";
  std::ofstream(path) << "{\"size\": 12, \"max_cores\": 8}\n";
  std::istringstream unused;
  std::ostringstream out;
  EXPECT_EQ(RunOptCommand({"core-split", path}, unused, out), 0);
  EXPECT_EQ(out.str(), "{\"split\":6}\n");
  std::filesystem::remove(path);
}

TEST(OptCommand, RefusesUnknownPassesAndUnreadableFilesBeforeAnyOutput) {
  EXPECT_THAT(Refusal({"core-splits", "-"}),
              AllOf(HasSubstr("did you mean 'core-split'? The passes are"), HasSubstr("lx-plan")));
  EXPECT_THAT(Refusal({"xyz", "-"}), HasSubstr("'xyz' is not a pass. The passes are"));
  EXPECT_THAT(Refusal({"kernal", "-"}),
              AllOf(HasSubstr("did you mean 'kernel'?"),
                    HasSubstr("over a graph, in order, deadcode_elimination")));
  EXPECT_THAT(Refusal({"core-split", "/no/such/file"}), HasSubstr("/no/such/file: cannot read"));
  EXPECT_THAT(Refusal({"core-split", ::testing::TempDir()}), HasSubstr("cannot read"));
}

const char* const kList =
    R"({"dims": {"A": 64, "B": 64}, "tensors": [{"name": "a", "dims": ["A", "B"]}],
  "ops": [{"op": "neg", "inputs": ["a"], "output": "y"}]})";

TEST(OptCommand, AGraphOnSeveralLinesIsAnsweredInLinesForPeople) {
  const std::string once = Opt("decompose,stick", kList);
  EXPECT_THAT(once, HasSubstr("\n  \"passes\": [\"decompose\", \"promote_types\", \"stick\"],\n"));
  EXPECT_EQ(Opt("stick", Opt("decompose", kList)), once);
}

TEST(OptCommand, BundleTakesLoopTreesAndGraphs) {
  const std::string tree = R"({"id": 1, "specs": [], "use_symbols": true})";
  const std::string answers = Opt("bundle", "\n" + tree + "\n{\"id\": 2}\n" + tree + "\n");
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 3) << answers;
  EXPECT_THAT(answers, HasSubstr("\"bundle_mlir\":"));
  EXPECT_THAT(answers, HasSubstr("{\"id\":2,\"error\""));
  EXPECT_THAT(Opt("bundle", kList), HasSubstr("\"sdsc_0.json\":"));
}

TEST(OptCommand, AGraphOnALineIsAnsweredByALine) {
  std::string line = kList;
  line.erase(std::remove(line.begin(), line.end(), '\n'), line.end());
  std::istringstream in(line + "\n{\"ops\": []}\n" + line);
  std::ostringstream out;
  EXPECT_EQ(RunOptCommand({"lx", "-"}, in, out), 2) << "one is refused";
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_THAT(text, HasSubstr("\n{\"error\":{\"type\":\"InvalidInput\""));
}

TEST(OptCommand, AGraphThatAPassRefusesIsPrintedAndRefused) {
  std::istringstream in(std::string(kList) + " x");
  std::ostringstream out;
  EXPECT_THROW(RunOptCommand({"lx", "-"}, in, out), Error);
  EXPECT_THAT(out.str(), HasSubstr("\"error\""));
  EXPECT_THAT(Refusal({"decompose,core-split", "-"}), HasSubstr("not a pass of the front end"));
}

TEST(OptCommand, TheListNamesEveryPass) {
  command_line::Command root("spyre-cosim");
  AddOptCommand(root);
  EXPECT_THAT(root.commands().front().footer(),
              AllOf(HasSubstr("work-division"), HasSubstr("lx-solve"), HasSubstr("decompose")));
}

}  // namespace
}  // namespace spyre::cosim::opt_command_test
