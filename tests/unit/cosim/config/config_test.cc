// SPDX-License-Identifier: Apache-2.0
// Configuration: what is read, in which precedence, and what every mistake is told.
#include "cosim/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "tests/paths.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::config_test {
namespace {

using ::testing::HasSubstr;

Error ErrorFrom(const std::string& text, const std::vector<std::string>& sets = {}) {
  Error error = test::CaughtFrom([&] { ParseConfig(text, "run.toml", sets); });
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
  return error;
}
std::string MessageOf(const std::string& text, const std::vector<std::string>& sets = {}) {
  return test::FailureOf([&] { ParseConfig(text, "run.toml", sets); });
}

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "config_test_" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(Config, EmptyTextGivesTheDefaults) {
  const RunConfig config = ParseConfig("", "run.toml");
  EXPECT_EQ(config.mode, FunctionMode::kVirtual);
  EXPECT_EQ(config.card.cores, 32u);
  EXPECT_EQ(config.workload.op, "matmul");
  EXPECT_EQ(ToToml(config), ToToml(RunConfig()));
}

TEST(Config, ReadsEveryKindOfValueAndInlineTables) {
  const RunConfig config = ParseConfig(R"(
[card]
mode = "pf"
cores = 8
[card.memory]
channels = 4
[workload]
m = 4096
tile = { m = 1024 }
split = { m = 4, n = 8 }
functional = false
[trace]
categories = ["core", "dma"]
)",
                                       "run.toml");
  EXPECT_EQ(config.mode, FunctionMode::kPhysical);
  EXPECT_EQ(config.card.cores, 8u);
  EXPECT_EQ(config.card.memory.channels, 4u);
  EXPECT_EQ(config.workload.size.m, 4096u);
  EXPECT_EQ(config.workload.tile.m, 1024u);
  EXPECT_EQ(config.workload.split.n, 8u);
  EXPECT_FALSE(config.workload.functional);
  EXPECT_EQ(config.trace.categories, (std::vector<std::string>{"core", "dma"}));
}

TEST(Config, WavesAreOfOneBlockAndAWindowOfTime) {
  const RunConfig config =
      ParseConfig("[trace]\nwaves = { block = \"control\", from = 1000, to = 2000 }\n", "run.toml",
                  {"trace.waves.on_error=true", "card.control.fidelity=rtl"});
  EXPECT_EQ(config.trace.waves.block, WavesBlock::kControl);
  EXPECT_EQ(config.trace.waves.from, 1000u);
  EXPECT_EQ(config.trace.waves.to, 2000u);
  EXPECT_TRUE(config.trace.waves.on_error);
  EXPECT_EQ(ParseConfig("", "run.toml").trace.waves.block, WavesBlock::kNone);
  EXPECT_THAT(MessageOf("[trace]\nwaves = { block = \"control\", from = 2, to = 1 }\n"),
              HasSubstr("trace.waves.to = 1 ns is before trace.waves.from = 2 ns"));
  EXPECT_THAT(MessageOf("[trace]\nwaves = { block = \"pt\" }\n"),
              HasSubstr("trace.waves.block = \"pt\": that block of this card is not RTL"));
  EXPECT_THAT(MessageOf("[trace]\nwaves = { block = \"contrl\" }\n"),
              HasSubstr("trace.waves.block"));
  EXPECT_THAT(MessageOf("[trace]\nwaves = { form = 1 }\n"), HasSubstr("trace.waves.from"));
}

TEST(Config, TablesOfNamesAndListsOfPaths) {
  const RunConfig config = ParseConfig(
      "[workload]\nargs = [\"a.npy\", \"\", \"/b.npy\"]\ndims = { A = 2, \"b c\" = 3 }\n",
      "some/run.toml", {"workload.dims.A=5", "workload.dims.D=7"});
  EXPECT_EQ(config.workload.args, (std::vector<std::string>{"some/a.npy", "", "/b.npy"}));
  EXPECT_EQ(config.workload.dims, (NumberTable{{"A", 5}, {"D", 7}, {"b c", 3}}));
  EXPECT_EQ(ParseConfig(ToToml(config), "other.toml").workload.dims, config.workload.dims);
  EXPECT_EQ(SortedJsonOf(ToJson(config))["workload"]["dims"]["D"], 7);
  EXPECT_THAT(MessageOf("[workload]\ndims = { A = 0 }\n"),
              HasSubstr("run.toml:2:14: workload.dims.A = 0 is out of range"));
  EXPECT_THAT(MessageOf("[workload]\ndims = 4\n"), HasSubstr("a table of whole numbers"));
}

