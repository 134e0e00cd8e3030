// SPDX-License-Identifier: Apache-2.0
// The JSON forms of the tiling passes: what the samples do not show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/json_text.h"
#include "runtime/compiler/passes/passes.h"
#include "tests/paths.h"

namespace spyre::compiler::pass_tiling_test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json Answer(const std::string& pass, const std::string& line) {
  return SortedJsonOf(RunPass(RequirePass(pass), line));
}

std::string ErrorOf(const std::string& pass, const std::string& line) {
  const Json result = Answer(pass, line);
  if (!result.contains("error")) return "";
  const Json& error = result["error"];
  return error["type"].get<std::string>() +
         (error.contains("kind") ? " " + error["kind"].get<std::string>() : "");
}

Json Tiled(const std::string& operations, const std::string& groups,
           const std::string& default_dims = "null") {
  return Answer("coarse-tile", R"({"operations": )" + operations + R"(, "groups": )" + groups +
                                   R"(, "default_tiled_dims": )" + default_dims + "}");
}

constexpr const char* kSquare = R"([{"name": "a", "ranges": [64, 64]}])";

TEST(CoarseTilePass, DimensionsAreTheGroupsOwnThenTheDefaultThenTheFirst) {
  const auto dims = [](const std::string& group, const std::string& default_dims) {
    return Tiled(kSquare, "[" + group + "]", default_dims)["ops"][0]["loop_tiled_dims"];
  };
  const std::string plain = R"({"ops": ["a"], "count": 2})";
  EXPECT_EQ(dims(plain, "null"), SortedJsonOf("[[0]]"));
  EXPECT_EQ(dims(plain, "[1]"), SortedJsonOf("[[1]]"));
  EXPECT_EQ(dims(R"({"ops": ["a"], "count": 2, "tiled_dims": [0, 1]})", "[1]"),
            SortedJsonOf("[[0, 1]]"));
  EXPECT_EQ(dims(R"({"ops": ["a"], "count": 2, "tiled_dims": null})", "[1]"), SortedJsonOf("[[0]]"))
      << "null beats the default";
  EXPECT_EQ(dims(R"({"ops": ["a"], "count": 2, "tiled_dims": []})", "[1]"), SortedJsonOf("[[]]"));
}

TEST(CoarseTilePass, LevelsMayNameTheirHints) {
  const Json result = Tiled(R"([{"name": "a", "ranges": [64, 64],
                 "dim_hints": [{"hint_id": 3, "dim_index": 1, "is_reduction": false},
                               {"hint_id": 4, "dim_index": null}]}])",
                            R"([{"ops": ["a"], "levels": [[3, 2, [0]], [4, 4, [0]]]}])");
  EXPECT_EQ(result["ops"][0]["loop_tiled_dims"], SortedJsonOf("[[1], []]"));
  EXPECT_EQ(result["ops"][0]["ranges"], SortedJsonOf("[64, 32]"));
}

TEST(CoarseTilePass, SymbolsAreText) {
  const Json result = Tiled(R"([{"name": "a", "ranges": ["s0", 64]}])",
                            R"([{"ops": ["a"], "levels": [["K", [0]], [2, [0]]]}])");
  const Json& op = result["ops"][0];
  EXPECT_EQ(op["loop_count"], SortedJsonOf(R"(["K", 2])"));
  EXPECT_EQ(op["ranges"][0], "s0/(2*K)");
  EXPECT_EQ(op["layout"], Json({{"size", {"s0/(2*K)", 64}}, {"stride", {64, 1}}}));
}

TEST(CoarseTilePass, OperationsThatComputeNothingComeBackUnstamped) {
  for (const char* kind : {R"("kind": "extern")", R"("kind": "fallback", "ranges": [4])",
                           R"("computed": false, "ranges": [4])", R"("ranges": null)"}) {
    const Json result =
        Tiled(std::string(R"([{"name": "e", )") + kind + "}]", R"([{"ops": ["e"], "count": 2}])");
    ASSERT_FALSE(result.contains("error")) << kind << result;
    EXPECT_TRUE(result["ops"][0]["loop_group_id"].is_null()) << kind;
  }
}

TEST(CoarseTilePass, LayoutsAreBuiltWhereNoneIsGiven) {
  const Json result = Tiled(R"([{"name": "a", "ranges": [64, 128], "dtype": "float32"},
                                {"name": "b", "ranges": [64, 128], "dim_order": [1, 0]}])",
                            R"([{"ops": ["a", "b"], "count": 2}])");
  EXPECT_EQ(result["ops"][0]["layout"]["device_size"], SortedJsonOf("[4, 32, 32]"));
  EXPECT_EQ(result["ops"][1]["layout"]["device_size"], SortedJsonOf("[1, 128, 64]"));
}

