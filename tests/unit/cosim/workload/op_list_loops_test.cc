// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/op_list_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::op_list_loops_test {
namespace {

using Json = nlohmann::ordered_json;
using test::ErrorOf;
using ::testing::HasSubstr;

Json Expanded(const std::string& text) {
  Json list = JsonOf(text);
  ExpandOpList(list);
  return list;
}

std::string Refusal(const std::string& text) {
  return ErrorOf(ErrorKind::kBadInput, [&] { Expanded(text); });
}

TEST(LoopIndex, IsWrittenWhereItsNameStands) {
  EXPECT_EQ(WithLoopIndex("x{i}_{i+2}_{i-1}_{i*64}_{i*8+5}", "i", 3), "x3_5_2_192_29");
  EXPECT_EQ(WithLoopIndex("{j} {ij} {i/2} {i", "i", 3), "{j} {ij} {i/2} {i");
}

TEST(OpListLoops, ForEachWritesTheEntriesOutInOrder) {
  const Json list = Expanded(R"({"dims": {"N": 2},
    "tensors": [{"for_each": "i", "count": "N", "tensors": [{"name": "x{i}", "dims": ["M"]}]}],
    "ops": [{"for_each": "i", "count": 2, "from": 1, "ops": [
      {"op": "neg", "inputs": ["x{i-1}"], "output": "y{i}", "stream": "{i}", "priority": "{i*3}"}]}]})");
  ASSERT_EQ(list["tensors"].size(), 2u);
  EXPECT_EQ(list["tensors"][1]["name"], "x1");
  ASSERT_EQ(list["ops"].size(), 2u);
  EXPECT_EQ(list["ops"][0]["inputs"][0], "x0");
  EXPECT_EQ(list["ops"][1]["output"], "y2");
  EXPECT_EQ(list["ops"][1]["stream"], 2);
  EXPECT_EQ(list["ops"][1]["priority"], 6);
  EXPECT_FALSE(list["ops"][1].contains("after"));
}

TEST(OpListLoops, SequentialComesAfterAllOfTheIterationBefore) {
  const Json list = Expanded(R"({"ops": [{"sequential": "i", "count": 3, "ops": [
    {"for_each": "j", "count": 2, "ops": [{"op": "neg", "output": "y{i}{j}"}]}]}]})");
  ASSERT_EQ(list["ops"].size(), 6u);
  EXPECT_FALSE(list["ops"][1].contains("after"));
  EXPECT_EQ(list["ops"][2]["after"], Json({"y00", "y01"}));
  EXPECT_EQ(list["ops"][5]["after"], Json({"y10", "y11"}));
}

TEST(OpListChannels, ReceiveComesAfterItsSendAndSendsWaitForRoom) {
  const Json list = Expanded(R"({"channels": {"c": 1}, "ops": [
    {"output": "a", "send": "c"}, {"output": "b", "receive": "c"},
    {"output": "d", "send": "c"}, {"output": "e", "receive": "c"}]})");
  EXPECT_FALSE(list.contains("channels"));
  EXPECT_FALSE(list["ops"][0].contains("after"));
  EXPECT_EQ(list["ops"][1]["after"], Json({"a"}));
  EXPECT_EQ(list["ops"][2]["after"], Json({"b"}));
  EXPECT_EQ(list["ops"][3]["after"], Json({"d"}));
}

TEST(OpListLoops, SaysWhatIsWrong) {
  EXPECT_THAT(Refusal(R"({"ops": [{"for_each": "i", "ops": []}]})"), HasSubstr("ops[0].count"));
  EXPECT_THAT(Refusal(R"({"ops": [{"for_each": "i", "count": 0, "ops": []}]})"), HasSubstr("1"));
  EXPECT_THAT(Refusal(R"({"ops": [{"for_each": "i", "count": 2, "op": "neg"}]})"),
              HasSubstr("no 'op'"));
  EXPECT_THAT(Refusal(R"({"ops": [{"output": "a", "receive": "c"}]})"), HasSubstr("'c'"));
  EXPECT_THAT(Refusal(R"({"channels": {"c": 1}, "ops": [{"output": "a", "send": "c"},
    {"output": "b", "send": "c"}]})"),
              HasSubstr("room for 1"));
  EXPECT_THAT(Refusal(R"({"channels": {"c": 1}, "ops": []})"), HasSubstr("no operation sends"));
}

}  // namespace
}  // namespace spyre::cosim::op_list_loops_test
