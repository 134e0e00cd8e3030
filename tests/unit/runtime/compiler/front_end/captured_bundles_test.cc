// SPDX-License-Identifier: Apache-2.0
// Lists of operations against what the public compiler made of the same kernels: bundles that were
// captured there (tests/data/real_bundles), and the worked example of the coarse-tiling RFC. Every
// field is compared; what cannot be equal is named here, with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/compiler/front_end/front_end.h"
#include "tests/paths.h"

namespace spyre::compiler::captured_bundles_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const fs::path kCaptured = SPYRE_SOURCE_DIR "/tests/data/real_bundles";

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

NamedGraph List(const char* name) {
  return ReadNamedGraph(JsonOf(ReadText(fs::path(SPYRE_SOURCE_DIR "/configs/lists") / name)));
}

std::vector<BundleFile> FilesFor(const NamedGraph& list, const FrontEndOptions& options) {
  const FrontEndResult result = CompileNamedGraph(list, options);
  const BundleDialect dialect = DialectFor(result, options);
  return FilesOf(EmitBundle(result.source, dialect), dialect);
}

const std::string& TextOf(const std::vector<BundleFile>& files, const std::string& name) {
  for (const BundleFile& file : files)
    if (file.name == name) return file.text;
  ADD_FAILURE() << "no " << name;
  return files.front().text;
}

// A JSON patch, or a note that only the order of the keys differs.
Json Differences(const Json& captured, const Json& own) {
  Json changes = Json::diff(captured, own);
  if (changes.empty() && captured.dump() != own.dump()) changes.push_back("order of keys");
  return changes;
}

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Nine operations: a feed-forward block with its weights as torch.nn.Linear has them. The capture
// has no bundle.mlir.
TEST(CapturedBundles, SwigluIsEqualInEveryField) {
  const std::vector<BundleFile> files =
      FilesFor(List("swiglu_public.json"), OptionsOf(CompilerPreset::kPublic));
  ASSERT_EQ(files.size(), 10u);
  for (int i = 0; i < 9; ++i) {
    const std::string name = fmt::format("sdsc_{}.json", i);
    const Json captured = JsonOf(ReadText(kCaptured / "swiglu_512x4096x12800" / name));
    EXPECT_EQ(Differences(captured, JsonOf(TextOf(files, name))), Json::array()) << name;
  }
}

// A key that the capture of nine operations has, and the two of a matmul have not yet.
Json WithoutIndirection(Json dsc) {
  int removed = 0;
  for (Json& node : dsc["0_batchmatmul"]["dscs_"][0]["batchmatmul"]["scheduleTree_"])
    removed += static_cast<int>(node.erase("indirectAllocType_"));
  EXPECT_EQ(removed, 3);
  return dsc;
}

// The plan says the division: versions of the public planner's cost function of that month choose
// 8 x 4 or 4 x 8, of which the fitted model behind public-cost makes no difference; which version
// the capture is from is not known. The capture names its file after the operation.
TEST(CapturedBundles, AMatmulByTheCostModelIsEqualInEveryField) {
  FrontEndOptions options = OptionsOf(CompilerPreset::kPublic);
  options.plan.splits["o"] = {{"M", 8}, {"N", 4}};
  const std::vector<BundleFile> files = FilesFor(List("matmul_public.json"), options);
  const fs::path directory = kCaptured / "mlp_512x4096x12800_cost_model";
  const Json captured = JsonOf(ReadText(directory / "sdsc_0_batchmatmul.json"));
  const Json own = WithoutIndirection(JsonOf(TextOf(files, "sdsc_0.json")));
  EXPECT_EQ(Differences(captured, own), Json::array());
  std::string mlir = ReadText(directory / "bundle.mlir");
  ReplaceAll(mlir, "sdsc_0_batchmatmul.json", "sdsc_0.json");
  EXPECT_EQ(mlir, TextOf(files, "bundle.mlir"));
}

