// SPDX-License-Identifier: Apache-2.0
// Decisions and their reasons: each rule that may decide, on a list where it does.
#include "runtime/compiler/front_end/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "runtime/compiler/front_end/pipeline.h"

namespace spyre::compiler::explain_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// "y: LX, ...", what the pass decided on the subject, with its reasons, as people read it.
std::string Why(const std::string& list, const std::string& pass, const std::string& subject,
                const FrontEndOptions& options = {}) {
  const FrontEndResult graph = CompileNamedGraph(ReadNamedGraph(JsonOf(list)), options);
  std::vector<Decision> found;
  for (const Decision& decision : graph.decisions)
    if (decision.pass == pass && decision.subject == subject) found.push_back(decision);
  EXPECT_EQ(found.size(), 1u) << pass << " " << subject;
  return ExplainText(found);
}

std::string Chain(int a, int b, const std::string& hints = "[]") {
  return R"({"dims": {"A": )" + std::to_string(a) + R"(, "B": )" + std::to_string(b) + R"(},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "exp", "inputs": ["y"], "output": "x"},
            {"op": "mul", "inputs": ["x", "b"], "output": "z"}],
    "hints": )" +
         hints + "}";
}

TEST(ExplainDivision, SaysWhichSplitsDoNotDivide) {
  EXPECT_EQ(Why(Chain(400, 640), "division", "y"),
            "division\n"
            "  y: A: 25, on 25 of 32 cores\n"
            "    because output loops, the largest first, take as many cores as divide them; A has "
            "400, B has 10 sticks\n"
            "    not A: 26 to 32: none divides its 400\n"
            "    not B: 2 to 32: larger loops have taken all cores\n");
  EXPECT_THAT(Why(Chain(8, 640), "division", "y"),
              AllOf(HasSubstr("A: 2, B: 10"), HasSubstr("not B: 11 to 32: it has 10 sticks"),
                    HasSubstr("not A: 3: none divides its 8")));
}

std::string Matmul(int m, int k, int n) {
  return R"({"dims": {"M": )" + std::to_string(m) + R"(, "K": )" + std::to_string(k) +
         R"(, "N": )" + std::to_string(n) + R"(},
    "tensors": [{"name": "a", "dims": ["M", "K"]}, {"name": "b", "dims": ["K", "N"]}],
    "ops": [{"op": "matmul", "inputs": ["a", "b"], "output": "c"}]})";
}

TEST(ExplainDivision, SaysWhyKFastDivisionDidOrDidNotApply) {
  EXPECT_THAT(Why(Matmul(128, 4096, 4096), "division", "c"),
              HasSubstr("because k-fast division: few rows for each core"));
  EXPECT_THAT(Why(Matmul(1024, 4096, 4096), "division", "c"),
              HasSubstr("not k-fast division: 1024 rows are not 1 to 16 for each core"));
  EXPECT_THAT(Why(Matmul(128, 1024, 4096), "division", "c"),
              HasSubstr("not k-fast division: 16 sticks of contraction are too few"));
}

TEST(ExplainDivision, SaysWhatTheCostRulePrefers) {
  FrontEndOptions options;
  options.division.rule = SplitRule::kCost;
  EXPECT_THAT(
      Why(Matmul(1024, 2048, 4096), "division", "c", options),
      AllOf(HasSubstr("because rule cost"), HasSubstr("not M: 32: the public rule's answer")));
}

TEST(ExplainDivision, SaysWhatALoopAgreedOn) {
  // By themselves the two would cut other dimensions: the reduction keeps A only.
  const std::string list = R"({"dims": {"A": 64, "B": 8192},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["a"], "output": "y"},
            {"op": "sum", "inputs": ["y"], "output": "z", "dim": "B"}],
    "hints": [{"slices": {"A": 2}}]})";
  EXPECT_THAT(Why(list, "division", "y"),
              AllOf(HasSubstr("y: A: 32"), HasSubstr("because the operations of its loop agree"),
                    HasSubstr("not B: 32: the rule's own answer")));
}

TEST(ExplainPlaces, SaysWhyABufferIsInLx) {
  EXPECT_EQ(Why(Chain(512, 512), "lx", "y"),
            "lx\n"
            "  y: LX, 16384 bytes of each core at 0\n"
            "    because every operation that touches it has the same core hold the same part (32 "
            "slices of device dimension 1)\n");
}

