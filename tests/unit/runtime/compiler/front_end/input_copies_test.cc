// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/input_copies.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "runtime/compiler/front_end/plan_facts.h"

namespace spyre::compiler::input_copies_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

constexpr int64_t kColumns = 1024;
constexpr int64_t kElementBytes = 2;

FrontEndOptions Options(bool copies = true) {
  FrontEndOptions options;
  options.lx_input_copies = copies;
  return options;
}

FrontEndResult Compile(int64_t rows, const char* ops, const FrontEndOptions& options,
                       const Json& hints = Json::array()) {
  Json value = {{"dims", {{"R", rows}, {"C", kColumns}}},
                {"tensors", {{{"name", "x"}, {"dims", {"R", "C"}}}}},
                {"ops", JsonOf(ops)}};
  if (!hints.empty()) value["hints"] = hints;
  return CompileNamedGraph(ReadNamedGraph(value), options);
}

std::vector<std::string> Copies(const FrontEndResult& graph) {
  std::vector<std::string> copies;
  for (const Decision& decision : graph.decisions)
    if (decision.pass == "copy_inputs") copies.push_back(decision.subject + ": " + decision.chosen);
  return copies;
}

int64_t BytesRead(const FrontEndResult& graph) {
  return TrafficOf(graph.graph, graph.lx).bytes_read;
}

constexpr char kSoftmax[] = R"([{"op": "softmax", "inputs": ["x"], "output": "y", "dim": "C"}])";

// 64 rows for each core are 128 KiB.
TEST(InputCopies, ASoftmaxReadsItsInputOnce) {
  const FrontEndResult graph = Compile(2048, kSoftmax, Options());
  EXPECT_THAT(Copies(graph), ElementsAre("y.max.x: copy of x in LX"));
  EXPECT_EQ(BytesRead(graph), 2048 * kColumns * kElementBytes);
  EXPECT_EQ(BytesRead(Compile(2048, kSoftmax, Options(false))),
            2 * 2048 * kColumns * kElementBytes);
}

TEST(InputCopies, AreTilesInTheLoopOfTheirReaders) {
  const FrontEndResult graph = Compile(65536, kSoftmax, Options(), {{{"slices", {{"R", 16}}}}});
  EXPECT_THAT(Copies(graph), ElementsAre("y.max.x: copy of x in LX"));
  EXPECT_EQ(graph.graph.Find("y.max.x")->loop->count.front().number(), 16);
  EXPECT_EQ(BytesRead(graph), 65536 * kColumns * kElementBytes);
}

// 4,096 rows of 2 KiB for each core do not fit LX, and a copy in memory would be moved as well.
TEST(InputCopies, AreNotMadeWhereLxHasNoRoom) {
  const FrontEndResult graph = Compile(131072, kSoftmax, Options());
  EXPECT_THAT(Copies(graph), IsEmpty());
  EXPECT_EQ(graph.graph.Find("y.max.x"), nullptr);
}

TEST(InputCopies, AreNotMadeOfWhatOneOperationReads) {
  EXPECT_THAT(Copies(Compile(2048, R"([{"op": "mul", "inputs": ["x", "x"], "output": "a"},
                                       {"op": "exp", "inputs": ["a"], "output": "y"}])",
                             Options())),
              IsEmpty());
}

TEST(InputCopies, AreNotMadeOfWhatAMatmulReads) {
  Json value = {
      {"dims", {{"M", 256}, {"K", 256}, {"N", 256}}},
      {"tensors", {{{"name", "x"}, {"dims", {"M", "K"}}}, {{"name", "w"}, {"dims", {"K", "N"}}}}},
      {"ops", JsonOf(R"([{"op": "exp", "inputs": ["x"], "output": "e"},
                                        {"op": "matmul", "inputs": ["x", "w"], "output": "y"}])")},
      {"outputs", {"e", "y"}}};
  EXPECT_THAT(Copies(CompileNamedGraph(ReadNamedGraph(value), Options())), IsEmpty());
}

}  // namespace
}  // namespace spyre::compiler::input_copies_test
