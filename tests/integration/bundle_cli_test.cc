// SPDX-License-Identifier: Apache-2.0
// Bundles on the command line: run, compile, disasm; numbers, reports, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::bundle_cli_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kBundles = SPYRE_SOURCE_DIR "/tests/data/bundles/";
constexpr const char* kReal = SPYRE_SOURCE_DIR "/tests/data/real_bundles/";

std::vector<std::string> SampleBundles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kBundles)) {
    if (entry.path().filename() == "bundle.mlir")
      names.push_back(std::filesystem::relative(entry.path().parent_path(), kBundles).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class BundleCommandLine : public test::ProgramFixture {
 protected:
  struct Result {
    int status;
    std::string text;
  };
  Result Spyre(const std::string& arguments) const {
    const Outcome outcome = Call(arguments);
    return {outcome.status, outcome.out + outcome.err};
  }
  Result RunSample(const std::string& bundle, const std::string& more = "") const {
    return Spyre("run " + std::string(kBundles) + bundle + " --out out --no-progress " + more);
  }
  json OutReport() const { return SortedJsonOf(Read("out/report.json")); }
  // Writes an array of one value.
  void WriteArray(const std::string& name, const std::string& type,
                  const std::vector<int64_t>& shape, double value) const {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    if (type == "f4") {
      const std::vector<float> data(elements, static_cast<float>(value));
      WriteNpy(dir_ + "/" + name, type, shape, data.data());
    } else {
      const std::vector<uint16_t> data(elements, NearestHalf(value));
      WriteNpy(dir_ + "/" + name, type, shape, data.data());
    }
  }
};

// The bundle itself says which cores do what; a card without them is found out before it runs.
TEST_F(BundleCommandLine, ABundleOfMoreCoresThanTheCardHasIsRefused) {
  const Result one = RunSample("symbolic_args/add_64x128_rows4/flat", "--set card.cores=1");
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.text, HasSubstr("works on cores 0 to 3, and the card has 1 core: run it with "
                                  "card.cores = 4 or more"));
  EXPECT_EQ(RunSample("symbolic_args/add_64x128_rows4/flat", "--set card.cores=3").status, 2);
  EXPECT_EQ(RunSample("symbolic_args/add_64x128_rows4/flat", "--set card.cores=4").status, 0);
}

class EverySampleBundle : public BundleCommandLine,
                          public ::testing::WithParamInterface<std::string> {};

TEST_P(EverySampleBundle, RunsBitExactAsItIs) {
  const Result result = RunSample(GetParam());
  EXPECT_EQ(result.status, 0) << result.text;
  const json report = OutReport();
  EXPECT_EQ(report["verified"]["mismatches"], 0);
  EXPECT_GT(report["verified"]["elements"], 0);
  EXPECT_EQ(report["verified"]["error_elements"], report["verified"]["elements"]);
  EXPECT_LT(report["verified"]["max_relative_error"], 0.005);
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Samples, EverySampleBundle, ::testing::ValuesIn(SampleBundles()),
                         TestName);

TEST_P(EverySampleBundle, ItsSourceIsVerifiedAgainstWhatItMeans) {
  const Result result = Spyre("run " + std::string(kBundles) + GetParam() +
                              "/op_spec.py.txt --out out --no-progress");
  EXPECT_EQ(result.status, 0) << result.text;
  const json verified = OutReport()["verified"];
  EXPECT_THAT(verified["reference"].get<std::string>(), HasSubstr("against the OpSpec source"));
  EXPECT_EQ(verified["error_elements"], verified["elements"]);
  EXPECT_EQ(verified["reference_not_finite"], 0);
  EXPECT_EQ(verified["beyond_tolerance"], 0);
}

TEST_F(BundleCommandLine, ASourceBeyondItsToleranceEndsWithOne) {
  const Result result = Spyre("run " + std::string(kBundles) +
                              "symbolic_args/softmax_lx_32x256/flat/op_spec.py.txt --out out "
                              "--no-progress --set workload.tolerance=1e-6");
  EXPECT_EQ(result.status, 1) << result.text;
  EXPECT_EQ(OutReport()["verified"]["mismatches"], 0);
}

TEST_F(BundleCommandLine, PhysicalFunctionGivesTheSameNumbers) {
  ASSERT_EQ(RunSample("symbolic_args/softmax_lx_32x256/flat").status, 0);
  const std::string vf = Read("out/z.npy");
  const Result result = RunSample("symbolic_args/softmax_lx_32x256/flat", "--set card.mode=pf");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("PF mode"));
  EXPECT_TRUE(Read("out/z.npy") == vf);
}

