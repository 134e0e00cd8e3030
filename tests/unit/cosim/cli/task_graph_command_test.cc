// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim graph`: text commands in, JSON lines out. The cases were made by the public pto-isa
// runtime (docs/task-graph.md).
#include "cosim/cli/task_graph_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "tests/paths.h"
#include "traces/trace_file.h"

namespace spyre::cosim::task_graph_command_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Result {
  std::string out, messages, error;
};

Result RunLines(const std::string& program, GraphCommandOptions options = {}) {
  std::istringstream in(program);
  std::ostringstream out;
  std::ostringstream messages;
  std::string what;
  try {
    EXPECT_EQ(RunGraphCommand(options, in, out, messages), 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    what = error.what();
  }
  return {out.str(), messages.str(), what};
}

GraphCommandOptions Safe(const std::string& deps = "exact", const std::string& ready = "fifo") {
  GraphCommandOptions options;
  options.conformance = "safe";
  options.deps = deps;
  options.ready = ready;
  return options;
}

json Answers(const std::string& lines) {
  json answers = json::array();
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) answers.push_back(SortedJsonOf(line));
  return answers;
}

TEST(GraphCommand, AnswersTheSampleCasesAsTheOriginalDoes) {
  std::ifstream cases(SPYRE_SOURCE_DIR "/tests/data/cases/task_graph_cases.jsonl");
  int count = 0;
  for (std::string line; std::getline(cases, line); ++count) {
    const json sample = SortedJsonOf(line);
    std::ostringstream program;
    program << "window " << sample["window"] << "\nmax_fanout " << sample["max_fanout"] << "\n";
    for (const auto& command : sample["program"]) program << command.get<std::string>() << "\n";
    const Result result = RunLines(program.str());
    EXPECT_EQ(result.error, "") << sample["label"];
    EXPECT_EQ(result.messages.empty(), sample["expected"]["diagnostics"].empty());
    EXPECT_EQ(Answers(result.out), sample["expected"]["results"]) << sample["label"];
  }
  EXPECT_EQ(count, 12);
}

TEST(GraphCommand, EmptyQueuesAnswerMinusOne) {
  EXPECT_EQ(RunLines("pop\npopv\npopc\n# nothing else\n\n").out,
            "{\"r\":\"pop\",\"v\":-1}\n{\"r\":\"popv\",\"v\":-1}\n{\"r\":\"popc\",\"v\":-1}\n");
}

TEST(GraphCommand, AFullWindowAbortsTheOrchestrationOnceInMode1) {
  const Result result =
      RunLines("window 2\nmode 1\nalloc f 0\nalloc f 0\nalloc f 0\nalloc f 0\ndump");
  const json answers = Answers(result.out);
  EXPECT_EQ(answers[2]["v"], -1);
  EXPECT_EQ(answers[3]["v"], -1);
  EXPECT_EQ(answers[4]["aborted"], 1);
  EXPECT_EQ(answers[4]["scheduled"], 2);
  EXPECT_EQ(result.messages, "line 5: the window is full at task 2; orchestration aborted\n");
}

TEST(GraphCommand, AFullWindowInMode2WaitsForACompletion) {
  const std::string full = "window 2\nmode 2\nalloc f 0\nsubmit 0\nalloc f 0\n";
  EXPECT_EQ(Answers(RunLines(full + "complete 0\nalloc f 0\n").out).back()["v"], 2);
  EXPECT_THAT(RunLines(full + "alloc f 0\n").error,
              AllOf(HasSubstr("line 6: the window of 2 tasks is full"), HasSubstr("task 0")));
}

TEST(GraphCommand, StrictPassesOverMisuseAndSafeRefusesIt) {
  const std::string program = "alloc f 0\nsubmit 0\npop\ncomplete 0\ncomplete 0\ndump";
  const json state = Answers(RunLines(program).out).back();
  EXPECT_EQ(state["active"], -1);
  EXPECT_EQ(state["completed"], 2);
  EXPECT_THAT(RunLines(program, Safe()).error,
              HasSubstr("line 5: task graph: task 0 ('f') is completed"));
  EXPECT_EQ(RunLines("in 0 1 0 0 8 8\nsubmit -1\n").messages,
            "line 1: there is no task 0; ignored\nline 2: there is no task -1; ignored\n");
  EXPECT_THAT(RunLines("submit 3\n", Safe()).error,
              HasSubstr("line 1: task graph: there is no task 3"));
}