// A month older: labels of dimensions went by another order then (x for what is mb since; labels
// are positional and mean nothing).
TEST(CapturedBundles, AMatmulByTheHeuristicIsEqualInEveryFieldButLabels) {
  FrontEndOptions options = OptionsOf(CompilerPreset::kPublic);
  options.division.rule = SplitRule::kPublic;
  const std::vector<BundleFile> files = FilesFor(List("matmul_public.json"), options);
  const fs::path directory = kCaptured / "mlp_512x4096x12800_heuristic";
  std::string text = ReadText(directory / "sdsc_0_batchmatmul.json");
  ReplaceAll(text, "\"x\"", "\"mb\"");
  ReplaceAll(text, "\"x_\"", "\"mb_\"");
  const Json own = WithoutIndirection(JsonOf(TextOf(files, "sdsc_0.json")));
  EXPECT_EQ(Differences(JsonOf(text), own), Json::array());
  std::string mlir = ReadText(directory / "bundle.mlir");
  ReplaceAll(mlir, "sdsc_0_batchmatmul.json", "sdsc_0.json");
  EXPECT_EQ(mlir, TextOf(files, "bundle.mlir"));
}

// The RFC shows the example with all results allowed in LX.
FrontEndOptions WorkedExample() {
  FrontEndOptions options = OptionsOf(CompilerPreset::kPublicRfc);
  options.lx.all_operations = true;
  return options;
}

NamedGraph WorkedExampleList() {
  return ReadNamedGraph(JsonOf(R"({
    "dims": {"A": 1024, "B": 4096},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]},
                {"name": "c", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "mul", "inputs": ["y", "c"], "output": "z"}],
    "hints": [{"slices": {"A": 2}}, {"slices": {"B": 4}}]})"));
}

// "What the coarse-tiling pass stamps" and "LoopLevel IR after CustomPreSchedulingPasses".
TEST(WorkedExample, OperationsHaveTheAttributesOfTheDocument) {
  const FrontEndResult result = CompileNamedGraph(WorkedExampleList(), WorkedExample());
  for (const char* name : {"y", "z"}) {
    const GraphOp* op = result.graph.Find(name);
    ASSERT_NE(op, nullptr);
    EXPECT_THAT(op->loop->group_id, ElementsAre(0, 0));
    EXPECT_THAT(Numbers(op->loop->count), ElementsAre(2, 4));
    EXPECT_THAT(op->loop->tiled_dims, ElementsAre(ElementsAre(0), ElementsAre(1)));
    EXPECT_THAT(Numbers(op->ranges), ElementsAre(512, 1024));
    // "op_it_space_splits = {1024: 32}": 1024 is the coefficient of the rows.
    EXPECT_THAT(result.divisions.at(name).splits, ElementsAre(32, 1));
  }
  const BufferLayout& y = result.graph.LayoutOf("y");
  EXPECT_THAT(Numbers(y.size), ElementsAre(512, 1024));
  EXPECT_THAT(Numbers(y.stride), ElementsAre(1024, 1));
  EXPECT_THAT(y.device.device_size, ElementsAre(16, 512, 64));
  EXPECT_EQ(result.lx.Find("y")->lx_address, 0);
  EXPECT_EQ(result.lx.pool_bytes, 0);
}

