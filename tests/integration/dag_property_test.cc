// SPDX-License-Identifier: Apache-2.0
// Random programs of copies and kernels on the simulated card, over streams, scheduling policies,
// ring sizes, modes and functions: with their hazards ordered by events, the application's or
// automatic ones, by the edges of tasks or by a task graph of any window, they end with the memory
// of sequential execution.
#include <filesystem>
#include <functional>
#include <map>

#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/flex/scheduling_policy.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"
#include "tests/unit/runtime/flex/program_calls.h"
#include "tests/unit/runtime/flex/random_program.h"
#include "tests/unit/runtime/spyre/issue/program_tasks.h"

namespace spyre::test::dag_property_test {
namespace {

struct Mode {
  const char* name;
  unsigned vfs;
  const char* concurrency;
};

class DagProperty : public CardFixture, public ::testing::WithParamInterface<Mode> {
 protected:
  void SetUp() override {
    config_.concurrency = test::Named(GetParam().concurrency);
    Open(GetParam().vfs);
  }
  void Reopen(const flex::RuntimeOptions& options) {
    context_.reset();
    context_ = std::make_unique<flex::RuntimeContext>(
        *transport_, static_cast<driver::FunctionId>(GetParam().vfs), options);
  }
  // to = to + from, for each number of sticks; one core reads everything before it writes.
  std::map<uint32_t, runtime::ExecutionPlan> LoadKernels(runtime::SpyreStream& stream) {
    std::map<uint32_t, runtime::ExecutionPlan> kernels;
    for (const uint32_t rows : {1u, 2u, 3u, 4u}) {
      const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
      const auto dir =
          std::filesystem::path(::testing::TempDir()) / "dag" / test->name() / std::to_string(rows);
      if (!std::filesystem::exists(dir / "spyrecode.json")) {
        compiler::KernelSpec spec;
        spec.op = "add";
        spec.dims = {{"rows", rows}, {"cols", kStick / 2}};
        spec.cores = 1;
        compiler::WriteSpyreCode(compiler::GenerateKernel(spec), dir);
      }
      runtime::LoadPlan(stream, kernels.try_emplace(rows, dir).first->second);
    }
    stream.Synchronize();
    return kernels;
  }
  using Issue = std::function<void(ProgramCalls&)>;
  // As the program's own streams and events say.
  ProgramResult Run(const RandomProgram& program) {
    return Run(program, [](ProgramCalls& calls) { calls.MakeAll(); });
  }
  ProgramResult Run(const RandomProgram& program, const Issue& issue) {
    auto stream = runtime::SpyreStream::Default(*context_);
    auto kernels = LoadKernels(stream);
    const auto bytes = uint64_t{program.sticks} * kStick;
    const flex::DeviceHandle memory = context_->Allocate(bytes);
    stream.flex_stream().Fill(memory, bytes, 0);
    stream.Synchronize();
    const auto tensor = [&](uint32_t stick, uint32_t rows) {
      return runtime::TensorAt(flex::Offset(memory, int64_t{stick} * kStick),
                               DefaultLayout({rows, kStick / 2}, DataFormat::kSen169Fp16));
    };
    ProgramCalls calls(program, *context_, memory,
                       [&](flex::FlexStream& on, size_t, const Step& step) {
                         runtime::SpyreStream spyre(*context_, on);
                         const auto to = tensor(step.to, step.count);
                         runtime::LaunchKernel(spyre, kernels.at(step.count),
                                               {to, tensor(step.from, step.count), to});
                       });
    issue(calls);
    context_->Synchronize();
    ProgramResult result{std::vector<uint8_t>(bytes), calls.Outputs()};
    stream.flex_stream().CopyFromDevice(result.memory.data(), memory, bytes);
    stream.Synchronize();
    context_->Free(memory);
    return result;
  }
  // All work on one stream, in an order that the program allows.
  static RandomProgram Sequential(const RandomProgram& program) {
    RandomProgram sequential = program;
    for (Step& step : sequential.steps) {
      step.stream = 0;
      if (!step.works()) step.kind = Step::Kind::kSyncStream;
    }
    return sequential;
  }
  static flex::RuntimeOptions OptionsFor(uint32_t seed, const char* hazards) {
    const auto policies = flex::SchedulingPolicyNames();
    flex::RuntimeOptions options;
    options.scheduling = policies[seed % policies.size()];
    options.device.submission_entries = options.device.response_entries = 4u << seed % 5;
    options.hazards = hazards;
    return options;
  }
  ProgramResult RunSequential(const RandomProgram& program) {
    Reopen({});
    return Run(Sequential(program));
  }
  void Compare(uint32_t seed, const RandomProgram& program, const char* hazards) {
    const ProgramResult expected = RunSequential(program);
    const flex::RuntimeOptions options = OptionsFor(seed, hazards);
    Reopen(options);
    EXPECT_EQ(Run(program), expected) << "seed " << seed << ", " << options.scheduling;
    EXPECT_EQ(context_->Hazards().unknown, 0u);
  }
  // Issues the program as a task graph on a new context; whether that has filled the window.
  bool CompareGraph(const RandomProgram& program, const ProgramResult& expected,
                    const flex::RuntimeOptions& options, runtime::Release release, const char* deps,
                    std::mt19937& random) {
    const runtime::GraphIssueOptions graph = RandomGraphOptions(release, deps, random);
    const std::string text =
        fmt::format("{}, release {}, {}, {}", options.scheduling, Name(release), deps, Text(graph));
    uint64_t most_in_flight = 0;
    Reopen(options);
    const ProgramResult result = Run(program, [&](ProgramCalls& calls) {
      const auto issuer = runtime::Issue::TaskGraph(*context_, graph);
      ProgramTasks tasks(program, calls, *issuer, EdgesFor(graph, program, random));
      tasks.IssueAll();
      EXPECT_EQ(issuer->Counts().completed, issuer->Counts().tasks) << text;
      most_in_flight = tasks.most_in_flight();
    });
    EXPECT_EQ(result, expected) << text;
    EXPECT_EQ(context_->Hazards().found, 0u) << text;
    EXPECT_LE(most_in_flight, graph.graph.window.tasks) << text;
    return most_in_flight == graph.graph.window.tasks;
  }
};

TEST_P(DagProperty, OrderedProgramsEndAsSequentialExecution) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    Compare(seed, WithEvents(MakeProgram(1000 + seed, {24})), "error");
  }
}