TEST(Config, CompilerDefaultsAreShownAsTheyCount) {
  const RunConfig own = ParseConfig("[workload]\nops = []\n", "run.toml");
  EXPECT_EQ(own.workload.lx, LxResults::kAll);
  const std::string text =
      "[workload]\ncompiler = \"public\"\nagree = true\ngraph = \"list.json\"\n";
  const RunConfig config = ParseConfig(text, "run.toml");
  EXPECT_EQ(config.workload.division, compiler::SplitRule::kPublicCost);
  EXPECT_EQ(config.workload.lx, LxResults::kPublic);
  EXPECT_TRUE(config.workload.agree) << "is set by itself";
  EXPECT_THAT(ToToml(config), HasSubstr("division = \"public-cost\""));
  EXPECT_EQ(MessageOf("[workload]\ncompiler = \"public\"\ngraph = \"list.json\"\n"
                      "[workload.issue]\nmode = \"streams\"\n"),
            "no error");
}

TEST(Config, SetGoesOverTheFileAndLaterOverEarlier) {
  const RunConfig config =
      ParseConfig("[card]\ncores = 4\n[workload]\nm = 10\n", "run.toml",
                  {"card.cores=8", "card.mode=pf", "card.cores=16", "workload.tile={m=5}",
                   "workload.op=\"add\"", "workload.functional=false"});
  EXPECT_EQ(config.card.cores, 16u);
  EXPECT_EQ(config.mode, FunctionMode::kPhysical);
  EXPECT_EQ(config.workload.tile.m, 5u);
  EXPECT_EQ(config.workload.op, "add");
  EXPECT_EQ(config.workload.size.m, 10u);
  EXPECT_FALSE(config.workload.functional);
}

TEST(Config, UnknownKeyIsNamedWithPlaceAndNearestKey) {
  EXPECT_THAT(MessageOf("[card]\nmode = \"pf\"\n  coers = 4\n"),
              HasSubstr("run.toml:3:3: unknown key 'card.coers'; did you mean 'card.cores'?"));
  const Error table = ErrorFrom("[wrokload]\nm = 1\n");
  EXPECT_EQ(table.subject(), "wrokload");
  EXPECT_EQ(table.remedy(), "workload");
  const Error key = ErrorFrom("[card.core]\nlx_byte = 1\n");
  EXPECT_EQ(key.subject(), "card.core.lx_byte");
  EXPECT_EQ(key.remedy(), "card.core.lx_bytes");
  EXPECT_THAT(MessageOf("", {"workload.tlie.m=3"}),
              HasSubstr("--set workload.tlie.m=3: unknown key 'workload.tlie'; did you mean"));
}

TEST(Config, WrongTypeNamesKeyValueAndWhatIsAllowed) {
  EXPECT_THAT(
      MessageOf("[card]\ncores = \"many\"\n"),
      HasSubstr("run.toml:2:9: card.cores = 'many' must be a whole number (allowed: 1 .. 32 "
                "cores)"));
  const Error fraction = ErrorFrom("[card]\ncores = 1.5\n");
  EXPECT_EQ(fraction.subject(), "card.cores");
  EXPECT_EQ(fraction.value(), "1.5");
  EXPECT_EQ(fraction.remedy(), "a whole number");
  EXPECT_EQ(ErrorFrom("[workload]\nfunctional = 1\n").remedy(), "true or false");
  EXPECT_EQ(ErrorFrom("[workload]\nop = 3\n").remedy(), "a string");
  EXPECT_EQ(ErrorFrom("[trace]\ncategories = \"core\"\n").remedy(), "a list of strings");
  EXPECT_THAT(MessageOf("[workload]\ntile = 3\n"), HasSubstr("workload.tile is a table"));
  EXPECT_THAT(MessageOf("card = 3\n"), HasSubstr("card is a table, such as [card]"));
  EXPECT_THAT(MessageOf("[card.cores]\nx = 3\n"), HasSubstr("card.cores = x = 3 must be"));
}

