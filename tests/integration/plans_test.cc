// SPDX-License-Identifier: Apache-2.0
// Plans of one's own as users give them: in the list, in a file, by --set; compared side by side;
// and many cases in one call.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::plans_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class Plans : public ProgramFixture {
 protected:
  // y = a + b, z = y * c, w = max(y, z) on [64, 512].
  static Json Chain() {
    return SortedJsonOf(R"({
      "dims": {"A": 64, "B": 512},
      "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]},
                  {"name": "c", "dims": ["A", "B"]}],
      "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
              {"op": "mul", "inputs": ["y", "c"], "output": "z"},
              {"op": "maximum", "inputs": ["y", "z"], "output": "w"}]})");
  }
  void WriteChain(const Json& plan = nullptr) const {
    Json chain = Chain();
    if (!plan.is_null()) chain["plan"] = plan;
    Write("chain.json", chain.dump());
  }
  // The columns of `compare`, the list as it is first.
  std::vector<Json> Compare(const std::string& arguments, int status = 0) const {
    const Outcome outcome =
        Call("compare chain.json --json --set trace.enabled=false " + arguments);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    return SortedJsonOf(outcome.out)["plans"].get<std::vector<Json>>();
  }
  static std::string LoopsOf(const Json& column) {
    return column["predicted"]["kernels"][0]["loops"];
  }
};

TEST_F(Plans, OfTheListAFileAndTheCommandLineEachGoBeforeTheOneBefore) {
  WriteChain(SortedJsonOf(R"({"groups": [[["y", "z"], 2]], "lx": {"y": "device"}})"));
  Write("plan.toml", "groups = [[[\"y\", \"z\"], 4]]\n");
  const std::vector<Json> columns =
      Compare("plan.toml 'workload.plan=plan.toml;workload.plan.lx.y=lx' workload.plan.groups=[]");
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(LoopsOf(columns[0]), "2x[y copy_y z] w");
  EXPECT_EQ(LoopsOf(columns[1]), "4x[y copy_y z] w");
  EXPECT_EQ(columns[1]["predicted"]["kernels"][0]["operations"][0]["place"].get<std::string>()[0],
            'p')
      << "the list's place stands, because the file says nothing of places";
  EXPECT_EQ(columns[2]["predicted"]["kernels"][0]["operations"][0]["place"], "lx 0");
  EXPECT_EQ(LoopsOf(columns[3]), "y z w");
  for (const Json& column : columns) EXPECT_EQ(column["verified"], true);
}

TEST_F(Plans, ACutMakesKernelsWhoseResultsAreRight) {
  WriteChain();
  const std::vector<Json> columns = Compare(
      "'workload.plan.cuts=[\"y\"]' "
      "'workload.plan.cuts=[\"y\", \"z\"];workload.plan.splits.z.A=2' 'workload.lx=none'");
  EXPECT_EQ(columns[0]["predicted"]["kernels"].size(), 1u);
  EXPECT_EQ(columns[1]["predicted"]["kernels"].size(), 2u);
  EXPECT_EQ(columns[2]["predicted"]["kernels"].size(), 3u);
  EXPECT_EQ(columns[2]["predicted"]["kernels"][1]["operations"][0]["splits"], "2 x 1");
  for (const Json& column : columns) {
    EXPECT_EQ(column["verified"], true) << column["plan"];
    // Everything is pointwise on whole sticks: what is predicted is moved, and little besides.
    for (const char* key : {"bytes_read", "bytes_written"}) {
      const auto predicted = column["predicted"][key].get<double>();
      EXPECT_GE(column["device_memory"][key].get<double>(), predicted) << column["plan"] << key;
    }
    EXPECT_EQ(column["device_memory"]["bytes_written"], column["predicted"]["bytes_written"]);
  }
  // y is written, and read again once: into LX, where two operations read it.
  constexpr int64_t kTensor = int64_t{64} * 512 * 2;
  EXPECT_EQ(columns[0]["predicted"]["bytes_read"], 3 * kTensor);
  EXPECT_EQ(columns[1]["predicted"]["bytes_read"], 4 * kTensor);
}

