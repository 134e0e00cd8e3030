// SPDX-License-Identifier: Apache-2.0
// The passes as `spyre-cosim opt` runs them: every line of the sample cases in tests/data/cases,
// which come from the public compiler itself, and how lines are refused.
#include "runtime/compiler/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "tests/paths.h"

namespace spyre::compiler::passes_test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::string> ReadLines(const std::string& file) {
  std::ifstream stream(std::string(SPYRE_SOURCE_DIR) + "/tests/data/cases/" + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << file;
  return lines;
}

Json Answer(const std::string& pass, const std::string& line) {
  return SortedJsonOf(RunPass(RequirePass(pass), line));
}

Json Answer(const std::string& pass, const Json& line) { return Answer(pass, line.dump()); }

// Texts of log lines are free, and how many there are of them.
bool IsFree(const std::string& key) {
  return key == "log" || key == "span_reduction_log" || key == "critical_logged";
}

// Every key of `expected` is in `result` with the same value.
void ExpectHolds(const Json& result, const Json& expected, const std::string& where) {
  if (!expected.is_object()) {
    EXPECT_EQ(result, expected) << where;
    return;
  }
  ASSERT_TRUE(result.is_object()) << where << ": " << result;
  for (const auto& [key, value] : expected.items()) {
    if (IsFree(key)) continue;
    ASSERT_TRUE(result.contains(key)) << where << "." << key << " is missing";
    ExpectHolds(result[key], value, where + "." + key);
  }
}

struct SampleFile {
  const char* pass;
  const char* file;
};

class PassSamples : public testing::TestWithParam<SampleFile> {};

TEST_P(PassSamples, AreAnsweredAsByThePublicCompiler) {
  for (const std::string& line : ReadLines(GetParam().file)) {
    const Json sample = SortedJsonOf(line);
    const Json result = Answer(GetParam().pass, line);
    EXPECT_EQ(result["id"], sample["id"]);
    ExpectHolds(result, sample["expected"], sample["id"].get<std::string>());
    if (!sample["expected"].contains("error")) {
      EXPECT_FALSE(result.contains("error")) << result;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PassSamples,
    testing::Values(SampleFile{"work-division", "work_division_cases.jsonl"},
                    SampleFile{"core-split", "core_split.jsonl"},
                    SampleFile{"multi-dim-split", "multi_dim_split.jsonl"},
                    SampleFile{"split-encoding", "split_encoding.jsonl"},
                    SampleFile{"device-layout", "device_layout.jsonl"},
                    SampleFile{"device-coordinates", "device_coordinates.jsonl"},
                    SampleFile{"core-to-slice", "core_to_slice.jsonl"},
                    SampleFile{"lx-solve", "lx_solver.jsonl"},
                    SampleFile{"lx-plan", "lx_planning.jsonl"},
                    SampleFile{"coarse-tile", "coarse_tile_stamp.jsonl"},
                    SampleFile{"tiling-propagation", "tiling_propagation.jsonl"},
                    SampleFile{"group-loops", "loop_grouping.jsonl"},
                    SampleFile{"unroll", "unroll.jsonl"},
                    SampleFile{"bundle", "bundle_text.jsonl"}),
    [](const auto& tested) {
      std::string name = tested.param.pass;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(Passes, AnUnknownNameIsRefusedWithTheNearestAndAllNames) {
  try {
    RequirePass("work-divison");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'work-division'?"));
    EXPECT_THAT(error.what(), HasSubstr("core-split, multi-dim-split"));
  }
}

TEST(Passes, EveryLineThatIsNotTheirInputIsAnsweredAsInvalid) {
  const std::vector<std::string> lines = {"{",
                                          "",
                                          "3",
                                          "[]",
                                          "null",
                                          "{}",
                                          "{\"id\": 7, \"size\": \"x\"}",
                                          "{\"id\": \"\xff\"}",
                                          std::string(100'000, '['),
                                          "{\"size\": 1e999}",
                                          "{\"size\": 1.5, \"max_cores\": 4}"};
  for (const Pass& pass : Passes()) {
    for (const std::string& line : lines) {
      const Json result = SortedJsonOf(RunPass(pass, line));
      ASSERT_TRUE(result.contains("error")) << pass.name << " " << line.substr(0, 80);
      EXPECT_EQ(result["error"]["type"], "InvalidInput") << pass.name << " " << line.substr(0, 80);
      EXPECT_FALSE(result["error"]["message"].get<std::string>().empty());
    }
  }
}

TEST(Passes, TheIdOfALineComesBackAlsoWhenItIsRefused) {
  EXPECT_EQ(Answer("core-split", Json{{"id", "a"}, {"size", 6}, {"max_cores", 4}}),
            Json({{"id", "a"}, {"split", 3}}));
  const Json refused = Answer("core-split", Json{{"id", {1, 2}}, {"size", 6}});
  EXPECT_EQ(refused["id"], Json({1, 2}));
  EXPECT_THAT(refused["error"]["message"].get<std::string>(),
              HasSubstr("key 'max_cores' is missing"));
}

TEST(Passes, WhatALineExpectsChangesNothing) {
  const Json line = {{"size", 12}, {"max_cores", 5}, {"expected", {{"split", 99}}}};
  EXPECT_EQ(Answer("core-split", line), Json({{"split", 4}}));
}

TEST(Passes, ARefusalByThePublicRulesHasTypeKindAndMessage) {
  const Json line = SortedJsonOf(
      R"({"iteration_space": [["v0", 8]], "max_cores": 4, "output_dims": ["v0"],
          "reduction_dims": [], "min_splits": [["v0", 2]]})");
  const Json error = Answer("multi-dim-split", line)["error"];
  EXPECT_EQ(error["type"], "AssertionError");
  EXPECT_EQ(error["kind"], "committed_dim_still_listed");
  EXPECT_THAT(error["message"].get<std::string>(),
              HasSubstr("dimension 0 has a minimum split of 2"));
}

TEST(Passes, CoordinatesInsideAStickThatTheHardwareCannotWalkAreUnsupported) {
  Json line = SortedJsonOf(
      R"({"host_size": [4, 256], "dtype": "float16", "ranges": [["d0", 4], ["d1", 128]],
          "index": {"const": 0, "coeff": {"d0": 256, "d1": 2}}})");
  const Json error = Answer("device-coordinates", line)["error"];
  EXPECT_EQ(error["type"], "Unsupported");
  line["index"]["coeff"]["d1"] = 1;
  EXPECT_EQ(Answer("device-coordinates", line)["device_coordinates"],
            Json({"floor(d1/64)", "d0", "Mod(d1, 64)"}));
}

// [4, 64, 8] with the dimension of 64 inside the stick, walked by one fused loop: by hand, element
// i of the loop is at (i / 512, (i % 512) / 8, i % 8).
TEST(DeviceCoordinatesPass, AFusedLoopMayHaveTheStickInItsMiddle) {
  const Json line = SortedJsonOf(
      R"({"host_size": [4, 64, 8], "dtype": "float16", "dim_order": [0, 2, 1],
          "ranges": [["f0", 2048]], "index": {"const": 0, "coeff": {"f0": 1}}})");
  EXPECT_EQ(Answer("device-coordinates", line)["device_coordinates"],
            Json({"Mod(f0, 8)", "0", "floor(f0/512)", "floor(Mod(f0, 512)/8)"}));
}

// [3, 100, 8]: eight of the 64 elements of a stick are used.
TEST(DeviceCoordinatesPass, AFusedLoopMayEndInAStickThatIsNotFull) {
  const Json line = SortedJsonOf(
      R"({"host_size": [3, 100, 8], "dtype": "float16", "dim_order": [0, 1, 2],
          "ranges": [["d0", 3], ["f0", 800]],
          "index": {"const": 0, "coeff": {"d0": 800, "f0": 1}}})");
  EXPECT_EQ(Answer("device-coordinates", line)["device_coordinates"],
            Json({"floor(f0/8)", "0", "d0", "Mod(f0, 8)"}));
}

TEST(DeviceCoordinatesPass, AViewMayBeginInsideAStick) {
  const Json line = SortedJsonOf(
      R"({"host_size": [4, 128], "dtype": "float16", "dim_order": [0, 1],
          "ranges": [["d0", 4], ["d1", 32]],
          "index": {"const": 32, "coeff": {"d0": 128, "d1": 1}}})");
  EXPECT_EQ(Answer("device-coordinates", line)["device_coordinates"], Json({"0", "d0", "d1 + 32"}));
}

TEST(WorkDivisionPass, InvalidOperationsAreRefusedWithTheKey) {
  const Json good = SortedJsonOf(ReadLines("work_division_cases.jsonl").at(0));
  const auto refusal = [&](const std::function<void(Json&)>& change) {
    Json changed = good;
    change(changed);
    const Json result = Answer("work-division", changed);
    return result["error"]["type"] == "InvalidInput" ? result["error"]["message"].get<std::string>()
                                                     : result.dump();
  };
  EXPECT_THAT(refusal([](Json& j) { j["kind"] = "scan"; }), HasSubstr("kind 'scan'"));
  EXPECT_THAT(refusal([](Json& j) { j.erase("kind"); }), HasSubstr("key 'kind' is missing"));
  EXPECT_THAT(refusal([](Json& j) { j.erase("tensors"); }), HasSubstr("'tensors' is missing"));
  EXPECT_THAT(refusal([](Json& j) {
                j["loop_vars"] = {1, 2};
              }),
              HasSubstr("line.loop_vars[0]: an array is expected, found 1"));
  EXPECT_THAT(refusal([](Json& j) { j["loop_vars"][0] = {"d0"}; }), HasSubstr("[name, range]"));
  EXPECT_THAT(refusal([](Json& j) { j["loop_vars"][1][0] = "d0"; }), HasSubstr("d0 given twice"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["role"] = "inout"; }), HasSubstr("'inout'"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["dtype"] = "f17"; }), HasSubstr("'f17'"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["index"] = {{"z", 1}}; }), HasSubstr("'z'"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][2]["role"] = "input"; }),
              HasSubstr("0 tensors have the role output"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["host_size"] = "big"; }),
              HasSubstr("line.tensors[0].host_size: an array is expected"));
  EXPECT_THAT(refusal([](Json& j) { j["sencores"] = 3.5; }), HasSubstr("line.sencores"));
  EXPECT_THAT(refusal([](Json& j) {
                for (int i = 0; i < 20; ++i) j["loop_vars"].push_back({std::to_string(i), 2});
              }),
              HasSubstr("23 loops; at most 16"));
}

TEST(WorkDivisionPass, AnyCoreCountIsAnsweredAndOutside1To32Refused) {
  Json line = SortedJsonOf(ReadLines("work_division_cases.jsonl").at(0));
  for (const int64_t cores : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{33}, INT64_MAX}) {
    line["sencores"] = cores;
    const Json result = Answer("work-division", line);
    EXPECT_EQ(result["error"]["type"], "Unsupported") << cores;
    EXPECT_EQ(result["error"]["message_kind"], "invalid_sencores") << cores;
    EXPECT_TRUE(result["must_split"].is_object()) << cores;
  }
}

}  // namespace
}  // namespace spyre::compiler::passes_test
