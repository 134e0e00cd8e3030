// SPDX-License-Identifier: Apache-2.0
// The public tool for traces of the real card reads ours. It is not part of the repository: the
// test runs it if SPYRE_AIU_TRACE_ANALYZER names a checkout of github.com/IBM/aiu-trace-analyzer.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/integration/program_fixture.h"

namespace spyre::test::aiu_tools_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Runs `acelyzer` from a copy: Python before 3.12 does not know the quotes of some of its strings.
constexpr const char* kAnalyze = R"py(
import os, re, shutil, sys
shutil.copytree(sys.argv[1] + "/src", "src")
for directory, _, files in os.walk("src"):
    for name in files:
        if name.endswith(".py"):
            path = os.path.join(directory, name)
            text = open(path).read()
            inner = re.sub(r'\{(\w+(?:\.get\(|\[))"(\w+)"(\]|\))(\["(\w+)"\]\[:-1\])?\}',
                           lambda m: m.group(0).replace('"', "'"), text)
            open(path, "w").write(inner)
sys.path.insert(0, "src")
from aiu_trace_analyzer.core.acelyzer import Acelyzer
sys.exit(Acelyzer(sys.argv[2:]).run())
)py";

class AiuTools : public ProgramFixture {};

TEST_F(AiuTools, TheAnalyzerReadsARunWithoutAWarning) {
  const char* const sources = std::getenv("SPYRE_AIU_TRACE_ANALYZER");
  if (sources == nullptr) GTEST_SKIP() << "SPYRE_AIU_TRACE_ANALYZER names no sources";
  Write("run.toml",
        "[workload]\nop = \"matmul\"\nm = 512\nk = 512\nn = 512\ntile = { m = 256 }\n"
        "functional = false\n");
  ASSERT_EQ(Call("run run.toml --out run").status, 0);
  ASSERT_EQ(Call("trace export --format aiu -o rank0.json run/trace.sctrace").status, 0);
  Write("analyze.py", kAnalyze);
  const std::string command =
      "cd " + dir_ + " && /usr/bin/python3 analyze.py '" + sources +
      "' -i rank0.json -c . -o result.json --freq 1000:1100 --flow > analyzer.txt 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << Read("analyzer.txt");
  EXPECT_THAT(Read("analyzer.txt"), Not(HasSubstr("WARNING")));
  EXPECT_THAT(Read("analyzer.txt"), Not(HasSubstr("ERROR")));
  EXPECT_THAT(Read("result_summary.csv"), HasSubstr("matmul Cmpt Exec"));
  EXPECT_THAT(Read("result_categories.txt"), HasSubstr("matmul"));
  EXPECT_THAT(Read("result_active.csv"), Not(::testing::IsEmpty()));
}

}  // namespace
}  // namespace spyre::test::aiu_tools_test