TEST(TilingPropagationPass, ReductionsAreKnownByTheirRangesOrKind) {
  const auto error = [](const std::string& keys) {
    return ErrorOf("tiling-propagation",
                   R"({"graph_outputs": ["r"], "operations": [{"name": "r", "ranges": [16],
                       "reads": ["x"], "loop_group_id": [0], "loop_count": [4],
                       "loop_tiled_dims": [[1]])" +
                       keys + "}]}");
  };
  EXPECT_EQ(error(R"(, "reduction_ranges": [64])"), "RuntimeError tiled_reduction_dim");
  EXPECT_EQ(error(R"(, "kind": "reduction")"), "RuntimeError tiled_reduction_dim");
  EXPECT_EQ(error(""), "");
}

TEST(UnrollPass, AnArgumentInSeveralPlacesIsAtThePoolFirstThenHbmThenLx) {
  const auto allocation = [](const std::string& places) {
    const Json result =
        Answer("unroll", R"({"loop_counts": [2], "loop_tiled_symbols": ["c0"], "ops": [{"op": "x",
                      "iteration_space": [["c0", 4, 1]], "args": [{"dtype": "float16",
                      "device_size": [8, 64], "device_coordinates": ["c0", "0"],
                      "allocation": )" +
                             places + "}]}]}");
    return result["flat_ops"][1]["args"][0]["allocation"];
  };
  EXPECT_EQ(allocation(R"({"hbm": 0, "lx": 0})"), SortedJsonOf(R"({"hbm": 512, "lx": 0})"));
  EXPECT_EQ(allocation(R"({"lx": 5, "hbm": 0, "pool": 7})"),
            SortedJsonOf(R"({"hbm": 0, "lx": 5, "pool": 519})"));
  EXPECT_EQ(allocation(R"({"lx": 128})"), SortedJsonOf(R"({"lx": 640})"));
}

TEST(UnrollPass, SymbolicCountsAreValueErrors) {
  EXPECT_EQ(
      ErrorOf("unroll", R"({"loop_counts": ["s0"], "loop_tiled_symbols": ["c0"], "ops": []})"),
      "ValueError symbolic_count");
}

TEST(UnrollPass, ALoopWithoutAdvanceHasNoSymbol) {
  const Json result = Answer("unroll", R"({"loop_counts": [3], "loop_tiled_symbols": [null],
      "ops": [{"op": "x", "iteration_space": [], "args": []}]})");
  EXPECT_EQ(result["flat_ops"].size(), 3U);
}

TEST(BundlePass, SymbolicCountsAreNotImplemented) {
  EXPECT_EQ(ErrorOf("bundle", R"({"specs": [{"loop": "s0", "body": []}]})"),
            "NotImplementedError symbolic_loop_count");
}

TEST(BundlePass, UnimplementedOperationsAreLeftOutAndTakeNoNumber) {
  const Json result = Answer("bundle", R"({"specs": [{"op": "a", "cores": 1, "tensors": []},
      {"unimplemented": "sort"}, {"op": "b", "cores": 1, "tensors": [{"lx": 0}]}]})");
  EXPECT_EQ(result["sdsc_files"], SortedJsonOf(R"(["sdsc_0.json", "sdsc_1.json"])"));
}

TEST(BundlePass, WithoutSymbolModeThereAreNoSymbols) {
  const Json result = Answer("bundle", R"({"use_symbols": false, "specs": [{"loop": 2, "body": [
      {"op": "a", "cores": 1, "tensors": [{"core_addresses": [4096], "stride_per_loop": [128]}]}]}]})");
  const auto text = result["bundle_mlir"].get<std::string>();
  EXPECT_THAT(text, HasSubstr("sdsc_execute () {sdsc_filename=\"sdsc_0.json\"}"));
  EXPECT_EQ(text.find("sym"), std::string::npos);
  EXPECT_EQ(text.find("affine"), std::string::npos);
}

TEST(TilingPasses, WhatNobodyCanMeanIsInvalidInput) {
  const std::pair<const char*, std::string> lines[] = {
      {"coarse-tile", R"({"operations": [{"name": "a"}, {"name": "a"}], "groups": []})"},
      {"coarse-tile", R"({"operations": [], "groups": [{"ops": [], "count": 1.5}]})"},
      {"coarse-tile", R"({"operations": [], "groups": [{"ops": []}]})"},
      {"coarse-tile", R"({"operations": [], "groups": [{"ops": [], "levels": [[1]]}]})"},
      {"coarse-tile", R"({"operations": [], "groups": [], "layout_before": [null]})"},
      {"coarse-tile",
       R"({"operations": [{"name": "a", "ranges": [1,1,1,1,1,1,1]}], "groups": []})"},
      {"coarse-tile",
       R"json({"operations": [{"name": "a", "ranges": ["floor(s0)"]}], "groups": []})json"},
      {"coarse-tile",
       R"({"operations": [{"name": "a", "ranges": [4611686018427387904, 64]}], "groups": []})"},
      {"tiling-propagation", R"({"operations": [{"name": "a", "ranges": [4],
          "loop_group_id": [0]}], "graph_outputs": []})"},
      {"tiling-propagation", R"({"operations": [{"name": "a", "ranges": [4], "loop_group_id": [0],
          "loop_count": [], "loop_tiled_dims": [[0]]}], "graph_outputs": ["a"]})"},
      {"group-loops", R"({"nodes": [{"loop_group_id": [0], "loop_count": [1]}]})"},
      {"unroll", R"({"loop_counts": [2], "loop_tiled_symbols": [], "ops": []})"},
      {"unroll", R"({"loop_counts": [1000000000000], "loop_tiled_symbols": ["c0"], "ops": [
          {"op": "x", "iteration_space": [], "args": []}]})"},
      {"unroll", R"({"loop_counts": [], "loop_tiled_symbols": [], "ops": [{"op": "x",
          "iteration_space": [], "args": [{"dtype": "float16", "device_size": [8],
          "device_coordinates": [], "allocation": {"hbm": 0}}]}]})"},
      {"bundle", R"({"specs": [{"op": "a", "cores": 2, "tensors": [{"core_addresses": [1]}]}]})"},
      {"bundle", R"({"specs": [{"op": "a", "cores": 1,
          "tensors": [{"core_addresses": [1], "stride_per_loop": [4]}]}]})"},
      {"bundle", R"({"specs": [{"op": "a", "cores": 1e9, "tensors": []}]})"},
  };
  for (const auto& [pass, line] : lines) EXPECT_EQ(ErrorOf(pass, line), "InvalidInput") << line;
}