TEST_F(Plans, ARefusedPlanIsAColumnWithItsReason) {
  WriteChain();
  const std::vector<Json> columns = Compare("workload.plan.splits.y.A=3 workload.lx=none", 2);
  EXPECT_EQ(columns[0]["exit_status"], 0);
  EXPECT_EQ(columns[1]["error"]["type"], "InvalidPlan");
  EXPECT_EQ(columns[1]["error"]["kind"], "split_not_divisible");
  EXPECT_EQ(columns[2]["exit_status"], 0);
  const Outcome table = Call("compare chain.json workload.plan.splits.y.A=3");
  EXPECT_EQ(table.status, 2);
  EXPECT_THAT(table.out, HasSubstr("nearest valid split: 2 or 4"));
  EXPECT_THAT(table.out, HasSubstr("read, measured"));
}

TEST_F(Plans, OfListsThatAreLaunchedOperationByOperationAreRefused) {
  WriteChain(SortedJsonOf(R"({"splits": {"y": {"A": 2}}})"));
  const Outcome outcome = Call("run chain.json --set workload.issue.mode=streams");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("the list has a plan, which is of one program"));
  const Outcome key =
      Call("run chain.json --set workload.issue.mode=streams --set workload.plan.cuts=[]");
  EXPECT_EQ(key.status, 2);
}

TEST_F(Plans, CutsAndNamesThatDoNotFitAreRefused) {
  WriteChain(SortedJsonOf(R"({"groups": [[["y", "z"], 2]], "cuts": ["y"]})"));
  EXPECT_THAT(Call("run chain.json").err,
              HasSubstr("y and z are inside one loop, which is of one kernel; nearest: behind z"));
  WriteChain(SortedJsonOf(R"({"cuts": ["yy"]})"));
  EXPECT_THAT(Call("run chain.json").err,
              HasSubstr("plan.cuts: 'yy' is not an operation of the list; did you mean 'y'?"));
  WriteChain(SortedJsonOf(R"({"cuts": ["y"], "lx": {"y": "lx"}})"));
  EXPECT_THAT(Call("run chain.json").err, HasSubstr("a result that its kernel hands out"));
  WriteChain();
  EXPECT_THAT(Call("run chain.json --set workload.plan=none.json").err, HasSubstr("none.json"));
}

TEST_F(Plans, CasesRunInProcessesOfTheirOwn) {
  Json well = Chain(), planned = Chain(), refused = Chain();
  well["id"] = "well";
  planned["id"] = "planned";
  planned["plan"] = SortedJsonOf(R"({"groups": [[["y", "z", "w"], 2]]})");
  refused["id"] = "refused";
  refused["plan"] = SortedJsonOf(R"({"groups": [[["y", "z", "w"], 7]]})");
  Write("cases.jsonl",
        well.dump() + "\n" + refused.dump() + "\nnonsense\n" + planned.dump() + "\n");
  const Outcome outcome = Call("run --cases cases.jsonl --jobs 2 --out out");
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  std::istringstream lines(outcome.out);
  std::vector<Json> results;
  for (std::string line; std::getline(lines, line);) results.push_back(SortedJsonOf(line));
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0]["verified"], true);
  EXPECT_GT(results[0]["device_ns"], 0);
  EXPECT_EQ(results[1]["error"]["kind"], "not_divisible");
  EXPECT_THAT(results[2]["error"]["message"].get<std::string>(), HasSubstr("line 3"));
  EXPECT_EQ(results[3]["verified"], true);
  EXPECT_THAT(outcome.err, HasSubstr("4 cases: 2 passed, 2 refused"));
  EXPECT_EQ(Call("run out/planned.json").status, 0) << "the list of a case can be run again";
}

}  // namespace
}  // namespace spyre::test::plans_test