// "Generated OpSpec (Python wrapper source)", line by line but for two lines: the document leaves
// out stride_map and per_tile_fixed, which the compiler of that week writes; and it has the size of
// one tile for z, which is a whole tensor in device memory and must have its size.
TEST(WorkedExample, TheOpSpecSourceIsThatOfTheDocument) {
  const FrontEndResult result = CompileNamedGraph(WorkedExampleList(), WorkedExample());
  std::stringstream text(ToSource(result.source));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.rfind("stride_map=", 0) != 0 && line.rfind("per_tile_fixed=", 0) != 0)
      lines.push_back(line);
  }
  const std::string space =
      "iteration_space={sympify('c0'): (sympify('512'), 32), sympify('c1'): (sympify('1024'), 1)},";
  const auto op = [&](const char* name) {
    return std::vector<std::string>{"OpSpec(",
                                    fmt::format("op='{}',", name),
                                    "is_reduction=False,",
                                    space,
                                    "op_info={},",
                                    "tiled_symbols=[sympify('c0'), sympify('c1')],",
                                    "args=["};
  };
  const auto arg = [](const char* input, int index, const char* size, const char* place) {
    return std::vector<std::string>{
        "TensorArg(",
        fmt::format("is_input={}, arg_index={}, device_dtype=DataFormats.SEN169_FP16,", input,
                    index),
        fmt::format("device_size={},", size),
        "device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')],",
        fmt::format("allocation={{{}}},", place),
        "),"};
  };
  std::vector<std::string> expected = {"kernel = async_compile.sdsc('sdsc_fused_add_mul_0',",
                                       "[",
                                       "LoopSpec(",
                                       "count=sympify('2'),",
                                       "body=[",
                                       "LoopSpec(",
                                       "count=sympify('4'),",
                                       "body=["};
  const auto append = [&](const std::vector<std::string>& more) {
    expected.insert(expected.end(), more.begin(), more.end());
  };
  const char* const whole = "[64, 1024, 64]";
  const char* const tile = "[16, 512, 64]";
  append(op("add"));
  append(arg("True", 0, whole, "'hbm': 0"));
  append(arg("True", 1, whole, "'hbm': 17179869184"));
  append(arg("False", -1, tile, "'lx': 0"));
  append({"]", "),"});
  append(op("mul"));
  append(arg("True", -1, tile, "'lx': 0"));
  append(arg("True", 2, whole, "'hbm': 34359738368"));
  append(arg("False", 3, whole, "'hbm': 51539607552"));
  append({"]", "),", "],", "),", "],", "),", "]", ")"});
  EXPECT_EQ(lines, expected);
}

// "Generated bundle.mlir": one map, two loops, add before mul, y without a symbol. The steps are
// those of the device layout (512 rows of a stick each; 16 columns of 1024 sticks); the document
// counts rows of the host. It shows one symbol a tensor where the compiler has one a core.
TEST(WorkedExample, TheBundleIsThatOfTheDocument) {
  const std::vector<BundleFile> files = FilesFor(WorkedExampleList(), WorkedExample());
  ASSERT_EQ(files.size(), 3u);
  std::stringstream text(TextOf(files, "bundle.mlir"));
  std::vector<std::string> shape;
  int symbols = 0, applied = 0;
  for (std::string line; std::getline(text, line);) {
    line.erase(0, line.find_first_not_of('\t'));
    if (line.rfind("%sym_", 0) == 0) {
      ++symbols;
    } else if (line.rfind("%addr_", 0) == 0) {
      EXPECT_THAT(line, HasSubstr("= affine.apply #map_0(%i_0, %i_1)[%sym_"));
      ++applied;
    } else if (line.rfind("sdscbundle.sdsc_execute", 0) == 0) {
      shape.push_back(line.substr(line.find("sdsc_filename"), 27));
    } else {
      shape.push_back(line);
    }
  }
  EXPECT_EQ(symbols, 4 * 32);
  EXPECT_EQ(applied, 4 * 32);
  EXPECT_THAT(
      shape,
      ElementsAre("#map_0 = affine_map<(d0, d1)[s0] -> (s0 + 65536*d0 + 2097152*d1)>", "module {",
                  "func.func @sdsc_bundle() {", "%c0 = arith.constant 0 : index",
                  "%c1 = arith.constant 1 : index", "%loop_bound_0 = arith.constant 2 : index",
                  "%loop_bound_1 = arith.constant 4 : index",
                  "scf.for %i_0 = %c0 to %loop_bound_0 step %c1 {",
                  "scf.for %i_1 = %c0 to %loop_bound_1 step %c1 {", "sdsc_filename=\"sdsc_0.json\"",
                  "sdsc_filename=\"sdsc_1.json\"", "}", "}", "return", "}", "}"));
}

