// SPDX-License-Identifier: Apache-2.0
// Several tenants of one card: each has the bytes that it has alone, the same configuration has the
// same trace, and what goes wrong in one is nobody else's.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/host/child_process.h"
#include "cosim/report/report.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::tenants_test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;

const std::string kThree =
    "[card]\nnum_vfs = 3\n"
    "[[tenant]]\nname = \"matmul\"\nfunction = 2\nworkload = { m = 128, k = 128, n = 128 }\n"
    "[[tenant]]\nname = \"softmax\"\nfunction = 1\nstart_us = 20\n"
    "workload = { op = \"softmax\", rows = 64, cols = 256 }\n"
    "[[tenant]]\nname = \"list\"\nfunction = 3\nworkload = { "
    "tensors = [{ name = \"x\", dims = [\"A\", \"B\"] }], dims = { A = 64, B = 128 }, "
    "ops = [{ op = \"exp\", inputs = [\"x\"], output = \"y\" }, "
    "{ op = \"relu\", inputs = [\"x\"], output = \"z\" }], issue = { mode = \"streams\" } }\n";

RunResult RunText(const std::string& text, const std::vector<std::string>& sets = {}) {
  return RunSession(ParseConfig(text, "tenants.toml", sets), test::OutDir());
}

// A control processor, timed or RTL, and what becomes of the reads of function 2.
struct SlowHost {
  const char* name;
  const char* fidelity;
  const char* fault;
  bool ends;  // function 2 comes to its end all the same
};
class TenantsOfSlowHosts : public ::testing::TestWithParam<SlowHost> {};
INSTANTIATE_TEST_SUITE_P(
    Each, TenantsOfSlowHosts,
    ::testing::Values(
        SlowHost{"TimedLost", "timed", "kind = \"pcie_lost_completion\"", false},
        SlowHost{"RtlLost", "rtl", "kind = \"pcie_lost_completion\"", false},
        SlowHost{"TimedLate", "timed", "kind = \"pcie_late_completion\"\nlasts_us = 1000", true},
        SlowHost{"RtlLate", "rtl", "kind = \"pcie_late_completion\"\nlasts_us = 1000", true}),
    [](const auto& test) { return test.param.name; });