TEST_F(BundleCommandLine, OwnArgumentsGiveTheirResult) {
  WriteArray("a.npy", "f2", {64, 128}, 1.5);
  WriteArray("b.npy", "f2", {64, 128}, 2.25);
  const Result result = RunSample("symbolic_args/add_64x128_rows4/flat", "--args a.npy,b.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  const NpyArray z = ReadNpy(dir_ + "/out/z.npy", "z", "f2", {64, 128});
  for (size_t i = 0; i < z.data.size(); i += 2)
    ASSERT_EQ(HalfValue(static_cast<uint16_t>(z.data[i] | z.data[i + 1] << 8)), 3.75);
}

TEST_F(BundleCommandLine, AConfigurationMayNameTheBundle) {
  WriteArray("a.npy", "f2", {64, 128}, 1);
  Write("run.toml", "[workload]\nbundle = \"" + std::string(kBundles) +
                        "symbolic_args/add_64x128_rows4/flat\"\nargs = [\"a.npy\", \"\"]\n");
  const Result result = Spyre("run run.toml --out out --no-progress --details");
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("out/z.npy"));
}

TEST_F(BundleCommandLine, TimingOnlyTakesTheSameTime) {
  ASSERT_EQ(RunSample("symbolic_args/loop_rows_flat_k4/loops").status, 0);
  const json functional = OutReport();
  const Result result =
      RunSample("symbolic_args/loop_rows_flat_k4/loops", "--set workload.functional=false");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_TRUE(OutReport()["verified"].is_null());
  EXPECT_EQ(OutReport()["kernels"], functional["kernels"]);
}

TEST_F(BundleCommandLine, SourceRunsAndCompilesToTheBundleBesideIt) {
  const std::string sample = std::string(kBundles) + "symbolic_args/softmax_lx_32x256/flat";
  const Result run = Spyre("run " + sample + "/op_spec.py.txt --out out --no-progress");
  EXPECT_EQ(run.status, 0) << run.text;
  const Result compile = Spyre("compile " + sample + "/op_spec.py.txt -o code --bundle emitted");
  EXPECT_EQ(compile.status, 0) << compile.text;
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/code/spyrecode.json"));
  EXPECT_EQ(SortedJsonOf(Read("emitted/sdsc_3.json")),
            SortedJsonOf(ReadFile(sample + "/sdsc_3.json", "the sample")));
}

TEST_F(BundleCommandLine, CompiledCodeIsDisassembledWithTheFilesOfItsSteps) {
  const Result compile =
      Spyre("compile " + std::string(kBundles) + "symbolic_args/softmax_lx_32x256/flat -o code");
  ASSERT_EQ(compile.status, 0) << compile.text;
  const Result text = Spyre("disasm code");
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.text, AllOf(HasSubstr("; step 4: sdsc_4.json"), HasSubstr(", 4  ; sdsc_4.json"),
                               HasSubstr("vunary.exp")));
}