TEST(GraphCommand, OnlySafeRefusesMoreArgumentsThanTheLimit) {
  std::string program = "alloc f 0\n";
  for (int i = 0; i < 17; ++i) program += "out 0 " + std::to_string(i) + " 0 0 8 8\n";
  const Result strict = RunLines(program + "dump\n");
  EXPECT_EQ(strict.messages, "line 18: task 0 has no room for another argument; ignored\n");
  EXPECT_EQ(Answers(strict.out).back()["tasks"][0]["args"], 16);
  EXPECT_THAT(RunLines(program, Safe()).error,
              HasSubstr("line 18: task graph: task 0 ('f') has 16"));
}

TEST(GraphCommand, BadLinesAreNamedByNumber) {
  const auto error = [](const std::string& line) { return RunLines("alloc f 0\n\n" + line).error; };
  EXPECT_THAT(error("submitt 0"), AllOf(HasSubstr("line 3: 'submitt'"), HasSubstr("'submit'")));
  EXPECT_THAT(error("submit"), HasSubstr("line 3: the task is missing"));
  EXPECT_THAT(error("submit 0x1"), HasSubstr("line 3: the task is '0x1'"));
  EXPECT_THAT(error("submit 99999999999999999999"), HasSubstr("whole number"));
  EXPECT_THAT(error("submit 0 1"), HasSubstr("line 3: '1' is one word too many"));
  EXPECT_THAT(error("in 0 1 0 0 8"), HasSubstr("line 3: an extent is missing"));
  EXPECT_THAT(error("in 0 1 0 0 8 8 8"), HasSubstr("one word too many"));
  EXPECT_THAT(error("in 0 1 0 0 0 8 8 8"), HasSubstr("two dimensions only"));
  EXPECT_THAT(error("alloc"), HasSubstr("the name of the function is missing"));
  EXPECT_THAT(error("alloc f 2"), HasSubstr("the pool is 2"));
  EXPECT_THAT(error("cyc 0 8"), HasSubstr("between 0 and 7"));
  EXPECT_THAT(error("mode 4"), HasSubstr("between 0 and 3"));
  EXPECT_THAT(error("window 16"), HasSubstr("window must come before the first task"));
  EXPECT_THAT(RunLines("window 12").error, HasSubstr("line 1: task graph: a window of 12 tasks"));
  EXPECT_THAT(RunLines("max_fanout 0").error, HasSubstr("max_fanout is 0"));
}

TEST(GraphCommand, UnknownChoicesListTheKnownOnes) {
  GraphCommandOptions options;
  options.conformance = "loose";
  EXPECT_THAT(RunLines("", options).error, HasSubstr("strict, safe"));
  EXPECT_THAT(RunLines("", Safe("all")).error, HasSubstr("exact, bytes, explicit, hybrid"));
  EXPECT_THAT(RunLines("", Safe("exact", "lottery")).error,
              HasSubstr("fifo, work_steal, priority"));
  options.conformance = "strict";
  options.deps = "hybrid";
  EXPECT_THAT(RunLines("", options).error, HasSubstr("need safe"));
  options = {};
  options.file = "/nonexistent/program";
  EXPECT_THAT(RunLines("", options).error, HasSubstr("cannot read"));
}

TEST(GraphCommand, SafeRefusesCyclesAndRegionsOutsideTheirTensor) {
  EXPECT_THAT(RunLines("alloc f 0\nalloc g 0\nafter 1 0\nafter 0 1\n", Safe("hybrid")).error,
              AllOf(HasSubstr("line 4"), HasSubstr("a cycle")));
  EXPECT_THAT(RunLines("after 0 0\n", Safe()).error, HasSubstr("explicit"));
  EXPECT_THAT(RunLines("tensor 1 0 2 8 8\nalloc f 0\nin 0 1 0 4 8 8\n", Safe("bytes")).error,
              AllOf(HasSubstr("line 3"), HasSubstr("dimension 1 is outside")));
  EXPECT_THAT(RunLines("alloc f 0\nin 0 1 0 4 8 8\n", Safe("bytes")).error, HasSubstr("place"));
}

TEST(GraphCommand, SafeOrdersAStuckGraphsOldestTaskIntoTheMessage) {
  EXPECT_THAT(RunLines("alloc f 0\nout 0 1 0 0 8 8\nalloc g 0\nafter 1 0\nsubmit 1\nsimulate\n",
                       Safe("hybrid"))
                  .error,
              AllOf(HasSubstr("line 6"), HasSubstr("task 0 ('f'), which is not submitted")));
}

