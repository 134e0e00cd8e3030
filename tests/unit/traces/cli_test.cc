// SPDX-License-Identifier: Apache-2.0
#include "traces/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/command_line/help.h"
#include "base/command_line/parse.h"
#include "base/json_text.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/export/export_command.h"
#include "traces/run_results.h"

namespace spyre::trace::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class TraceCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::path(::testing::TempDir()) /
           (std::string("trace_cli_") + info->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(dir_);
    file_ = (dir_ / "run.trace").string();
    WriteTrace(SampleTrace(), file_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    command_line::Command root("spyre-cosim trace", "");
    AddTraceCommands(root, out_);
    AddExportCommand(root, out_);
    try {
      const command_line::Request request = Parse(root, args);
      if (request.kind == command_line::Request::Kind::kRun) return request.command->action()();
      out_ << Help(*request.command);
      return 0;
    } catch (const std::runtime_error& error) {  // of the command line, or of a file
      err_ << error.what();
      return 2;
    }
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(dir_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path dir_;
  std::string file_;
  std::ostringstream out_, err_;
};

TEST_F(TraceCommand, SummaryPrintsTextOrJson) {
  EXPECT_EQ(Run({"summary", file_}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Simulated time 8.000 ns"));
  EXPECT_EQ(Run({"summary", file_, "--per-core", "--operations", "1"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("core 01/pt"));
  EXPECT_EQ(Run({"summary", "--json", file_}), 0);
  EXPECT_EQ(SortedJsonOf(out_.str())["records"], 11);
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(TraceCommand, SummaryExplainsTheKernelThatIsAskedFor) {
  EXPECT_EQ(Run({"summary", file_}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Critical path of kernel 1, COMPUTE mm: 3.000 ns"))
      << "the longer of the two";
  EXPECT_EQ(Run({"summary", file_, "--kernel", "0"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Critical path of kernel 0, COMPUTE mm: 2.000 ns"));
  EXPECT_EQ(Run({"summary", file_, "--kernel", "mm", "--json"}), 0);
  EXPECT_EQ(SortedJsonOf(out_.str())["critical_path"]["kernel"], 1);
  WriteTrace(KernelTrace(), file_);
  EXPECT_EQ(Run({"summary", file_, "--segments", "1"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("core 01/vector"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("6.600 ns"))) << "the store is not the longest";
}

TEST_F(TraceCommand, QueryTakesFiltersInNanoseconds) {
  EXPECT_EQ(Run({"query", file_, "--track", "stream", "--name", "mm", "--from", "4.6", "--json"}),
            0);
  const auto json = SortedJsonOf(out_.str());
  ASSERT_EQ(json["matches"], 1);
  EXPECT_EQ(json["records"][0]["flow"], 8);
  EXPECT_EQ(Run({"query", file_, "--to", "0.1", "--limit", "1"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("1 of 3 records"));
}

TEST_F(TraceCommand, LxSaysWhatWasHeldOrThatItIsNotKnown) {
  EXPECT_EQ(Run({"lx", file_}), 0);
  EXPECT_EQ(out_.str(), "The trace does not say what its kernels keep in LX.\n");
  Trace trace = SampleTrace();
  RunResults results;
  results.lx_bytes = 4096;
  results.lx = {{"mm", {}, {{"a", 0, 1024, 0, 0, 3}}}};
  results.kernels[8] = {};
  results.programs[8] = "mm";
  trace.results = EncodeRunResults(results);
  WriteTrace(trace, file_);
  EXPECT_EQ(Run({"lx", file_}), 0);
  EXPECT_THAT(out_.str(), StartsWith("LX of a core: at most 1.00 KiB of 4.00 KiB (25.0 %) held"));
  EXPECT_EQ(Run({"lx", "--json", file_}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\"peak_bytes\": 1024"));
}

TEST_F(TraceCommand, DiffSaysIdenticalAndCanSetTheStatus) {
  Recorder other(1000, kControl);
  RecordSample(other);
  WriteTrace(Snapshot(other), (dir_ / "other.trace").string());
  EXPECT_EQ(Run({"diff", file_, file_, "--exit-code"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("identical"));
  EXPECT_EQ(Run({"diff", file_, (dir_ / "other.trace").string()}), 0);
  EXPECT_EQ(Run({"diff", file_, (dir_ / "other.trace").string(), "--exit-code", "--json"}), 1);
  EXPECT_EQ(SortedJsonOf(out_.str())["identical"], false);
}

TEST_F(TraceCommand, ExportNamesItsFileAfterTheTrace) {
  EXPECT_EQ(Run({"export", file_}), 0);
  EXPECT_EQ(out_.str(), (dir_ / "run.pftrace").string() + "\n");
  EXPECT_THAT(Read("run.pftrace"), HasSubstr("COMPUTE mm"));
  EXPECT_EQ(Run({"export", file_, "--format", "chrome", "-o", (dir_ / "x.json").string()}), 0);
  EXPECT_EQ(SortedJsonOf(Read("x.json"))["displayTimeUnit"], "ns");
  EXPECT_EQ(Run({"export", "--format", "csv", file_, "-o", "-"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("start_ps,"));
}

TEST_F(TraceCommand, ReportWritesAPage) {
  EXPECT_EQ(Run({"report", file_}), 0);
  EXPECT_THAT(Read("run.html"), StartsWith("<!DOCTYPE html>"));
}

TEST_F(TraceCommand, HelpIsNotAnError) {
  EXPECT_EQ(Run({"--help"}), 0);
  for (const char* command : {"summary", "query", "diff", "export", "report", "lx"}) {
    EXPECT_THAT(out_.str(), HasSubstr(command));
  }
  EXPECT_EQ(Run({"query", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("--from"));
}

TEST_F(TraceCommand, BadUsageHasStatus2AndSaysWhatIsWrong) {
  const auto problem = [&](const std::vector<std::string>& args) {
    EXPECT_EQ(Run(args), 2);
    EXPECT_THAT(out_.str(), IsEmpty());
    return err_.str();
  };
  EXPECT_THAT(problem({}), HasSubstr("--help"));
  EXPECT_THAT(problem({"sumary", file_}),
              HasSubstr("'sumary' is not a command; did you mean 'summary'?"));
  EXPECT_THAT(problem({"summary"}), HasSubstr("FILE"));
  EXPECT_THAT(problem({"summary", file_, "--jsn"}), HasSubstr("--jsn"));
  EXPECT_THAT(problem({"summary", file_, "--kernel", "2"}),
              HasSubstr("--kernel 2: the trace has kernels 0 to 1, named COMPUTE mm"));
  EXPECT_THAT(problem({"summary", file_, "--kernel", "m\n"}), HasSubstr("--kernel m?: the trace"));
  EXPECT_THAT(problem({"summary", file_, "--segments", "some"}), HasSubstr("--segments"));
  EXPECT_THAT(problem({"diff", file_}), HasSubstr("FILE_B"));
  EXPECT_THAT(problem({"export", file_, "--format", "vcd"}), HasSubstr("vcd"));
  EXPECT_THAT(problem({"query", file_, "--from", "-1"}), HasSubstr("--from"));
  EXPECT_THAT(problem({"query", file_, "--to", "1e300"}), HasSubstr("--to"));
  EXPECT_THAT(problem({"query", file_, "--limit", "many"}), HasSubstr("--limit"));
}

TEST_F(TraceCommand, BadFilesHaveStatus2AndAreNamed) {
  EXPECT_EQ(Run({"summary", (dir_ / "none.trace").string()}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("none.trace"));
  std::ofstream(dir_ / "text.trace") << "hello";
  EXPECT_EQ(Run({"report", (dir_ / "text.trace").string()}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("not a trace file"));
  EXPECT_EQ(Run({"export", file_, "-o", "/nonexistent/x"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("/nonexistent/x: cannot write"));
}

}  // namespace
}  // namespace spyre::trace::cli_test