TEST_P(DagProperty, AutomaticEventsMakeUnorderedProgramsEndAsSequentialExecution) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    Compare(seed, MakeProgram(2000 + seed, {24}), "event");
    EXPECT_GT(context_->Hazards().found, 0u) << "seed " << seed;
  }
}

TEST_P(DagProperty, TheSameProgramEndsAsSequentialExecutionInEveryIssueMode) {
  int filled = 0;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    const RandomProgram program =
        WithEvents(MakeProgram(3000 + seed, {seed % 3 == 2 ? 100u : 40u, seed % 2 == 0}));
    const ProgramResult expected = RunSequential(program);
    const flex::RuntimeOptions options = OptionsFor(seed, "error");
    Reopen(options);
    EXPECT_EQ(Run(program), expected) << "seed " << seed << ", its own streams";
    Reopen(options);
    const Issue by_streams = [&](ProgramCalls& calls) {
      const auto issuer = runtime::Issue::Streams(*context_, {1 + seed});
      ProgramTasks(program, calls, *issuer, AllEdges(program)).IssueAll();
    };
    EXPECT_EQ(Run(program, by_streams), expected) << "seed " << seed << ", edges between streams";
    for (const auto release : {runtime::Release::kEvents, runtime::Release::kHost}) {
      for (const char* deps : {"bytes", "hybrid_bytes", "explicit"}) {
        filled += CompareGraph(program, expected, options, release, deps, random);
      }
    }
  }
  EXPECT_GT(filled, 12) << "of 36 windows";
}

INSTANTIATE_TEST_SUITE_P(Card, DagProperty,
                         ::testing::Values(Mode{"serial_physical", 0, "serial"},
                                           Mode{"serial_virtual_function", 1, "serial"},
                                           Mode{"pipelined_physical", 0, "pipelined"},
                                           Mode{"pipelined_virtual_function", 1, "pipelined"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace spyre::test::dag_property_test