TEST(ExplainPlaces, SaysThatThereIsNoRoom) {
  // 1024 x 32768 float16 in 32 parts: 2 MiB of each core.
  EXPECT_EQ(
      Why(Chain(1024, 32768), "lx", "y"),
      "lx\n"
      "  y: pool, 67108864 bytes of device memory at 0\n"
      "    because it cannot stay in LX\n"
      "    not LX: no room: each core needs 2097152 bytes of the 1677721 that LX has for data; "
      "of 2 tiles in a loop it would need 1/2\n");
  FrontEndOptions options;
  options.lx.capacity = 20'000;
  const std::string two = R"({"dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "neg", "inputs": ["a"], "output": "y"}, {"op": "abs", "inputs": ["y"], "output": "x"},
            {"op": "mul", "inputs": ["x", "y"], "output": "z"}]})";
  EXPECT_THAT(Why(two, "lx", "x", options), HasSubstr("and y has 16384 at 0"));
}

TEST(ExplainPlaces, SaysWhichRuleKeepsABufferOut) {
  FrontEndOptions options;
  options.lx_planning = false;
  EXPECT_THAT(Why(Chain(512, 512), "lx", "y", options), HasSubstr("workload.lx = \"none\""));
  options.lx_planning = true;
  options.lx.all_operations = false;
  EXPECT_THAT(Why(Chain(512, 512), "lx", "y", options), HasSubstr("'add' is not one of max, amax"));
  EXPECT_THAT(Why(Chain(512, 512, R"([{"ops": ["y"], "slices": {"A": 2}}])"), "lx", "full_y"),
              HasSubstr("the whole result of a loop"));
  EXPECT_THAT(Why(Chain(512, 512), "lx", "a"), HasSubstr("an input of the kernel"));
  EXPECT_THAT(Why(Chain(512, 512), "lx", "z"), HasSubstr("an output of the kernel"));
}

TEST(ExplainPlaces, SaysThatCoresHoldOtherParts) {
  // y is cut along its columns, the sum along what is left.
  const std::string list = R"({"dims": {"A": 64, "B": 8192},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["a"], "output": "y"},
            {"op": "sum", "inputs": ["y"], "output": "z", "dim": "B"}]})";
  EXPECT_THAT(Why(list, "lx", "y"),
              HasSubstr("'z' has each core use another part than the operations before it"));
}

TEST(ExplainPlaces, SaysThatRestickifyMovesData) {
  const std::string list = R"({"dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["a"], "output": "y"},
            {"op": "matmul", "inputs": ["y", "w"], "output": "z"}],
    "outputs": ["z"]})";
  Json value = JsonOf(list);
  value["dims"]["N"] = 512;
  value["tensors"].push_back(JsonOf(R"({"name": "w", "dims": ["A", "N"]})"));
  value["ops"][1]["dim"] = "A";
  EXPECT_THAT(Why(value.dump(), "lx", "y"), HasSubstr("restickify moves its data between cores"));
  EXPECT_THAT(Why(value.dump(), "stick", "y.by_A"), HasSubstr("z wants A there"));
}

TEST(ExplainHints, SaysWhichLoopAHintBecameAndWhoHasNoPartInIt) {
  const std::string list = R"({"dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "v", "dims": ["B"]}],
    "ops": [{"op": "exp", "inputs": ["v"], "output": "u"},
            {"op": "mul", "inputs": ["a", "u"], "output": "y"},
            {"op": "neg", "inputs": ["y"], "output": "z"}],
    "hints": [{"ops": ["u", "y"], "slices": {"A": 4}}]})";
  EXPECT_EQ(Why(list, "hints", "hint A = 4"),
            "hints\n"
            "  hint A = 4: loop of 4 at level 0 of group 0\n"
            "    because hints nest in the order in which they are given, outermost first\n"
            "    not u: has no dimension A: it does all of its work in each of the 4 iterations\n");
  EXPECT_THAT(Why(list, "hints", "group 0"),
              AllOf(HasSubstr("loop of 4 around u, y"), HasSubstr("not z: is under no hint")));
  EXPECT_EQ(Why(list, "propagate", "y"),
            "propagate\n"
            "  y: writes full_y tile by tile\n"
            "    because z reads it outside the loop, and nothing reads it inside\n");
}

TEST(ExplainHints, SaysThatAHintIsNoLoop) {
  const std::string list = R"({"dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "sum", "inputs": ["a"], "output": "y", "dim": "A"}],
    "hints": [{"slices": {"A": 4}}]})";
  EXPECT_THAT(Why(list, "hints", "hint A = 4"),
              AllOf(HasSubstr("no loop"), HasSubstr("not y: reduces along A")));
}

}  // namespace
}  // namespace spyre::compiler::explain_test
