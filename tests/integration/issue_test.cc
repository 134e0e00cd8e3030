// SPDX-License-Identifier: Apache-2.0
// Workloads of many launches end to end: operations as kernels of their own on several streams,
// ordered by events on the card. Numbers are verified bit for bit against the operations' bundles
// executed one after the other, so a missing wait is a wrong number or a time that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/report/report.h"
#include "cosim/report/report_tasks.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"

namespace spyre::cosim::issue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunResult RunOnCard(const std::string& name, const std::vector<std::string>& sets) {
  return RunSession(LoadConfig(SPYRE_SOURCE_DIR "/configs/" + name + ".toml", sets),
                    test::OutDir());
}

const flex::CompletedOperation& KernelOf(const RunResult& result, const std::string& task) {
  for (const auto& [correlation, name] : TasksOf(result)) {
    for (const flex::CompletedOperation& operation : result.launches)
      if (name == task && operation.correlation == correlation) return operation;
  }
  throw std::out_of_range("no kernel of " + task);
}

const std::string kSmallMlp = "workload.dims={ M = 64, K = 128, F = 128, N = 64 }";
const std::string kSmallSoftmax = "workload.dims={ R = 64, C = 128 }";

const std::string kTaskGraph = "workload.issue.mode=task_graph";

struct Case {
  std::string name, config;
  std::vector<std::string> sets;
};

class Issue : public ::testing::TestWithParam<Case> {};

TEST_P(Issue, IsRightBitForBit) {
  const RunResult result = RunOnCard(GetParam().config, GetParam().sets);
  ASSERT_TRUE(result.verification);
  EXPECT_EQ(result.verification->mismatches, 0) << "of " << result.verification->elements;
  EXPECT_GT(result.verification->elements, 0);
  EXPECT_LT(result.verification->max_relative_error, 0.01);
  EXPECT_EQ(result.launch_counts.completed, result.launch_counts.queued);
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, Issue,
    ::testing::Values(
        Case{"mlp", "mlp_two_streams", {kSmallMlp}},
        Case{"mlp_pipelined", "mlp_two_streams", {kSmallMlp, "card.concurrency=pipelined"}},
        Case{"mlp_pf_pipelined",
             "mlp_two_streams",
             {kSmallMlp, "card.concurrency=pipelined", "card.mode=pf"}},
        Case{"mlp_rtl_control", "mlp_two_streams", {kSmallMlp, "card.control.fidelity=rtl"}},
        Case{"mlp_small_ring", "mlp_two_streams", {kSmallMlp, "runtime.ring_entries=4"}},
        Case{"softmax", "softmax_dag", {kSmallSoftmax}},
        Case{"softmax_one_stream", "softmax_dag", {kSmallSoftmax, "workload.issue.streams=1"}},
        Case{"mlp_graph", "mlp_two_streams", {kSmallMlp, kTaskGraph}},
        Case{"mlp_graph_pipelined",
             "mlp_two_streams",
             {kSmallMlp, kTaskGraph, "card.concurrency=pipelined"}},
        Case{"mlp_graph_by_the_host",
             "mlp_two_streams",
             {kSmallMlp, kTaskGraph, "card.concurrency=pipelined", "workload.issue.release=host"}},
        Case{"softmax_graph_pf", "softmax_dag", {kSmallSoftmax, kTaskGraph, "card.mode=pf"}},
        Case{"softmax_graph_small_window",
             "softmax_dag",
             {kSmallSoftmax, kTaskGraph, "workload.issue.window=4"}},
        Case{"mlp_graph_by_priority",
             "mlp_two_streams",
             {kSmallMlp, kTaskGraph, "workload.issue.release=host", "workload.issue.ready=priority",
              "workload.issue.start=after_orchestration"}},
        Case{"mlp_graph_one_pool",
             "mlp_two_streams",
             {kSmallMlp, kTaskGraph, "workload.issue.release=host", "workload.issue.pools=one",
              "workload.issue.ready=work_steal", "workload.issue.threshold=5"}},
        Case{"mlp_graph_batches",
             "mlp_two_streams",
             {kSmallMlp, kTaskGraph, "workload.issue.dispatch=affinity",
              "workload.issue.timing=batched", "card.concurrency=pipelined"}},
        Case{"mlp_streams_at_a_rate",
             "mlp_two_streams",
             {kSmallMlp, "workload.issue.timing=rate_limited", "workload.issue.tasks_per_ms=500"}},
        Case{"mlp_interleaved",
             "mlp_two_streams",
             {kSmallMlp, "workload.issue.timing=interleaved", "workload.issue.batch=5",
              "card.concurrency=pipelined"}},
        Case{"mlp_graph_by_hash",
             "mlp_two_streams",
             {kSmallMlp, kTaskGraph, "workload.issue.dispatch=hash"}},
        Case{"mlp_host_waits_in_batches",
             "mlp_two_streams",
             {kSmallMlp, "workload.issue.dependencies=host", "workload.issue.timing=batched"}},
        Case{"flash_attention",
             "open_questions/flash_attention",
             {"workload.dims={ S = 64, T = 64, D = 64 }", "card.concurrency=pipelined"}},
        Case{"mlp_host_waits", "mlp_two_streams", {kSmallMlp, "workload.issue.dependencies=host"}},
        Case{"mlp_one_stream",
             "mlp_two_streams",
             {kSmallMlp, "workload.issue.dependencies=one_stream"}},
        Case{"softmax_pipelined",
             "softmax_dag",
             {kSmallSoftmax, "card.concurrency=pipelined", "runtime.scheduler=fifo"}}),
    [](const auto& test) { return test.param.name; });