TEST(TilingPasses, DeepNestingIsAnErrorNotACrash) {
  std::string specs;
  std::string close;
  for (int i = 0; i < 1000; ++i) {
    specs += R"({"loop": 2, "body": [)";
    close += "]}";
  }
  EXPECT_EQ(ErrorOf("bundle", R"({"specs": [)" + specs + close + "]}"), "InvalidInput");
  std::string path = "0";
  for (int i = 0; i < 1000; ++i) path += ", 0";
  EXPECT_EQ(ErrorOf("group-loops", R"({"nodes": [{"name": "n", "loop_group_id": [)" + path +
                                       R"(], "loop_count": [)" + path + "]}]}"),
            "InvalidInput");
}

// ---------------------------------------------------------------- damaged lines

std::vector<Json> Samples(const std::string& file) {
  std::ifstream stream(std::string(SPYRE_SOURCE_DIR) + "/tests/data/cases/" + file);
  std::vector<Json> samples;
  for (std::string line; std::getline(stream, line);) samples.push_back(SortedJsonOf(line));
  EXPECT_FALSE(samples.empty()) << file;
  return samples;
}

// A random place in a document, the document itself included.
Json* AnyPlace(Json& document, std::mt19937& random) {
  Json* place = &document;
  while (place->is_structured() && !place->empty() && random() % 8 != 0) {
    auto it = place->begin();
    std::advance(it, random() % place->size());
    place = &*it;
  }
  return place;
}

void Damage(Json& document, std::mt19937& random) {
  static const Json values[] = {
      nullptr,        true, 0,     -1,       1,    7,      1'000'000, INT64_MAX, INT64_MIN,
      UINT64_MAX,     1.5,  1e300, "",       "s0", "s0/0", "floor(",  "b0",      Json::array(),
      Json::object(), {0},  {{0}}, {nullptr}};
  Json& place = *AnyPlace(document, random);
  switch (random() % 4) {
    case 0:
      if (place.is_array() && !place.empty()) {
        place.push_back(place[random() % place.size()]);
        return;
      }
      [[fallthrough]];
    case 1:
      if (place.is_structured() && !place.empty()) {
        auto it = place.begin();
        std::advance(it, random() % place.size());
        place.erase(it);
        return;
      }
      [[fallthrough]];
    default:
      place = values[random() % std::size(values)];
  }
}

TEST(TilingPasses, AnyDamagedLineIsAnsweredWithAResultOrAnError) {
  const std::pair<const char*, const char*> passes[] = {
      {"coarse-tile", "coarse_tile_stamp.jsonl"},
      {"tiling-propagation", "tiling_propagation.jsonl"},
      {"group-loops", "loop_grouping.jsonl"},
      {"unroll", "unroll.jsonl"},
      {"bundle", "bundle_text.jsonl"}};
  constexpr int kLines = 2000;
  std::mt19937 random(169);
  for (const auto& [pass, file] : passes) {
    const std::vector<Json> samples = Samples(file);
    int answered = 0;
    for (int i = 0; i < kLines; ++i) {
      Json line = samples[random() % samples.size()];
      line.erase("expected");
      for (auto damages = random() % 3 + 1; damages > 0; --damages) Damage(line, random);
      const std::string text = line.dump();
      try {
        answered += Answer(pass, text).contains("error") ? 0 : 1;
      } catch (const std::exception& error) {
        FAIL() << pass << " " << text << ": " << error.what();
      }
    }
    EXPECT_GT(answered, 0) << pass << ": the damage is too great to test anything";
    EXPECT_LT(answered, kLines) << pass << ": the damage is too small to test anything";
  }
}

}  // namespace
}  // namespace spyre::compiler::pass_tiling_test