TEST(Config, OutOfRangeNamesTheUnitAndTheRange) {
  EXPECT_THAT(MessageOf("[card]\ncores = 33\n"),
              HasSubstr("card.cores = 33 cores is out of range; allowed: 1 .. 32"));
  EXPECT_THAT(MessageOf("", {"card.cores=0"}), HasSubstr("--set card.cores=0: card.cores = 0"));
  const Error negative = ErrorFrom("", {"host.submit_ns=-1"});
  EXPECT_EQ(negative.subject(), "host.submit_ns");
  EXPECT_EQ(negative.value(), "-1");
}

TEST(Config, RingsHaveAPowerOfTwoEntries) {
  EXPECT_THAT(MessageOf("[runtime]\nring_entries = 3\n"),
              HasSubstr("runtime.ring_entries = 3 entries must be a power of two"));
}

TEST(Config, WordsThatAreNotAllowedGetTheNearest) {
  EXPECT_THAT(MessageOf("[card]\nmode = \"fp\"\n"),
              HasSubstr("card.mode = \"fp\" is not allowed; did you mean 'pf'? (allowed: vf, pf)"));
  EXPECT_THAT(MessageOf("[workload]\nop = \"matmull\"\n"), HasSubstr("did you mean 'matmul'?"));
  EXPECT_THAT(MessageOf("[trace]\ncategories = [\"croe\"]\n"), HasSubstr("did you mean 'core'?"));
  EXPECT_EQ(ErrorFrom("[workload]\ndivision = \"seed\"\n").remedy(), "public, cost, public-cost");
}

TEST(Config, BrokenTomlIsAnErrorWithLineAndColumn) {
  EXPECT_THAT(MessageOf("[card]\ncores = = 4\n"), HasSubstr("run.toml:2:9: not valid TOML"));
  EXPECT_THAT(MessageOf("[card]\ncores = 4\ncores = 5\n"), HasSubstr("run.toml:3"));
}

TEST(Config, BadSetArgumentsAreErrors) {
  EXPECT_THAT(MessageOf("", {"card.cores"}), HasSubstr("--set card.cores: must be key.path=value"));
  EXPECT_THAT(MessageOf("", {"=3"}), HasSubstr("must be key.path=value"));
  EXPECT_THAT(MessageOf("", {"card..cores=3"}), HasSubstr("unknown key"));
  EXPECT_THAT(MessageOf("", {".=3"}), HasSubstr("unknown key"));
  EXPECT_THAT(MessageOf("", {"card.cores=1\nx=2"}), HasSubstr("must be a whole number"));
}

TEST(Config, SurvivesHostileText) {
  EXPECT_NE(MessageOf(std::string(100000, '[')), "no error");
  EXPECT_NE(MessageOf("x = " + std::string(100000, '[')), "no error");
  EXPECT_NE(MessageOf(std::string("card\0 = 3", 9)), "no error");
  std::mt19937 random(3);
  const std::string good = "[card]\ncores = 4\n[workload]\ntile = { m = 3 }\nop = \"add\"\n";
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    MessageOf(bad);  // a configuration or an Error, nothing else
  }
}