TEST(GraphCommand, PoolsPrioritiesAndOverlapsAreForSafe) {
  const std::string program =
      "pools 1 1 2\ntensor 1 0 2 16 16\ntensor 2 0 2 256\n"
      "alloc load 0\nout 0 1 0 0 8 16\nsubmit 0\n"
      "alloc low 2 1\nsubmit 1\nalloc high 2 5\nsubmit 2\n"
      "alloc use 1\ninout 3 1 7 0 2 4\nsubmit 3\npop 2\npop 2\npop 1\npop 0\ncomplete 0\npop 1\n";
  const json answers = Answers(RunLines(program, Safe("bytes", "priority")).out);
  std::vector<int> popped;
  for (const json& answer : answers) {
    if (answer["r"] == "pop") popped.push_back(answer["v"]);
  }
  EXPECT_EQ(popped, (std::vector<int>{2, 1, -1, 0, 3}));
}

TEST(GraphCommand, WritesAChromeTraceWithAProcessForEachPool) {
  GraphCommandOptions options;
  options.trace = ::testing::TempDir() + "/graph_trace.json";
  EXPECT_THAT(RunLines("alloc f 0\n", options).error, HasSubstr("no `simulate`"));
  EXPECT_EQ(
      RunLines("dual 1 1\nalloc add 0\nalloc gemm 1\nalloc gemm 1\nsimulate\n", options).error, "");
  const json trace = SortedJsonOf(ReadFile(options.trace, "trace"));
  const json& last = trace["traceEvents"].back();
  EXPECT_EQ(last["name"], "gemm");
  EXPECT_EQ(last["pid"], 1);
  EXPECT_EQ(last["tid"], 0);
  EXPECT_EQ(last["ts"], 50);
  EXPECT_EQ(last["dur"], 50);
  std::filesystem::remove(options.trace);
}

TEST(GraphCommand, LoopsWriteTheirLinesOut) {
  const json answers = Answers(RunLines("for_each i 2\nalloc f{i} 0\nfor_each j 2\n"
                                        "in @ {i*10+1} {j*8} 0 8 8\nend\nsubmit @\nend\ndump")
                                   .out);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[2]["tasks"][1]["args"], 2);
  const json last = Answers(RunLines("alloc a 0\nalloc b 0\ncyc @-1 6\nsubmit @-1\nsubmit @\n"
                                     "simulate")
                                .out)
                        .back();
  EXPECT_EQ(last["trace"], SortedJsonOf("[[0,0,100],[1,0,10]]"));
}

TEST(GraphCommand, SequentialTasksComeAfterTheIterationBefore) {
  const std::string program = "sequential i 3\nfor_each j 2\nalloc f 0\nsubmit @\nend\nend\n";
  EXPECT_EQ(Answers(RunLines(program + "simulate", Safe("explicit")).out).back()["trace"],
            SortedJsonOf("[[0,0,10],[1,0,10],[0,10,20],[1,10,20],[0,20,30],[1,20,30]]"));
  EXPECT_THAT(RunLines(program).error, HasSubstr("line 3: "));
}

TEST(GraphCommand, ChannelsOrderSendsAndReceives) {
  const std::string task = "alloc f 0\n";
  const std::string program = "channel c 1\n" + task + "send @ c\nsubmit @\n" + task +
                              "receive @ c\nsubmit @\n" + task + "send @ c\nsubmit @\n";
  EXPECT_EQ(Answers(RunLines(program + "simulate", Safe("explicit")).out).back()["trace"],
            SortedJsonOf("[[0,0,10],[0,10,20],[0,20,30]]"));
  EXPECT_THAT(RunLines(program + task + "send @ c", Safe("explicit")).error,
              HasSubstr("room for 1"));
  EXPECT_THAT(RunLines(task + "receive @ c", Safe("explicit")).error, HasSubstr("'c'"));
}

TEST(GraphCommand, LoopsThatAreWrongAreNamedByNumber) {
  EXPECT_THAT(RunLines("for_each i 2\nalloc f 0\n").error,
              HasSubstr("line 1: the loop has no end"));
  EXPECT_THAT(RunLines("end\n").error, HasSubstr("line 1: no loop is open"));
  EXPECT_THAT(RunLines("for_each i x\nend\n").error, HasSubstr("line 1: the number of iterations"));
  EXPECT_THAT(RunLines("alloc f 0\nfor_each i 1\nsubmit @-3\nend").error, HasSubstr("line 3: "));
}