TEST(IssueOnTwoStreams, TheSecondLayerWaitsForTheFirstAndNoLonger) {
  const RunResult result = RunOnCard(
      "mlp_two_streams", {kSmallMlp, "card.concurrency=pipelined", "workload.functional=false"});
  ASSERT_TRUE(result.tasks);
  EXPECT_THAT(result.tasks->streams, ElementsAre(1u, 2u));
  for (const std::string batch : {"0", "1", "2", "3"}) {
    const auto& first = KernelOf(result, "g" + batch);
    const auto& second = KernelOf(result, "out" + batch);
    EXPECT_EQ(first.stream, 1u);
    EXPECT_EQ(second.stream, 2u);
    EXPECT_GE(second.started_ps, first.finished_ps) << "micro-batch " << batch;
  }
  EXPECT_LT(KernelOf(result, "out0").started_ps, KernelOf(result, "g3").finished_ps)
      << "the first micro-batch does not wait for the last";
  EXPECT_GT(OverlapOf(result).overlap_ps, 0u) << "copies beside kernels";
}

TEST(IssueOnTwoStreams, SerialHardwareNeverOverlaps) {
  const RunResult result = RunOnCard("mlp_two_streams", {kSmallMlp, "workload.functional=false"});
  EXPECT_EQ(OverlapOf(result).overlap_ps, 0u);
}

TEST(IssueOnTwoStreams, TheReportSaysWhatWasIssuedWhere) {
  const RunResult result = RunOnCard("mlp_two_streams", {kSmallMlp, "workload.functional=false"});
  const auto report = SortedJsonOf(ReportJson(result));
  EXPECT_EQ(report["issue"]["mode"], "streams");
  EXPECT_EQ(report["issue"]["tasks"], 12);
  EXPECT_EQ(report["issue"]["streams"], nlohmann::json::array({1, 2}));
  ASSERT_EQ(report["kernels"].size(), 12u);
  EXPECT_EQ(report["kernels"][0]["task"], "h0");
  EXPECT_EQ(report["kernels"][0]["stream"], 1);
  EXPECT_EQ(report["hazards"], nullptr) << "not looked for";
  EXPECT_GT(report["overlap"]["compute_busy_ns"], 0);
  EXPECT_GT(report["host"]["doorbells"], 0);
  EXPECT_GT(report["host"]["busy_ns"], 0);
  EXPECT_GE(report["host"]["busy_ns"].get<double>() + report["host"]["waited_ns"].get<double>(),
            report["launch_ns"]);
  EXPECT_GT(report["memory"]["tensor_peak_bytes"], 0);
  EXPECT_GT(report["memory"]["program_peak_bytes"], 0);
  EXPECT_THAT(ReportSummary(result, "spyre-cosim"),
              HasSubstr("issued by streams: 12 kernels and 10 copies on streams 1, 2"));
}

class IssueHazards : public ::testing::TestWithParam<const char*> {};

TEST_P(IssueHazards, AreNotInTheReportForTheEventsOrderEverything) {
  const RunResult result = RunOnCard(
      "mlp_two_streams", {kSmallMlp, "card.concurrency=pipelined", "workload.functional=false",
                          std::string("runtime.hazards=") + GetParam()});
  const auto report = SortedJsonOf(ReportJson(result))["hazards"];
  EXPECT_EQ(report["mode"], GetParam());
  EXPECT_GE(report["checked"], 12 + 10) << "kernels and copies";
  EXPECT_EQ(report["unknown"], 0);
  EXPECT_EQ(report["found"], 0);
  EXPECT_EQ(report["events"], 0);
  EXPECT_EQ(report["waits"], 0);
  EXPECT_EQ(report["warnings"].size(), 0u);
}
INSTANTIATE_TEST_SUITE_P(Modes, IssueHazards, ::testing::Values("error", "warning", "event"),
                         [](const auto& test) { return test.param; });

TEST(IssueByTaskGraph, FindsTheEdgesThatTheStreamsAreTold) {
  const RunResult result =
      RunOnCard("mlp_two_streams", {kSmallMlp, kTaskGraph, "workload.functional=false"});
  ASSERT_TRUE(result.tasks);
  // Of each micro-batch: x and w1 to h, h to g, g and w2 to out, out to its copy; producers that
  // are complete when the task comes are not edges.
  EXPECT_LE(result.tasks->edges, 4u * 6);
  EXPECT_GE(result.tasks->edges, 4u * 3);
  EXPECT_EQ(result.tasks->tasks, 12u);
  EXPECT_EQ(TasksOf(result).size(), 12u);
}

}  // namespace
}  // namespace spyre::cosim::issue_test
