// SPDX-License-Identifier: Apache-2.0
// Lists of operations as workloads of many launches: what becomes a kernel, what a tensor, and what
// the keys of operations may say.
#include "cosim/workload/task_list_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/workload/bundle_workload.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim::task_list_workload_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig Config(const std::string& ops, const std::string& more = "") {
  return ParseConfig(
      "[workload]\ndims = { M = 64, K = 128, F = 128 }\n"
      "tensors = [{ name = \"x\", dims = [\"M\", \"K\"] }, { name = \"y\", dims = [\"M\", \"K\"] },"
      "{ name = \"w\", dims = [\"K\", \"F\"] }]\n" +
          more + "ops = [" + ops + "]\n[workload.issue]\nmode = \"streams\"\n",
      "test");
}

std::string MessageOf(const RunConfig& config) {
  try {
    ResolveWorkload(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}

constexpr const char* kTwoLayers =
    "{ op = \"matmul\", inputs = [\"x\", \"w\"], output = \"h\", stream = 3 },"
    "{ op = \"gelu\", inputs = [\"h\"], output = \"g\" },"
    "{ op = \"matmul\", inputs = [\"y\", \"w\"], output = \"i\", after = [\"h\", \"g\"] }";

TEST(TaskListWorkload, OperationsOfEqualShapeShareAKernel) {
  const TaskListPlan list = PlanTaskList(Config(kTwoLayers));
  ASSERT_EQ(list.tasks.size(), 3u);
  ASSERT_EQ(list.kernels.size(), 2u);
  EXPECT_EQ(list.tasks[0].kernel, list.tasks[2].kernel);
  EXPECT_EQ(list.kernels[0].launched.bundle.name, "matmul");
  EXPECT_EQ(list.tasks[0].stream, 3u);
  EXPECT_FALSE(list.tasks[1].stream);
  EXPECT_THAT(list.tasks[2].after, ElementsAre(0u, 1u));
}

TEST(TaskListWorkload, ResultsBetweenOperationsAreNeitherInputNorOutput) {
  const TaskListPlan list = PlanTaskList(Config(kTwoLayers));
  for (const WorkloadTensor& tensor : list.tensors) {
    EXPECT_EQ(tensor.is_input, tensor.name == "x" || tensor.name == "y" || tensor.name == "w")
        << tensor.name;
    EXPECT_EQ(tensor.is_output, tensor.name == "g" || tensor.name == "i") << tensor.name;
  }
}

TEST(TaskListWorkload, WriterAndReadersAgreeOnASparseResult) {
  const TaskListPlan list =
      PlanTaskList(Config("{ op = \"amax\", inputs = [\"x\"], output = \"m\", dim = \"K\" },"
                          "{ op = \"sub\", inputs = [\"x\", \"m\"], output = \"d\" },"
                          "{ op = \"matmul\", inputs = [\"d\", \"w\"], output = \"p\" },"
                          "{ op = \"matmul\", inputs = [\"y\", \"w\"], output = \"q\" }"));
  const auto& tensors = list.tensors;
  const auto m = FindIf(tensors, [](const auto& tensor) { return tensor.name == "m"; });
  ASSERT_NE(m, tensors.end());
  EXPECT_EQ(m->layout.stick_dim(), -1) << "one element to a stick";
  EXPECT_EQ(list.kernels.size(), 3u);
}

TEST(TaskListWorkload, AConstantIsOneTensorForAllThatUseIt) {
  const TaskListPlan list =
      PlanTaskList(Config("{ op = \"mul\", inputs = [\"x\", 3.0], output = \"a\" },"
                          "{ op = \"mul\", inputs = [\"y\", 3.0], output = \"b\" },"
                          "{ op = \"matmul\", inputs = [\"a\", \"w\"], output = \"c\" }"));
  int constants = 0;
  for (const WorkloadTensor& tensor : list.tensors) constants += tensor.constant ? 1 : 0;
  EXPECT_EQ(constants, 1);
}

TEST(TaskListWorkload, TheProgramFormTakesTheSameList) {
  RunConfig config = Config(kTwoLayers);
  config.workload.issue.mode = IssueMode::kProgram;
  const std::unique_ptr<Workload> workload = ResolveWorkload(config);
  EXPECT_NE(dynamic_cast<BundleWorkload*>(workload.get()), nullptr);
}

TEST(TaskListWorkload, RefusesWhatTheKeysMayNotSay) {
  const auto op = [](const std::string& keys) {
    return MessageOf(
        Config("{ op = \"matmul\", inputs = [\"x\", \"w\"], output = \"h\" },"
               "{ op = \"gelu\", inputs = [\"y\"], output = \"g\", " +
               keys + " }"));
  };
  EXPECT_THAT(op("stream = 65"), AllOf(HasSubstr("ops[1].stream = 65"), HasSubstr("33 .. 64")));
  EXPECT_THAT(op("stream = -1"), HasSubstr("ops[1].stream = -1"));
  EXPECT_THAT(op("stream = \"1\""), HasSubstr("ops[1].stream"));
  EXPECT_THAT(op("after = \"h\""), HasSubstr("must be a list"));
  EXPECT_THAT(op("after = [\"k\"]"), HasSubstr("ops[1].after: \"k\" is not the output"));
  EXPECT_THAT(op("after = [\"g\"]"), HasSubstr("of an earlier operation"));
  EXPECT_EQ(op("after = [\"h\"]"), "accepted");
}

TEST(TaskListWorkload, RefusesHints) {
  EXPECT_THAT(MessageOf(Config(kTwoLayers, "hints = [{ slices = { M = 2 } }]\n")),
              AllOf(HasSubstr("workload.hints"), HasSubstr("\"program\"")));
}

TEST(TaskListWorkload, RefusesKeysThatTheModeHasNoUseFor) {
  const auto message = [](IssueMode mode, auto key, const auto& value) {
    RunConfig config = Config(kTwoLayers);
    config.workload.issue.mode = mode;
    config.workload.issue.*key = value;
    return MessageOf(config);
  };
  EXPECT_EQ(message(IssueMode::kProgram, &IssueConfig::streams, 8),
            "test: workload.issue.streams = 8 has no effect: it is for workload.issue.mode = "
            "\"streams\" or \"task_graph\", and this configuration runs a list of operations with "
            "workload.issue.mode = \"program\"; leave it out");
  EXPECT_THAT(message(IssueMode::kProgram, &IssueConfig::dependencies, StreamDependencies::kHost),
              HasSubstr("it is for workload.issue.mode = \"streams\", and"));
  EXPECT_THAT(message(IssueMode::kProgram, &IssueConfig::window, 4), HasSubstr("issue.window = "));
  EXPECT_THAT(message(IssueMode::kStreams, &IssueConfig::deps, "exact"),
              HasSubstr("it is for workload.issue.mode = \"task_graph\", and"));
  EXPECT_THAT(message(IssueMode::kStreams, &IssueConfig::release, runtime::Release::kHost),
              HasSubstr("issue.release = "));
  EXPECT_THAT(message(IssueMode::kStreams, &IssueConfig::window, 1), HasSubstr("issue.window = "));
  EXPECT_THAT(
      message(IssueMode::kTaskGraph, &IssueConfig::dependencies, StreamDependencies::kOneStream),
      HasSubstr("runs a list of operations with workload.issue.mode = \"task_graph\""));
  EXPECT_THAT(message(IssueMode::kTaskGraph, &IssueConfig::window, 3),
              HasSubstr("workload.issue.window = 3 tasks must be a power of two"));
  EXPECT_EQ(message(IssueMode::kTaskGraph, &IssueConfig::window, 1), "accepted")
      << "one task at a time";
  EXPECT_EQ(message(IssueMode::kTaskGraph, &IssueConfig::streams, 8), "accepted");
}

TEST(TaskListWorkload, RefusesAModeWithoutAList) {
  for (const char* mode : {"streams", "task_graph"}) {
    EXPECT_THAT(MessageOf(LoadConfig("", {std::string("workload.issue.mode=") + mode,
                                          "workload.m=64", "workload.k=64", "workload.n=64"})),
                HasSubstr("it is for a list of operations (workload.graph or workload.ops)"));
  }
}

}  // namespace
}  // namespace spyre::cosim::task_list_workload_test
