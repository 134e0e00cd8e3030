// Lists of operations as workloads of many launches: what becomes a kernel, what a tensor, and what
// the keys of operations may say.
#include "cosim/issue_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/contract/error.h"

namespace spyre::cosim {
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

TEST(IssueWorkload, OperationsOfEqualShapeShareAKernel) {
  const Workload workload = ResolveWorkload(Config(kTwoLayers));
  ASSERT_NE(workload.issue, nullptr);
  const IssueWork& work = *workload.issue;
  ASSERT_EQ(work.tasks.size(), 3u);
  ASSERT_EQ(work.kernels.size(), 2u);
  EXPECT_EQ(work.tasks[0].kernel, work.tasks[2].kernel);
  EXPECT_EQ(work.kernels[0].bundle->bundle.name, "matmul");
  EXPECT_EQ(work.tasks[0].stream, 3u);
  EXPECT_FALSE(work.tasks[1].stream);
  EXPECT_THAT(work.tasks[2].after, ElementsAre(0u, 1u));
}

TEST(IssueWorkload, ResultsBetweenOperationsAreNeitherInputNorOutput) {
  const Workload workload = ResolveWorkload(Config(kTwoLayers));
  for (const WorkloadTensor& tensor : workload.tensors) {
    EXPECT_EQ(tensor.is_input, tensor.name == "x" || tensor.name == "y" || tensor.name == "w")
        << tensor.name;
    EXPECT_EQ(tensor.is_output, tensor.name == "g" || tensor.name == "i") << tensor.name;
  }
}

TEST(IssueWorkload, WriterAndReadersAgreeOnASparseResult) {
  const Workload workload =
      ResolveWorkload(Config("{ op = \"amax\", inputs = [\"x\"], output = \"m\", dim = \"K\" },"
                             "{ op = \"sub\", inputs = [\"x\", \"m\"], output = \"d\" },"
                             "{ op = \"matmul\", inputs = [\"d\", \"w\"], output = \"p\" },"
                             "{ op = \"matmul\", inputs = [\"y\", \"w\"], output = \"q\" }"));
  const auto& tensors = workload.tensors;
  const auto m = std::find_if(tensors.begin(), tensors.end(),
                              [](const auto& tensor) { return tensor.name == "m"; });
  ASSERT_NE(m, tensors.end());
  EXPECT_EQ(m->layout.stick_dim(), -1) << "one element to a stick";
  EXPECT_EQ(workload.issue->kernels.size(), 3u);
}

TEST(IssueWorkload, AConstantIsOneTensorForAllThatUseIt) {
  const Workload workload =
      ResolveWorkload(Config("{ op = \"mul\", inputs = [\"x\", 3.0], output = \"a\" },"
                             "{ op = \"mul\", inputs = [\"y\", 3.0], output = \"b\" },"
                             "{ op = \"matmul\", inputs = [\"a\", \"w\"], output = \"c\" }"));
  int constants = 0;
  for (const WorkloadTensor& tensor : workload.tensors) constants += tensor.constant ? 1 : 0;
  EXPECT_EQ(constants, 1);
}

TEST(IssueWorkload, TheProgramFormTakesTheSameList) {
  RunConfig config = Config(kTwoLayers);
  config.workload.issue.mode = "program";
  const Workload workload = ResolveWorkload(config);
  EXPECT_EQ(workload.issue, nullptr);
  EXPECT_NE(workload.bundle, nullptr);
}

TEST(IssueWorkload, RefusesWhatTheKeysMayNotSay) {
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

TEST(IssueWorkload, RefusesHints) {
  EXPECT_THAT(MessageOf(Config(kTwoLayers, "hints = [{ slices = { M = 2 } }]\n")),
              AllOf(HasSubstr("workload.hints"), HasSubstr("\"program\"")));
}

TEST(IssueWorkload, RefusesKeysThatTheModeHasNoUseFor) {
  const auto message = [](const char* mode, auto key, const auto& value) {
    RunConfig config = Config(kTwoLayers);
    config.workload.issue.mode = mode;
    config.workload.issue.*key = value;
    return MessageOf(config);
  };
  EXPECT_EQ(message("program", &IssueConfig::streams, 8),
            "workload.issue.streams is for mode = \"streams\" or \"task_graph\", and "
            "workload.issue.mode is \"program\"");
  EXPECT_THAT(message("program", &IssueConfig::dependencies, "host"),
              HasSubstr("issue.dependencies is for mode = \"streams\", and"));
  EXPECT_THAT(message("program", &IssueConfig::window, 4), HasSubstr("issue.window is for"));
  EXPECT_THAT(message("streams", &IssueConfig::deps, "exact"),
              HasSubstr("issue.deps is for mode = \"task_graph\", and"));
  EXPECT_THAT(message("streams", &IssueConfig::release, "host"), HasSubstr("issue.release is for"));
  EXPECT_THAT(message("streams", &IssueConfig::window, 1), HasSubstr("issue.window is for"));
  EXPECT_THAT(message("task_graph", &IssueConfig::dependencies, "one_stream"),
              HasSubstr("workload.issue.mode is \"task_graph\""));
  EXPECT_THAT(message("task_graph", &IssueConfig::window, 3),
              HasSubstr("workload.issue.window = 3 tasks must be a power of two"));
  EXPECT_EQ(message("task_graph", &IssueConfig::window, 1), "accepted") << "one task at a time";
  EXPECT_EQ(message("task_graph", &IssueConfig::streams, 8), "accepted");
}

TEST(IssueWorkload, RefusesAModeWithoutAList) {
  for (const char* mode : {"streams", "task_graph"}) {
    EXPECT_THAT(MessageOf(LoadConfig("", {std::string("workload.issue.mode=") + mode,
                                          "workload.m=64", "workload.k=64", "workload.n=64"})),
                HasSubstr("there is no list (workload.graph or workload.ops)"));
  }
}

}  // namespace
}  // namespace spyre::cosim