// SDSC fields: y is in LX at 0 on every core, the others are symbols; each core has 16 rows.
TEST(WorkedExample, TheSuperDscsAreThoseOfTheDocument) {
  const std::vector<BundleFile> files = FilesFor(WorkedExampleList(), WorkedExample());
  const Json add = JsonOf(TextOf(files, "sdsc_0.json"))["0_add"];
  EXPECT_EQ(add["numCoresUsed_"], 32);
  EXPECT_EQ(add["numWkSlicesPerDim_"], Json({{"mb", 32}, {"out", 1}}));
  const Json& dsc = add["dscs_"][0]["add"];
  EXPECT_EQ(dsc["N_"], Json({{"name_", "n"}, {"mb_", 512}, {"out_", 1024}}));
  EXPECT_EQ(dsc["dataStageParam_"]["0"]["ss_"],
            Json({{"name_", "core"}, {"mb_", 16}, {"out_", 1024}}));
  const Json& nodes = dsc["scheduleTree_"];
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0]["component_"], "hbm");
  EXPECT_EQ(nodes[0]["isStartAddrSymbolic_"], 1);
  EXPECT_EQ(nodes[2]["component_"], "lx");
  for (const auto& [core, address] : nodes[2]["startAddressCoreCorelet_"]["data_"].items())
    EXPECT_EQ(address, "0") << core;
  const Json mul = JsonOf(TextOf(files, "sdsc_1.json"))["1_mul"]["dscs_"][0]["mul"];
  EXPECT_EQ(mul["scheduleTree_"][0]["component_"], "lx");
  EXPECT_EQ(mul["scheduleTree_"][2]["component_"], "hbm");
}

// Written out, the two loops are 8 times 2 operations, each with the addresses of its tile.
TEST(WorkedExample, UnrolledKernelsHaveTheAddressesOfTheirTiles) {
  FrontEndOptions options = WorkedExample();
  options.dialect = BundleDialect::kBakedAddresses;
  const std::vector<BundleFile> files = FilesFor(WorkedExampleList(), options);
  ASSERT_EQ(files.size(), 1u + 2 * 4 * 2);
  constexpr int64_t kSegment = 0x400000000;
  const auto start = [](const Json& dsc, size_t tensor, int core) {
    return std::stoll(dsc["scheduleTree_"][tensor]["startAddressCoreCorelet_"]["data_"]
                         [fmt::format("[{}, 0, 0]", core)]
                             .get<std::string>());
  };
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      const int64_t first = 2 * (4 * row + column);
      const auto dsc = [&](int64_t number, const char* op) {
        return JsonOf(TextOf(
            files,
            fmt::format("sdsc_{}.json", number)))[fmt::format("{}_{}", number, op)]["dscs_"][0][op];
      };
      const Json add = dsc(first, "add"), mul = dsc(first + 1, "mul");
      for (const int core : {0, 1, 31}) {
        // 512 rows of a tile and 16 rows of a core are sticks of 128 bytes; 1024 columns are 16
        // columns of 1024 sticks.
        const int64_t tile = 512 * 128 * row + 16 * 1024 * 128 * column + 16 * 128 * core;
        EXPECT_EQ(start(add, 0, core), tile);
        EXPECT_EQ(start(add, 1, core), kSegment + tile);
        EXPECT_EQ(start(add, 2, core), 0);
        EXPECT_EQ(start(mul, 0, core), 0);
        EXPECT_EQ(start(mul, 1, core), 2 * kSegment + tile);
        EXPECT_EQ(start(mul, 2, core), 3 * kSegment + tile);
      }
    }
  }
}

TEST(CompilerPreset, NamesAndWhatTheyAreRefusedFor) {
  for (size_t i = 0; i < CompilerPresetNames().size(); ++i)
    EXPECT_EQ(static_cast<size_t>(CompilerPresetFromName(CompilerPresetNames()[i])), i);
  try {
    CompilerPresetFromName("publik");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'public'"));
  }
}

}  // namespace
}  // namespace spyre::compiler::captured_bundles_test