TEST(GraphCommand, RunLeavesTheSameWithAnyNumberOfThreads) {
  std::string program = "pools 1 1\n";
  for (int i = 0; i < 60; ++i) {
    program += "alloc f " + std::to_string(i % 2) + "\nin @ " + std::to_string(i % 7) +
               " 0 0 8 8\ninout @ " + std::to_string(i * i % 11) + " 0 0 8 8\nsubmit @\n";
  }
  std::set<std::string> digests;
  for (const char* threads : {"1", "2", "5"})
    digests.insert(Answers(RunLines(program + "run " + threads, Safe()).out)
                       .back()["digest"]
                       .get<std::string>());
  EXPECT_EQ(digests.size(), 1u);
  EXPECT_THAT(RunLines(program + "run 1000", Safe()).error, HasSubstr("1000 threads"));
}

TEST(GraphCommand, AnOrderThatIsMissingIsAnotherDigest) {
  const std::string write = "alloc f 0\nout @ 1 0 0 8 8\nsubmit @\n";
  const std::string read = "alloc f 0\nin @ 1 0 0 8 8\nout @ 2 0 0 8 8\nsubmit @\n";
  const auto digest = [&](const std::string& program, const char* deps) {
    return Answers(RunLines(program + "run", Safe(deps)).out).back()["digest"];
  };
  EXPECT_EQ(digest(write + read, "exact"), digest(write + read, "explicit")) << "fifo is in order";
  const std::string stolen = "sequential i 1\n" + write + "end\n" + read;
  EXPECT_EQ(digest(stolen, "hybrid"), digest(write + read, "exact"));
}

TEST(GraphCommand, TheStartPolicyKeepsTasksBack) {
  GraphCommandOptions options = Safe();
  options.start = "2";
  const std::string task = "alloc f 0\nsubmit @\n";
  EXPECT_EQ(Answers(RunLines(task + task + "pop", options).out).back()["v"], -1);
  EXPECT_EQ(Answers(RunLines(task + task + task + "pop", options).out).back()["v"], 0);
  options.start = "after_orchestration";
  EXPECT_EQ(Answers(RunLines(task + task + task + "pop", options).out).back()["v"], -1);
  options.start = "soon";
  EXPECT_THAT(RunLines("", options).error, HasSubstr("after_orchestration"));
}

TEST(GraphCommand, TimingAndDispatchOfTheSimulation) {
  const std::string program = "workers 2\nfor_each i 4\nalloc f 0\nsubmit @\nend\nsimulate";
  GraphCommandOptions options = Safe();
  options.timing = "rate_limited";
  options.issue_cycles = 20;
  EXPECT_EQ(Answers(RunLines(program, options).out).back()["trace"],
            SortedJsonOf("[[0,20,30],[0,40,50],[0,60,70],[0,80,90]]"));
  options.timing = "batched";
  options.batch = 2;
  options.dispatch = "round_robin";
  EXPECT_EQ(Answers(RunLines(program, options).out).back()["trace"],
            SortedJsonOf("[[0,40,50],[1,40,50],[0,80,90],[1,80,90]]"));
  options.timing = "immediate";
  EXPECT_THAT(RunLines(program, options).error, HasSubstr("--issue-cycles"));
  options = Safe();
  options.dispatch = "lottery";
  EXPECT_THAT(RunLines(program, options).error, HasSubstr("any, round_robin"));
}

TEST(GraphCommand, WritesATraceOfTheProject) {
  GraphCommandOptions options = Safe();
  options.trace = testing::TempDir() + "/graph_command_" + std::to_string(getpid()) + ".sctrace";
  EXPECT_EQ(
      RunLines("dual 1 1\nalloc load 0\nsubmit @\nalloc matmul 1\nsubmit @\nsimulate", options)
          .error,
      "");
  const trace::Trace trace = trace::ReadTrace(options.trace);
  std::filesystem::remove(options.trace);
  ASSERT_EQ(trace.records.size(), 2u);
  EXPECT_EQ(trace.tracks[trace.records[1].track].process, "pool 1");
  EXPECT_EQ(trace.names[trace.records[1].name], "matmul");
  EXPECT_EQ(trace.records[1].end_ps, 50'000u) << "a nanosecond for each cycle";
}

}  // namespace
}  // namespace spyre::cosim::task_graph_command_test