TEST_F(BundleCommandLine, ShapesMayBeGivenAndAreChecked) {
  std::filesystem::copy(std::string(kBundles) + "symbolic_args/add_64x128_rows4/flat",
                        dir_ + "/add");
  std::filesystem::remove(dir_ + "/add/op_spec.py.txt");
  const auto run = [&](const std::string& more) {
    return Spyre("run add --out out --no-progress " + more);
  };
  const Result plain = run("");
  EXPECT_EQ(plain.status, 0) << "one operation covers each argument\n" << plain.text;
  std::filesystem::copy(std::string(kBundles) + "symbolic_args/loop_rows_flat_k4/loops",
                        dir_ + "/loops");
  std::filesystem::remove(dir_ + "/loops/op_spec.py.txt");
  const Result unknown = Spyre("run loops --out out --no-progress");
  EXPECT_EQ(unknown.status, 0) << unknown.text;
  EXPECT_THAT(unknown.text, HasSubstr("shapes not known: each argument is an image of its sticks"));
  const Result known = run("--shape 64x128,64x128,64x128");
  EXPECT_EQ(known.status, 0) << known.text;
  const std::pair<const char*, const char*> wrong[] = {
      {"--shape 64x128,64x128", "2 shapes are given, the bundle uses 3 arguments"},
      {"--shape 64x128,64x128,32x128", "has 8192 bytes on the device, but the bundle reaches"},
      {"--shape 64x128,64y128,64x128", "'64y128' is not a size"},
      {"--shape 64x128,64x128,64x128:float23", "float32"},
      {"--shape 64x128,64x128,0x128", "'0' is not a size"},
      {"--shape 64x128,64x128,64x128:float32:", "float32:"},
      {"--shape 99999999999x99999999999,1,1", "larger than any card"},
      {"--shape 64x128,64x128,64x128 --args a.npy", "1 input files are given, it has 2 inputs"},
      {"--shape 64x128,64x128,64x128 --args none.npy,none.npy", "none.npy"},
      {"--shape 64x128,64x128,64x128 --dim rows=4", "no dimension 'rows'"},
      {"--dim rows", "NAME=NUMBER"},
      {"--set workload.m=64", "workload.m = 64 has no effect: it is for one operation"},
      {"--set workload.launch.overlap=streams",
       "workload.launch.overlap = \"streams\" has no effect"},
      {"--set workload.issue.mode=streams",
       "it is for a list of operations (workload.graph or workload.ops)"}};
  for (const auto& [arguments, message] : wrong) {
    const Result result = run(arguments);
    EXPECT_EQ(result.status, 2) << arguments << "\n" << result.text;
    EXPECT_THAT(result.text, HasSubstr(message)) << arguments;
  }
}

TEST_F(BundleCommandLine, ArgumentsOfTheWrongKindAreRefused) {
  WriteArray("good.npy", "f2", {64, 128}, 1);
  WriteArray("single.npy", "f4", {64, 128}, 1);
  WriteArray("flat.npy", "f2", {8192}, 1);
  Write("short.npy", Read("good.npy").substr(0, 4000));
  Write("text.npy", "not an array");
  const std::pair<const char*, const char*> wrong[] = {
      {"single.npy", "must be float16, the file has float32"},
      {"flat.npy", "must have 2 dimensions"},
      {"short.npy", "bytes of data"},
      {"text.npy", "not a .npy file"},
      {"good.npy,good.npy,good.npy", "3 input files are given, it has 2 inputs: a [64, 128], b"}};
  for (const auto& [files, message] : wrong) {
    const std::string two = std::string(files).find(',') != std::string::npos
                                ? std::string(files)
                                : "good.npy," + std::string(files);
    const Result result = RunSample("symbolic_args/add_64x128_rows4/flat", "--args " + two);
    EXPECT_EQ(result.status, 2) << files << "\n" << result.text;
    EXPECT_THAT(result.text, HasSubstr(message)) << files;
  }
}