TEST(Config, MissingFileAndDirectoryAreNamed) {
  for (const std::string& path : {std::string("/nonexistent/run.toml"), ::testing::TempDir()}) {
    try {
      LoadConfig(path);
      FAIL() << path << " was read";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
}

TEST(Config, EffectiveDumpReadsBackToTheSame) {
  RunConfig config = ParseConfig("[card]\ncores = 7\n[workload]\nop = \"softmax\"\nrows = 3\n", "x",
                                 {"trace.categories=[\"core\"]"});
  config.workload.input_a = "/tmp/with \"quotes\" and \\.npy";
  const std::string dump = ToToml(config);
  EXPECT_EQ(ToToml(ParseConfig(dump, "dump.toml")), dump);
  const auto json = SortedJsonOf(ToJson(config));
  EXPECT_EQ(json["card"]["cores"], 7);
  EXPECT_EQ(json["card"]["memory"]["channels"], 16);
  EXPECT_EQ(json["workload"]["tile"]["m"], 0);
  EXPECT_EQ(json["workload"]["functional"], true);
}

TEST(Config, CardPresetIsTheGeneratedOneCompleteAndEqualToTheDefaults) {
  const std::string preset = SPYRE_SOURCE_DIR "/configs/cards/spyre.toml";
  const std::string generated = SPYRE_BUILD_DIR "/generated/parameters/spyre.toml";
  const std::string text = ReadFile(preset, "preset");
  EXPECT_TRUE(text == ReadFile(generated, "preset"))
      << preset << " is out of date. Refresh it:\n  cp " << generated << " " << preset;
  EXPECT_EQ(ToToml(ParseConfig(text, "spyre.toml")), ToToml(RunConfig()));
  RunConfig config;
  for (const Field& field : Fields(config)) {
    if (field.key.rfind("card.", 0) != 0 || field.key == "card.preset" || field.key == "card.mode")
      continue;
    const std::string name = field.key.substr(field.key.rfind('.') + 1);
    EXPECT_THAT(text, HasSubstr("\n" + name + " = " + field.ValueText() + "\n"));
  }
}

TEST(Config, PresetFileLiesUnderTheRunAndIsRelativeToIt) {
  Write("small_card.toml", "[card]\ncores = 2\n[card.memory]\nchannels = 2\n");
  const std::string run =
      Write("run.toml",
            "[card]\npreset = \"config_test_small_card.toml\"\n[card.memory]\nchannels = 8\n");
  const RunConfig config = LoadConfig(run);
  EXPECT_EQ(config.card.cores, 2u);
  EXPECT_EQ(config.card.memory.channels, 8u);
  EXPECT_EQ(config.preset, ::testing::TempDir() + "config_test_small_card.toml");
}

TEST(Config, PresetMayHoldCardKeysOnly) {
  const std::string bad = Write("bad_card.toml", "[workload]\nm = 3\n");
  EXPECT_THAT(MessageOf("", {"card.preset=" + bad}),
              HasSubstr(bad + ":1:2: unknown key 'workload'"));
  EXPECT_THAT(MessageOf("[card]\npreset = \"spyer\"\n"),
              HasSubstr("card.preset = \"spyer\" is not known; use \"spyre\""));
  EXPECT_THAT(MessageOf("[card]\npreset = \"./no.toml\"\n"),
              HasSubstr("cannot read the card preset"));
}

TEST(Config, PathsInAFileAreRelativeToIt) {
  const std::string run = Write("inputs.toml", "[workload]\ninputs = { a = \"a.npy\" }\n");
  EXPECT_EQ(LoadConfig(run).workload.input_a, ::testing::TempDir() + "a.npy");
  EXPECT_EQ(LoadConfig(run, {"workload.inputs.a=b.npy"}).workload.input_a, "b.npy");
}

TEST(Config, EveryExampleConfigurationIsValid) {
  int examples = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SPYRE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".toml") continue;
    const std::string folder = entry.path().parent_path().filename().string();
    if (folder == "sweeps" || folder == "rules") continue;  // no configurations
    EXPECT_NO_THROW(LoadConfig(entry.path().string())) << entry.path();
    ++examples;
  }
  EXPECT_GT(examples, 1);
}

TEST(Config, ReferenceDocumentIsTheOneInTheDocs) {
  std::ifstream file(SPYRE_SOURCE_DIR "/docs/configuration.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), ConfigReference())
      << "run: spyre-cosim check --reference > docs/configuration.md";
}

// ---------------------------------------------------------------- lists of operations

constexpr const char* kGraph = R"(
[workload]
dims = { A = 1024, B = 4096 }
[[workload.tensors]]
name = "a"
dims = ["A", "B"]
file = "a.npy"
[[workload.ops]]
op = "exp"
inputs = ["a"]
output = "y"
[[workload.hints]]
slices = { B = 4, A = 2 }
)";

TEST(Config, TablesOfAListOfOperationsKeepTheOrderOfTheirKeys) {
  const RunConfig config = ParseConfig(kGraph, "dir/run.toml");
  EXPECT_EQ(config.workload.hints.json, R"([{"slices":{"B":4,"A":2}}])");
  EXPECT_EQ(config.workload.tensors.json, R"([{"name":"a","dims":["A","B"],"file":"dir/a.npy"}])")
      << "files are relative to the configuration";
}