TEST_P(TenantsOfSlowHosts, DoNotWaitForThem) {
  const RunResult result =
      RunText(fmt::format("[card]\nnum_vfs = 2\n[card.control]\nfidelity = \"{}\"\n"
                          "[tenants]\nalone = false\n"
                          "[[tenant]]\nname = \"slow\"\nfunction = 2\n"
                          "workload = {{ op = \"add\", rows = 64, cols = 1024 }}\n"
                          "[[tenant]]\nname = \"other\"\nfunction = 1\n"
                          "workload = {{ op = \"add\", rows = 64, cols = 1024 }}\n"
                          "[[fault]]\n{}\nwhere = {{ function = 2 }}\ntimes = 1000000\n",
                          GetParam().fidelity, GetParam().fault));
  EXPECT_EQ(result.tenants[0].error.has_value(), !GetParam().ends);
  if (GetParam().ends) {
    EXPECT_TRUE(result.tenants[0].run.verification->passed());
    EXPECT_GT(result.tenants[0].run.end_ps - result.tenants[0].run.begin_ps, 4'000'000'000u);
  }
  const TenantResult& other = result.tenants[1];
  ASSERT_FALSE(other.error.has_value()) << other.error->what();
  EXPECT_TRUE(other.run.verification->passed());
  // One late answer is 1 ms, a completion time-out of the silent host 260 ms.
  EXPECT_LT(other.run.end_ps - other.run.begin_ps, 100'000'000u);
}

// The other way round than DoNotWaitForThem.
TEST(SlowHosts, AreWaitedForAsLongAsTheCardHasPatience) {
  const RunResult result = RunText(
      "[card]\nnum_vfs = 2\n[card.control]\nentry_patience_ns = 1000000\n"
      "[tenants]\nalone = false\n"
      "[[tenant]]\nname = \"slow\"\nfunction = 2\n"
      "workload = { op = \"add\", rows = 64, cols = 1024 }\n"
      "[[tenant]]\nname = \"other\"\nfunction = 1\n"
      "workload = { op = \"add\", rows = 64, cols = 1024 }\n"
      "[[fault]]\nkind = \"pcie_late_completion\"\nlasts_us = 200\n"
      "where = { function = 2 }\ntimes = 1000000\n");
  const TenantResult& other = result.tenants[1];
  ASSERT_FALSE(other.error.has_value());
  EXPECT_GT(other.run.end_ps - other.run.begin_ps, 100'000'000u);
}

TEST(SeveralTenants, HaveTheBytesThatTheyHaveAlone) {
  const RunResult result = RunText(kThree);
  ASSERT_EQ(result.tenants.size(), 3u);
  int64_t elements = 0;
  for (const TenantResult& tenant : result.tenants) {
    EXPECT_FALSE(tenant.error.has_value()) << tenant.error->what();
    ASSERT_TRUE(tenant.run.verification.has_value()) << tenant.name;
    EXPECT_TRUE(tenant.run.verification->passed()) << tenant.name;
    EXPECT_GT(tenant.run.verification->elements, 0) << tenant.name;
    elements += tenant.run.verification->elements;
    ASSERT_TRUE(tenant.alone.has_value()) << tenant.name;
    EXPECT_NE(tenant.run.output_digest, 0u);
    EXPECT_EQ(tenant.run.output_digest, tenant.alone->output_digest) << tenant.name;
    EXPECT_GE(tenant.run.end_ps - tenant.run.begin_ps, tenant.alone->window_ps)
        << tenant.name << " is not faster beside others";
    for (const flex::CompletedOperation& operation : tenant.run.launches)
      EXPECT_EQ(operation.correlation >> 48, tenant.function) << "the trace tells whose it is";
  }
  EXPECT_EQ(result.verification->elements, elements);
  const RunResult& matmul = result.tenants[0].run;
  const RunResult& softmax = result.tenants[1].run;
  EXPECT_LT(softmax.begin_ps, matmul.end_ps) << "they are at work at the same time";
  EXPECT_LT(matmul.begin_ps, softmax.end_ps);

  const json report = SortedJsonOf(ReportJson(result));
  ASSERT_EQ(report["tenants"].size(), 3u);
  EXPECT_EQ(report["tenants"][0]["function"], 2);
  EXPECT_EQ(report["tenants"][0]["verified"], true);
  EXPECT_GE(report["tenants"][0]["slowdown"]["window"].get<double>(), 1.0);
  EXPECT_EQ(report["tenants"][0]["slowdown"]["output_equal"], true);
  EXPECT_THAT(result.tensor_paths, Contains(Key("softmax/out")));
  EXPECT_THAT(ReportSummary(result, "spyre-cosim"), HasSubstr("Tenants:\n"));
}

TEST(SeveralTenants, AFaultInTheWorkOfOneIsToldAndLeavesTheOthersRight) {
  const RunResult result =
      RunText(kThree + "[[fault]]\nkind = \"lx_parity\"\nwhere = { function = 2 }\n");
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_TRUE(result.faults[0].struck);
  EXPECT_EQ(result.faults[0].outcome, model::FaultOutcome::kDetected);
  ASSERT_TRUE(result.tenants[0].error.has_value());
  EXPECT_THAT(result.tenants[0].error->what(), HasSubstr("LX_PARITY"));
  for (const size_t other : {1, 2}) {
    ASSERT_FALSE(result.tenants[other].error.has_value()) << result.tenants[other].error->what();
    EXPECT_TRUE(result.tenants[other].run.verification->passed()) << result.tenants[other].name;
  }
  EXPECT_TRUE(result.tenants[0].alone.has_value()) << "alone, it is compared without the fault";
}

TEST(SeveralTenants, OneOfMoreWeightWaitsLessForTheSharedEngines) {
  const std::string two =
      "[card]\nnum_vfs = 2\n[workload]\nop = \"add\"\nrows = 512\ncols = 512\n"
      "tile = { rows = 64 }\nfunctional = false\n";
  const auto window = [&](const char* weight) {
    return RunInChild([&] {
      const RunResult result = RunText(
          two + "[[tenant]]\nfunction = 1\nweight = " + weight + "\n[[tenant]]\nfunction = 2\n",
          {"tenants.alone=false"});
      return std::to_string(result.tenants[0].run.launch_end_ps -
                            result.tenants[0].run.launch_begin_ps);
    });
  };
  EXPECT_LT(std::stoull(window("8")), std::stoull(window("1")));
}

TEST(SeveralTenants, OfTheSameConfigurationHaveTheSameTrace) {
  const auto digest = [] {
    return RunInChild([] {
      const RunResult result = RunText(kThree, {"tenants.alone=false"});
      return fmt::format("{:016x} {} {}", result.trace_digest, result.sim_ps,
                         fmt::join(result.responses, ";"));
    });
  };
  const std::string first = digest();
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, digest());
}

TEST(SeveralTenants, TakeTheSameTimesWithDataAndWithout) {
  const auto times = [](const char* functional) {
    return RunInChild([functional] {
      const RunResult result = RunText(
          kThree, {"tenants.alone=false", std::string("workload.functional=") + functional});
      return fmt::format("{:016x} {}", result.trace_digest, result.sim_ps);
    });
  };
  EXPECT_EQ(times("true"), times("false"));
}

TEST(SeveralTenants, GoOnWhenOneFails) {
  const RunResult result = RunText(
      "[[tenant]]\nname = \"large\"\nfunction = 1\n"
      "workload = { op = \"add\", rows = 4194304, cols = 4096, tile = { rows = 8192 }, functional "
      "= false }\n"
      "[[tenant]]\nname = \"good\"\nfunction = 2\nworkload = { m = 64, k = 64, n = 64 }\n");
  ASSERT_TRUE(result.tenants[0].error.has_value());
  EXPECT_THAT(result.tenants[0].error->what(), HasSubstr("large: "));
  EXPECT_EQ(MemberError(result), &*result.tenants[0].error);
  EXPECT_TRUE(result.tenants[1].run.verification->passed());
  const json report = SortedJsonOf(ReportJson(result));
  EXPECT_THAT(report["tenants"][0]["error"].get<std::string>(), HasSubstr("large: "));
  EXPECT_EQ(report["tenants"][1]["error"], nullptr);
}

TEST(SeveralTenants, AreNotRecorded) {
  SessionOptions options;
  options.record = test::OutDir() + "/recording";
  EXPECT_THAT(test::BadInputOf([&] {
                RunSession(ParseConfig(kThree, "tenants.toml"), test::OutDir(), options);
              }),
              HasSubstr("--record"));
}

}  // namespace
}  // namespace spyre::cosim::tenants_test
