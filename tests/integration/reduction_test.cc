// SPDX-License-Identifier: Apache-2.0
// Reductions in tiles, end to end: every way of adding the tiles up, in both modes, over whole and
// cut short tiles, verified bit for bit. `device` and `lx` are held to the reference of one launch.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/report/report.h"
#include "cosim/session/session.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/launch_kernel.h"
#include "tests/integration/card_fixture.h"
#include "tests/integration/out_dir.h"

namespace spyre::cosim::reduction_test {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> sets;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<std::string> Matmul(int64_t m, int64_t k, int64_t n, const char* reduction,
                                std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {
      "workload.op=matmul",
      fmt::format("workload.m={}", m),
      fmt::format("workload.k={}", k),
      fmt::format("workload.n={}", n),
      fmt::format("workload.launch.reduction={}", reduction),
      "workload.distribution=normal",
  };
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::vector<Case> Cases() {
  const std::string rest = "workload.launch.remainder=remainder_kernel";
  const std::string quarter = "workload.tile.k=128";
  std::vector<Case> cases;
  for (const char* how : {"device", "lx", "plan"}) {
    const auto add = [&](const std::string& name, std::vector<std::string> sets) {
      cases.push_back({std::string(how) + "_" + name, std::move(sets)});
    };
    add("vf", Matmul(512, 512, 128, how, {quarter}));
    add("pf", Matmul(512, 512, 128, how, {quarter, "card.mode=pf"}));
    add("rest", Matmul(100, 500, 128, how, {quarter, "workload.tile.m=64", rest}));
    add("divided_k", Matmul(64, 1024, 128, how,
                            {"workload.tile.k=256", "workload.split.k=2", "workload.split.n=2"}));
    add("batch", Matmul(32, 256, 64, how, {"workload.batch=3", quarter}));
  }
  cases.push_back({"device_padded",
                   Matmul(64, 500, 128, "device", {quarter, "workload.launch.remainder=pad"})});
  cases.push_back({"device_k_outside", Matmul(256, 512, 128, "device",
                                              {quarter, "workload.tile.m=64",
                                               "workload.launch.order=[\"k\", \"m\"]"})});
  for (const char* op : {"sum", "amax"}) {
    cases.push_back({std::string("plan_") + op,
                     {std::string("workload.op=") + op, "workload.rows=96", "workload.cols=500",
                      "workload.tile.cols=128", "workload.launch.reduction=plan", rest}});
  }
  return cases;
}

class ReductionTiling : public ::testing::TestWithParam<Case> {};
TEST_P(ReductionTiling, IsBitExact) {
  const RunResult result = RunSession(LoadConfig("", GetParam().sets), test::OutDir());
  ASSERT_TRUE(result.verification.has_value());
  EXPECT_GT(result.verification->elements, 0);
  EXPECT_EQ(result.verification->mismatches, 0) << "of " << result.verification->elements;
  EXPECT_EQ(result.launch_counts.queued, result.launch_counts.completed);
}
INSTANTIATE_TEST_SUITE_P(Options, ReductionTiling, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

TEST(ReductionTilingRuns, CountTheirOperations) {
  const RunResult result = RunSession(
      LoadConfig("", Matmul(64, 512, 128, "plan", {"workload.tile.k=128"})), test::OutDir());
  EXPECT_EQ(result.launch_counts.queued, 3u * 4 + 3 * 3) << "four products, three additions";
}

TEST(ReductionTilingRuns, AdditionsOfAPlanAreNoCorrectionsInTheReport) {
  const RunResult result = RunSession(
      LoadConfig("", Matmul(64, 512, 128, "plan", {"workload.tile.k=128"})), test::OutDir());
  const nlohmann::json report = SortedJsonOf(ReportJson(result));
  EXPECT_EQ(report["kernels"].size(), 4u);
  ASSERT_EQ(report["tile_kernels"].size(), 3u);
  for (const nlohmann::json& kernel : report["tile_kernels"])
    EXPECT_EQ(kernel["name"], "tile accumulate");
  ASSERT_EQ(report["corrections"].size(), 7u) << "of four products and three additions";
  for (const nlohmann::json& correction : report["corrections"])
    EXPECT_THAT(correction["name"].get<std::string>(), ::testing::HasSubstr("correction"));
}

TEST(ReductionTilingRuns, NeedNoDataForTheirTimes) {
  const RunResult result = RunSession(
      LoadConfig("",
                 Matmul(64, 512, 128, "lx", {"workload.tile.k=128", "workload.functional=false"})),
      test::OutDir());
  EXPECT_EQ(result.launch_counts.completed, 3u * 4 + 1) << "four launches and the mark";
}

}  // namespace
}  // namespace spyre::cosim::reduction_test

namespace spyre::test::reduction_test {
namespace {

using ::testing::HasSubstr;

// Two functions share the card: the one whose sums are in LX hears that the other has cleared it.
class SharedCard : public CardFixture {};

TEST_F(SharedCard, SumsInLxThatAnotherFunctionClearedAreReported) {
  Open(2);
  compiler::KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", 64}, {"k", 128}, {"n", 64}};
  spec.accumulator = compiler::Accumulator::kLx;
  const auto directory = std::filesystem::path(::testing::TempDir()) / "reduction_shared";
  compiler::WriteSpyreCode(compiler::GenerateKernel(spec), directory);

  flex::RuntimeContext other(*transport_, 2);
  struct Side {
    explicit Side(flex::RuntimeContext& context, const std::filesystem::path& code, int64_t k)
        : stream(runtime::SpyreStream::Default(context)), plan(code) {
      runtime::LoadPlan(stream, plan);
      tensors = {runtime::AllocateTensor(context, {64, k}),
                 runtime::AllocateTensor(context, {k, 64}),
                 runtime::AllocateTensor(context, {64, 64})};
      stream.Synchronize();
    }
    runtime::SpyreStream stream;
    runtime::ExecutionPlan plan;
    std::vector<runtime::SpyreTensor> tensors;
  };
  Side first(*context_, directory, 1024);
  Side second(other, directory, 128);
  runtime::LaunchOptions options;
  options.reduction = runtime::ReductionTiling::kLx;
  runtime::LaunchKernel(first.stream, first.plan, first.tensors, options);
  runtime::LaunchKernel(second.stream, second.plan, second.tensors);
  second.stream.Synchronize();
  EXPECT_THAT(FailureOf([&] { first.stream.Synchronize(); }),
              HasSubstr("kept in LX are lost: another function of the card"));
}

}  // namespace
}  // namespace spyre::test::reduction_test
