// SPDX-License-Identifier: Apache-2.0
// Tiled launches whose tiles overlap, on the card: the same numbers whatever runs beside what, and
// never a program that two tiles use at once, as the times in the responses say.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "cosim/config/config.h"
#include "cosim/session/session.h"
#include "cosim/tensors/reference_numbers.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::overlap_test {
namespace {

using runtime::Overlap;
using runtime::SpyreStream;
using runtime::SpyreTensor;

constexpr int64_t kTileRows = 256;
constexpr int64_t kColumns = 128;

struct Hardware {
  const char* name;
  unsigned vfs;
  const char* concurrency;
  const char* control;
};
void PrintTo(const Hardware& hardware, std::ostream* out) { *out << hardware.name; }

class TileOverlapTest : public CardFixture, public ::testing::WithParamInterface<Hardware> {
 protected:
  void SetUp() override { SetUp(GetParam()); }
  void SetUp(const Hardware& hardware) {
    config_.concurrency = test::Named(hardware.concurrency);
    config_.control.fidelity = test::Named(hardware.control);
    Open(hardware.vfs);
    compiler::KernelSpec spec;
    spec.op = "neg";
    spec.dims = {{"rows", kTileRows}, {"cols", kColumns}};
    spec.cores = 1;  // long enough for the host to stay ahead
    const auto directory = std::filesystem::path(::testing::TempDir()) /
                           (std::string("overlap_neg_") + hardware.name + "_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name()[0]);
    compiler::WriteSpyreCode(compiler::GenerateKernel(spec), directory);
    plan_ = std::make_unique<runtime::ExecutionPlan>(directory);
    stream_ = std::make_unique<SpyreStream>(SpyreStream::Default(*context_));
    runtime::LoadPlan(*stream_, *plan_);
    stream_->Synchronize();
  }
  void TearDown() override {
    plan_.reset();
    context_.reset();
  }

  static StickLayout Layout(int64_t tiles) {
    return DefaultLayout({tiles * kTileRows, kColumns}, DataFormat::kSen169Fp16);
  }

  // Negates so many tiles of numbers, and with `twice` the result, before anything is waited for.
  // The operations of the launches alone.
  std::vector<flex::CompletedOperation> Run(int64_t tiles, Overlap overlap, int depth, bool twice) {
    std::vector<uint16_t> data, expected;
    for (int64_t i = 0; i < tiles * kTileRows * kColumns; ++i) {
      const double value = static_cast<double>(i % 499 + 1);
      data.push_back(cosim::NearestHalf(value));
      expected.push_back(cosim::NearestHalf(twice ? value : -value));
    }
    std::vector<SpyreTensor> tensors;
    tensors.push_back(
        runtime::TensorFromHost(*stream_, Layout(tiles), data.data(), DataFormat::kIeeeFp16));
    stream_->Synchronize();
    context_->ClearCompletedOperations();
    runtime::LaunchOptions options;
    options.overlap = overlap;
    options.depth = depth;
    for (int launch = 0; launch < (twice ? 2 : 1); ++launch) {
      tensors.push_back(runtime::AllocateTensor(*context_, Layout(tiles)));
      runtime::LaunchKernel(*stream_, *plan_, {tensors[tensors.size() - 2], tensors.back()},
                            options);
    }
    context_->Synchronize();
    const auto operations = context_->CompletedOperations();
    std::vector<uint16_t> result(data.size());
    runtime::CopyTensorFromDevice(*stream_, tensors.back(), result.data(), DataFormat::kIeeeFp16);
    stream_->Synchronize();
    EXPECT_EQ(result, expected) << tiles << " tiles, " << Name(overlap) << ", depth " << depth;
    return operations;
  }

  std::unique_ptr<runtime::ExecutionPlan> plan_;
  std::unique_ptr<SpyreStream> stream_;
};

// What happens to each program, by its address, in order of time.
std::map<uint64_t, std::vector<flex::CompletedOperation>> UsesOfPrograms(
    std::vector<flex::CompletedOperation> operations, uint64_t program_bytes) {
  std::stable_sort(operations.begin(), operations.end(),
                   [](const auto& a, const auto& b) { return a.started_ps < b.started_ps; });
  std::map<uint64_t, std::vector<flex::CompletedOperation>> uses;
  for (const flex::CompletedOperation& operation : operations) {
    if (operation.opcode == Opcode::COMPUTE) uses[flex::RawOffset(operation.location)];
  }
  for (const flex::CompletedOperation& operation : operations) {
    if (operation.opcode != Opcode::DMA_IN && operation.opcode != Opcode::COMPUTE) continue;
    const uint64_t at = flex::RawOffset(operation.location);
    const auto program = std::prev(uses.upper_bound(at));
    EXPECT_LT(at - program->first, program_bytes);
    program->second.push_back(operation);
  }
  return uses;
}

// Loaded once at most; then again and again for one tile: copy of the correction input, correction,
// compute, each after the one before has finished.
void ExpectOneTileAfterTheOther(const std::vector<flex::CompletedOperation>& uses) {
  size_t step = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    const flex::CompletedOperation& operation = uses[i];
    const std::string what = fmt::format("tile {}, '{}' ({}) of stream {}", operation.tag,
                                         operation.name, operation.label, operation.stream);
    if (i > 0) {
      EXPECT_GE(operation.started_ps, uses[i - 1].finished_ps) << what;
    }
    if (operation.label == "program neg, replica") {
      EXPECT_EQ(step, 0u) << what;
      continue;
    }
    const bool copy = operation.label == "correction input";
    const bool correction = operation.name.find("correction") != std::string::npos;
    EXPECT_EQ(step % 3, copy ? 0u : correction ? 1u : 2u) << what;
    if (step % 3 != 0) {
      EXPECT_EQ(operation.tag, uses[i - 1].tag) << what;
    }
    ++step;
  }
  EXPECT_EQ(step % 3, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Card, TileOverlapTest,
    ::testing::Values(Hardware{"serial_physical", 0, "serial", "timed"},
                      Hardware{"pipelined_physical", 0, "pipelined", "timed"},
                      Hardware{"serial_virtual_function", 1, "serial", "timed"},
                      Hardware{"pipelined_virtual_function", 1, "pipelined", "timed"},
                      Hardware{"pipelined_rtl", 1, "pipelined", "rtl"}),
    [](const auto& test) { return test.param.name; });

TEST_P(TileOverlapTest, NumbersAreRightAndNoProgramIsUsedByTwoTilesAtOnce) {
  std::mt19937 random(169);
  const auto below = [&](uint32_t limit) { return static_cast<int>(random() % limit); };
  for (int trial = 0; trial < 6; ++trial) {
    const Overlap overlap = trial % 2 == 0 ? Overlap::kDoubleBuffer : Overlap::kStreams;
    const int tiles = 2 + below(11);
    const int depth = 2 + below(5);
    SCOPED_TRACE(fmt::format("{} of {} tiles, depth {}", Name(overlap), tiles, depth));
    const auto uses = UsesOfPrograms(Run(tiles, overlap, depth, true), plan_->program_bytes());
    EXPECT_EQ(uses.size(), static_cast<size_t>(std::min(tiles, depth))) << "slots";
    for (const auto& [program, operations] : uses) ExpectOneTileAfterTheOther(operations);
  }
}

TEST_P(TileOverlapTest, TheNextTileIsPreparedWhileThisOneComputesIfTheHardwareCan) {
  for (const Overlap overlap : {Overlap::kNone, Overlap::kDoubleBuffer, Overlap::kStreams}) {
    std::map<uint64_t, uint64_t> copied_ps, computed_ps;  // start of the one, end of the other
    for (const flex::CompletedOperation& operation : Run(6, overlap, 2, false)) {
      if (operation.label == "correction input") copied_ps[operation.tag] = operation.started_ps;
      if (operation.name == "neg") computed_ps[operation.tag] = operation.finished_ps;
    }
    ASSERT_EQ(computed_ps.size(), 6u);
    int beside = 0;
    for (uint64_t tile = 1; tile < 6; ++tile)
      beside += copied_ps.at(tile) < computed_ps.at(tile - 1);
    const bool can =
        std::string(GetParam().concurrency) == "pipelined" && overlap != Overlap::kNone;
    if (can) {
      EXPECT_GE(beside, 4) << "of 5, " << Name(overlap);
    } else {
      EXPECT_EQ(beside, 0) << Name(overlap);
    }
  }
}

struct Run {
  const char* name;
  std::vector<std::string> sets;
};
void PrintTo(const Run& run, std::ostream* out) { *out << run.name; }

class OverlappedRemainders : public ::testing::TestWithParam<Run> {};
INSTANTIATE_TEST_SUITE_P(
    Card, OverlappedRemainders,
    ::testing::Values(Run{"pad_double_buffer",
                          {"workload.launch.remainder=pad", "workload.launch.overlap=double_buffer",
                           "workload.launch.depth=3"}},
                      Run{"pad_streams",
                          {"workload.launch.remainder=pad", "workload.launch.overlap=streams",
                           "card.mode=pf"}},
                      Run{"remainder_kernel_double_buffer",
                          {"workload.launch.remainder=remainder_kernel",
                           "workload.launch.overlap=double_buffer"}},
                      Run{"remainder_kernel_streams",
                          {"workload.launch.remainder=remainder_kernel",
                           "workload.launch.overlap=streams", "workload.launch.depth=3"}}),
    [](const auto& test) { return test.param.name; });

// 100 by 160 in tiles of 32 by 64: edges of three shapes, and a corner.
TEST_P(OverlappedRemainders, AreBitExact) {
  std::vector<std::string> sets = {"workload.m=100",      "workload.k=64",
                                   "workload.n=160",      "workload.tile.m=32",
                                   "workload.tile.n=64",  "card.concurrency=pipelined",
                                   "trace.enabled=false", "card.cores=4"};
  sets.insert(sets.end(), GetParam().sets.begin(), GetParam().sets.end());
  const cosim::RunResult result = cosim::RunSession(
      cosim::LoadConfig("", sets), ::testing::TempDir() + "overlapped_" + GetParam().name);
  ASSERT_TRUE(result.verification.has_value());
  EXPECT_EQ(result.verification->elements, 100 * 160);
  EXPECT_EQ(result.verification->mismatches, 0);
  EXPECT_EQ(result.launch_counts.queued, result.launch_counts.completed);
}

// Tiles of k make one result together.
std::string RunReduction(const std::string& reduction, const std::string& overlap) {
  const std::vector<std::string> sets = {"workload.m=64",
                                         "workload.k=512",
                                         "workload.n=64",
                                         "workload.tile.k=128",
                                         "card.cores=4",
                                         "trace.enabled=false",
                                         "workload.launch.reduction=" + reduction,
                                         "workload.launch.overlap=" + overlap};
  try {
    const cosim::RunResult result =
        cosim::RunSession(cosim::LoadConfig("", sets),
                          ::testing::TempDir() + "overlapped_" + reduction + "_" + overlap);
    return result.verification->mismatches == 0 ? "right" : "wrong";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(OverlappedReduction, ThroughDeviceMemoryIsPreparedAheadAndAddedInOrder) {
  EXPECT_EQ(RunReduction("device", "double_buffer"), "right");
}
TEST(OverlappedReduction, OnStreamsIsRefused) {
  EXPECT_THAT(RunReduction("device", "streams"),
              ::testing::HasSubstr("its tiles along 'k' write the same memory"));
}
TEST(OverlappedReduction, InLxIsRefused) {
  EXPECT_THAT(RunReduction("lx", "double_buffer"),
              ::testing::HasSubstr("the sums stay in LX, and nothing may come between"));
}
TEST(OverlappedReduction, ByThePlanIsRefused) {
  EXPECT_THAT(RunReduction("plan", "double_buffer"),
              ::testing::HasSubstr("the accumulate kernel of a tile follows its kernel"));
}

}  // namespace
}  // namespace spyre::test::overlap_test