TEST_F(BundleCommandLine, TripsMayBeGivenWithEveryRun) {
  std::filesystem::copy(std::string(kBundles) + "symbolic_args/loop_rows_flat_k4/loops",
                        dir_ + "/b");
  std::string text = Read("b/bundle.mlir");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  const std::string type = "!sdscbundle.input_arg<index, granularity = 1, max_value = 4>";
  replace("%arg_2_base_addr: !sdscbundle.input_arg<index>)",
          "%arg_2_base_addr: !sdscbundle.input_arg<index>, %tiles: " + type + ")");
  replace("arith.constant 4 : index",
          "sdscbundle.input_arg_extract value from %tiles : " + type + " -> index");
  Write("b/bundle.mlir", text);
  const std::string run = "run b --shape 64x128,64x128,64x128 --out out --no-progress ";
  EXPECT_THAT(Spyre(run).text, HasSubstr("'tiles' is missing"));
  EXPECT_THAT(Spyre(run + "--dim tiles=5").text, HasSubstr("up to 4"));
  for (const char* trips : {"1", "3"}) {
    const Result result = Spyre(run + "--dim tiles=" + trips);
    EXPECT_EQ(result.status, 0) << result.text;
    const json report = OutReport();
    EXPECT_EQ(report["verified"]["mismatches"], 0);
    EXPECT_EQ(report["kernels"].size(), std::stoul(trips));
  }
}

TEST_F(BundleCommandLine, DamagedBundlesAreRefusedWithThePlace) {
  const std::string sample = std::string(kBundles) + "symbolic_args/softmax_lx_32x256/flat";
  const auto damaged = [&](const auto& damage) {
    std::filesystem::remove_all(dir_ + "/b");
    std::filesystem::copy(sample, dir_ + "/b");
    damage();
    const Result result = Spyre("run b --out out --no-progress");
    EXPECT_EQ(result.status, 2) << result.text;
    return result.text;
  };
  EXPECT_THAT(damaged([&] { std::filesystem::remove(dir_ + "/b/sdsc_2.json"); }),
              HasSubstr("sdsc_2.json"));
  EXPECT_THAT(damaged([&] { Write("b/sdsc_2.json", Read("b/sdsc_2.json").substr(0, 900)); }),
              HasSubstr("sdsc_2.json"));
  EXPECT_THAT(damaged([&] { Write("b/bundle.mlir", "module {\n  func.func @x( {\n}\n"); }),
              HasSubstr("bundle.mlir:2"));
  EXPECT_THAT(damaged([&] { Write("b/manifest.json", "{\"kernel_args\": [{}]}"); }),
              HasSubstr("manifest.json"));
  EXPECT_THAT(damaged([&] {
                std::string text = Read("b/sdsc_2.json");
                for (size_t at = 0; (at = text.find("\"exp\"", at)) != std::string::npos; ++at)
                  text.replace(at, 5, "\"fastexp\"");
                Write("b/sdsc_2.json", text);
              }),
              HasSubstr("fastexp"));
  const Result missing = Spyre("run no_such_directory/ --out out");
  EXPECT_EQ(missing.status, 2);
}

TEST_F(BundleCommandLine, ABundleThatWritesNoArgumentIsVerifiedByWhatItLeavesInLx) {
  std::filesystem::copy(std::string(kBundles) + "symbolic_args/softmax_lx_32x256/flat",
                        dir_ + "/b");
  std::filesystem::remove(dir_ + "/b/op_spec.py.txt");
  std::string module = Read("b/bundle.mlir");
  const size_t last = module.rfind("sdscbundle.sdsc_execute");
  module.erase(last, module.find('\n', last) - last);
  Write("b/bundle.mlir", module);
  const Result result = Spyre("run b --out out --no-progress");
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("2048 of 2048 elements bit-exact"));
  EXPECT_EQ(OutReport().at("verified").at("passed"), true);
}

TEST_F(BundleCommandLine, RealCapturesCompile) {
  for (const char* bundle : {"mlp_512x4096x12800_heuristic", "mlp_512x4096x12800_cost_model"}) {
    const Result result = Spyre("compile " + std::string(kReal) + bundle + " -o code");
    EXPECT_EQ(result.status, 0) << result.text;
    EXPECT_THAT(result.text, HasSubstr("[1, 512, 12800]"));
  }
  const Result swiglu = Spyre("compile " + std::string(kReal) + "swiglu_512x4096x12800 -o code");
  EXPECT_EQ(swiglu.status, 0) << swiglu.text;
  EXPECT_THAT(swiglu.text, AllOf(HasSubstr("[25600, 4096]"), HasSubstr("[4096, 12800]")));
}

}  // namespace
}  // namespace spyre::cosim::bundle_cli_test