TEST(Config, AListOfOperationsIsPrintedAsTomlThatReadsBack) {
  const RunConfig config = ParseConfig(kGraph, "run.toml");
  const RunConfig again = ParseConfig(ToToml(config), "again.toml");
  EXPECT_EQ(again.workload.ops.json, config.workload.ops.json);
  EXPECT_EQ(again.workload.hints.json, config.workload.hints.json);
  EXPECT_EQ(ToToml(again), ToToml(config));
  const auto json = SortedJsonOf(ToJson(config));
  EXPECT_EQ(json["workload"]["ops"][0]["op"], "exp");
}

TEST(Config, APlanIsAPathOrATableAndSetChangesOneEntryOfIt) {
  const std::string text = std::string(kGraph) + R"(
[workload.plan]
groups = [[["y"], 2, ["A"]]]
lx = { y = 0 }
)";
  const RunConfig config = ParseConfig(text, "run.toml", {"workload.plan.lx.z=device"});
  EXPECT_EQ(config.workload.plan.json, R"({"groups":[[["y"],2,["A"]]],"lx":{"y":0,"z":"device"}})");
  EXPECT_EQ(ParseConfig(ToToml(config), "again.toml").workload.plan.json,
            config.workload.plan.json);
  const RunConfig file = ParseConfig(std::string(kGraph) + "[workload.plan]\nfile = \"p.json\"\n",
                                     "dir/run.toml", {"workload.plan.cuts=[]"});
  EXPECT_EQ(file.workload.plan.json, R"({"file":"dir/p.json","cuts":[]})");
  EXPECT_EQ(ParseConfig(text, "run.toml", {"workload.plan=p.json"}).workload.plan.json,
            R"({"file":"p.json"})");
  EXPECT_EQ(ParseConfig(text, "run.toml", {"workload.plan="}).workload.plan.json, "");
  EXPECT_THROW(ParseConfig(text, "run.toml", {"workload.plan=3"}), Error);
}

TEST(Config, SetChangesOneDimensionAndReplacesAList) {
  const RunConfig config = ParseConfig(
      kGraph, "run.toml", {"workload.dims.A=2048", "workload.hints=[{ slices = { A = 8 } }]"});
  EXPECT_EQ(config.workload.dims.at("A"), 2048u);
  EXPECT_EQ(config.workload.dims.at("B"), 4096u);
  EXPECT_EQ(config.workload.hints.json, R"([{"slices":{"A":8}}])");
}

TEST(Config, AListOfOperationsMustBeTables) {
  EXPECT_THAT(MessageOf("[workload]\nops = 3"), HasSubstr("run.toml:2:7: workload.ops"));
  EXPECT_THAT(MessageOf("[workload]\nops = [3]"), HasSubstr("a list of tables"));
}

TEST(Config, NestingIsRefusedHoweverItIsWritten) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const std::string hostile[] = {"x = " + repeated("[", 100'000), "x = " + repeated("{a=", 100'000),
                                 repeated("a.", 100'000) + "a = 1",
                                 "[" + repeated("a.", 100'000) + "a]",
                                 "[[" + repeated("\"a\" . ", 100'000) + "a]]",
                                 // Each bracket and each line within the parser's own bounds.
                                 repeated(repeated("x.", 1000) + "y = [\n{", 200)};
  for (const std::string& text : hostile) {
    EXPECT_THAT(MessageOf(text), HasSubstr("nested more than 64 levels deep"))
        << text.substr(0, 40);
  }
  EXPECT_THAT(MessageOf("", {repeated("a.", 60'000) + "a=1"}), HasSubstr("nested more than 64"));
  EXPECT_THAT(MessageOf("", {"card.cores={" + repeated("a.", 60'000) + "a=1}"}),
              HasSubstr("nested more than 64"));
}

TEST(Config, CommentsAndStringsDoNotNest) {
  std::string brackets, dots;
  for (int i = 0; i < 200; ++i) {
    brackets += "[{.";
    dots += "../";
  }
  const RunConfig config =
      ParseConfig("# " + brackets + "'\n[workload]\ngraph = \"" + brackets + "\\\"\" # " +
                      brackets + "\nbundle = '''\n" + brackets + "'''\n",
                  "run.toml");
  EXPECT_THAT(config.workload.graph, HasSubstr(brackets + "\""));
  EXPECT_NO_THROW(ParseConfig("", "", {"workload.graph=" + dots + "list.toml"}));
}

}  // namespace
}  // namespace spyre::cosim::config_test
