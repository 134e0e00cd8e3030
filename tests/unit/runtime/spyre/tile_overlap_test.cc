// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tile_overlap.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "model/contract/control_block.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::tile_overlap_test {
namespace {

using test::FailureOf;
using test::FakeCard;

constexpr int64_t kTileRows = 4;

LaunchOptions Overlapping(Overlap overlap, int depth) {
  LaunchOptions options;
  options.overlap = overlap;
  options.depth = depth;
  return options;
}

class TileOverlapModes : public testing::TestWithParam<driver::FunctionId> {
 protected:
  TileOverlapModes() {
    if (GetParam() != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    kernel.InstallOn(card);
    test::WriteCopyKernel(directory.path(), test::CopyKernelJson(kTileRows, 64));
  }

  // The context with the plan loaded, and tensors a, out of so many tiles.
  void Open(int64_t tiles) {
    context.emplace(card, GetParam(), runtime);
    stream.emplace(SpyreStream::Default(*context));
    plan.emplace(directory.path());
    LoadPlan(*stream, *plan);
    data.resize(static_cast<size_t>(tiles * kTileRows * 64));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = HalfFromFloat(static_cast<float>(i * 7 % 1021));
    a = AllocateTensor(*context, {tiles * kTileRows, 64});
    out = AllocateTensor(*context, {tiles * kTileRows, 64});
    stream->Synchronize();
    context->ClearCompletedOperations();
    card.executed.clear();
  }
  // a is on its way, and out is brought back, by the stream of the launch without any other wait.
  std::vector<uint16_t> Run(const LaunchOptions& options) {
    std::vector<uint16_t> result(data.size());
    stream->flex_stream().Fill(out.device_handle, out.size_bytes, 0);
    CopyTensorToDevice(*stream, a, data.data(), DataFormat::kIeeeFp16, "a");
    LaunchKernel(*stream, *plan, {a, out}, options);
    CopyTensorFromDevice(*stream, out, result.data(), DataFormat::kIeeeFp16, "out");
    stream->Synchronize();
    return result;
  }
  // Programs that were computed with, in order of tiles.
  std::vector<uint64_t> ProgramsOfComputes() const {
    std::vector<uint64_t> programs;
    for (const FakeCard::Executed& operation : card.executed) {
      if (static_cast<Opcode>(operation.block.opcode) == Opcode::COMPUTE &&
          operation.block.device_address == test::kComputeOffset)
        programs.push_back(operation.block.program_base);
    }
    return programs;
  }
  uint64_t ProgramBytes() const {
    return context->Statistics(flex::MemoryKind::kProgram).used_bytes;
  }

  FakeCard card;
  flex::RuntimeOptions runtime;
  test::CopyKernelImitation kernel{kTileRows, 64};
  test::TemporaryDirectory directory;
  std::vector<uint16_t> data;
  std::optional<flex::RuntimeContext> context;
  std::optional<SpyreStream> stream;
  std::optional<ExecutionPlan> plan;
  SpyreTensor a, out;
};
INSTANTIATE_TEST_SUITE_P(Mode, TileOverlapModes, testing::Values(0, 1),
                         [](const auto& mode) { return mode.param == 0 ? "PF" : "VF"; });

TEST_P(TileOverlapModes, EveryKindAndDepthGivesTheNumbersInStreamOrder) {
  Open(7);
  for (const Overlap overlap : {Overlap::kNone, Overlap::kDoubleBuffer, Overlap::kStreams}) {
    for (const int depth : {1, 2, 3, 7, 12}) {
      EXPECT_EQ(Run(Overlapping(overlap, depth)), data) << Name(overlap) << " " << depth;
    }
  }
}

TEST_P(TileOverlapModes, TilesTakeTheReplicasInTurnAndNeverThePlansOwnProgram) {
  Open(5);
  const std::vector<uint64_t> own = (Run({}), ProgramsOfComputes());
  card.executed.clear();
  Run(Overlapping(Overlap::kDoubleBuffer, 3));
  const std::vector<uint64_t> programs = ProgramsOfComputes();
  ASSERT_EQ(programs.size(), 5u);
  EXPECT_EQ(std::set<uint64_t>(programs.begin(), programs.end()).size(), 3u);
  EXPECT_EQ(programs[3], programs[0]);
  EXPECT_EQ(programs[4], programs[1]);
  for (const uint64_t program : programs) EXPECT_NE(program, own[0]);
}

TEST_P(TileOverlapModes, DoubleBufferPreparesOnAHelperAndComputesOnTheCallersStream) {
  Open(4);
  LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kDoubleBuffer, 2));
  stream->Synchronize();
  uint32_t helper = 0;
  int corrections = 0;
  for (const flex::CompletedOperation& done : context->CompletedOperations()) {
    if (done.name == "copy") {
      EXPECT_EQ(done.stream, 0u);
      EXPECT_EQ(done.label, fmt::format("tile {} of 4, rows={}..{}", done.tag, done.tag * kTileRows,
                                        (done.tag + 1) * kTileRows - 1));
    }
    if (done.name != "copy correction") continue;
    ++corrections;
    EXPECT_NE(done.stream, 0u);
    if (helper == 0) helper = done.stream;
    EXPECT_EQ(done.stream, helper);
  }
  EXPECT_EQ(corrections, 4);
}

TEST_P(TileOverlapModes, StreamsDealTilesOut) {
  Open(5);
  LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kStreams, 2));
  stream->Synchronize();
  std::map<uint64_t, uint32_t> stream_of_tile;
  for (const flex::CompletedOperation& done : context->CompletedOperations()) {
    if (done.name == "copy") stream_of_tile[done.tag] = done.stream;
  }
  ASSERT_EQ(stream_of_tile.size(), 5u);
  EXPECT_NE(stream_of_tile[0], stream_of_tile[1]);
  for (const uint64_t tile : {2u, 3u, 4u})
    EXPECT_EQ(stream_of_tile[tile], stream_of_tile[tile - 2]);
}

TEST_P(TileOverlapModes, NothingTellsTheCardToFinishEverythingFirst) {
  Open(6);
  for (const Overlap overlap : {Overlap::kDoubleBuffer, Overlap::kStreams})
    Run(Overlapping(overlap, 2));
  for (const FakeCard::Executed& operation : card.executed)
    EXPECT_EQ(operation.block.flags & kFlagBarrier, 0) << operation.block.sequence;
}

TEST_P(TileOverlapModes, ReplicasAreCountedUsedAgainAndFreedWithThePlan) {
  Open(6);
  EXPECT_EQ(ProgramBytes(), 1 * test::kProgramAllocation);
  Run(Overlapping(Overlap::kDoubleBuffer, 3));
  EXPECT_EQ(ProgramBytes(), 4 * test::kProgramAllocation);
  const size_t loads = context->CompletedOperations().size();
  context->ClearCompletedOperations();
  Run(Overlapping(Overlap::kDoubleBuffer, 3));
  Run(Overlapping(Overlap::kStreams, 2));
  EXPECT_EQ(ProgramBytes(), 4 * test::kProgramAllocation);
  EXPECT_GT(loads, 0u);
  for (const flex::CompletedOperation& done : context->CompletedOperations())
    EXPECT_NE(done.label, "program copy, replica") << "loaded a second time";
  plan.reset();
  EXPECT_EQ(ProgramBytes(), 0u);
}

TEST_P(TileOverlapModes, APlanDroppedWhileItsLaunchIsInFlightKeepsItsReplicasUntilTheEnd) {
  Open(6);
  std::vector<uint16_t> result(data.size());
  CopyTensorToDevice(*stream, a, data.data(), DataFormat::kIeeeFp16, "a");
  LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kDoubleBuffer, 2));
  plan.reset();
  CopyTensorFromDevice(*stream, out, result.data(), DataFormat::kIeeeFp16, "out");
  stream->Synchronize();
  EXPECT_EQ(result, data);
  EXPECT_EQ(ProgramBytes(), 0u);
}

TEST_P(TileOverlapModes, LaunchesOfTwoStreamsHaveReplicasOfTheirOwnWhileBothAreInFlight) {
  Open(6);
  SpyreStream other(*context);
  const flex::Event never_yet(*context, "gate");
  stream->flex_stream().Wait(never_yet);
  CopyTensorToDevice(*stream, a, data.data(), DataFormat::kIeeeFp16, "a");
  LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kDoubleBuffer, 2));
  const SpyreTensor second = AllocateTensor(*context, {6 * kTileRows, 64});
  const SpyreTensor copy = AllocateTensor(*context, {6 * kTileRows, 64});
  std::vector<uint16_t> result(data.size());
  CopyTensorToDevice(other, second, data.data(), DataFormat::kIeeeFp16, "second");
  LaunchKernel(other, *plan, {second, copy}, Overlapping(Overlap::kDoubleBuffer, 2));
  CopyTensorFromDevice(other, copy, result.data(), DataFormat::kIeeeFp16, "copy");
  other.Synchronize();  // would be a deadlock if it waited for the first launch
  EXPECT_EQ(result, data);
  EXPECT_EQ(ProgramBytes(), 5 * test::kProgramAllocation);
  other.flex_stream().Record(never_yet);
  context->Synchronize();
  EXPECT_EQ(Run(Overlapping(Overlap::kStreams, 4)), data);
  EXPECT_EQ(ProgramBytes(), 5 * test::kProgramAllocation) << "all four are free again";
}

TEST_P(TileOverlapModes, MoreSlotsThanTilesAreNotMade) {
  Open(2);
  Run(Overlapping(Overlap::kDoubleBuffer, 8));
  EXPECT_EQ(ProgramBytes(), 3 * test::kProgramAllocation);
}

TEST_P(TileOverlapModes, WithoutRoomForReplicasNothingIsEnqueued) {
  card.region_bytes[7] = runtime.program_bytes = 4 * test::kProgramAllocation;
  Open(8);
  const uint64_t queued = context->Counts().queued;
  const std::string why = FailureOf([&] {
    LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kDoubleBuffer, 4));
  });
  EXPECT_NE(why.find("no room for slot 4 of 4, with 1024 bytes for program 'copy'"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("0 of 4096 bytes free"), std::string::npos) << why;
  EXPECT_EQ(context->Counts().queued, queued);
  EXPECT_EQ(ProgramBytes(), test::kProgramAllocation) << "what was taken is free again";
  EXPECT_EQ(Run(Overlapping(Overlap::kDoubleBuffer, 3)), data);
}

TEST_P(TileOverlapModes, AFailureOfAPreparationReachesTheCallerWithTheTile) {
  Open(6);
  card.on_compute = [inner = card.on_compute,
                     corrections = 0](const FakeCard::Executed& operation) mutable {
    if (operation.block.device_address == test::kCorrectionOffset && corrections++ == 3)
      return Status::BAD_PROGRAM;
    return inner(operation);
  };
  LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kDoubleBuffer, 2));
  const std::string why = FailureOf([&] { stream->Synchronize(); });
  EXPECT_NE(why.find("stream 0:"), std::string::npos) << why;
  EXPECT_NE(why.find("operation 'copy', tile 3 of 6 prepared"), std::string::npos) << why;
  EXPECT_NE(why.find("BAD_PROGRAM"), std::string::npos) << why;
  EXPECT_EQ(kernel.launches, 3) << "tiles before it were computed, none after";
  EXPECT_THROW(LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kStreams, 2)), Error);

  context->Reset();
  kernel.InstallOn(card);
  EXPECT_EQ(Run(Overlapping(Overlap::kDoubleBuffer, 2)), data) << "all is as new after a reset";
  EXPECT_EQ(ProgramBytes(), 3 * test::kProgramAllocation);
}

TEST_P(TileOverlapModes, AFailureOfATileOnAnotherStreamReachesTheCallerWithTheTile) {
  Open(6);
  card.on_compute = [inner = card.on_compute,
                     computes = 0](const FakeCard::Executed& operation) mutable {
    if (operation.block.device_address == test::kComputeOffset && computes++ == 3)
      return Status::PAGE_FAULT;
    return inner(operation);
  };
  LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kStreams, 2));
  const std::string why = FailureOf([&] { stream->Synchronize(); });
  EXPECT_NE(why.find("stream 0: EVENT_WAIT"), std::string::npos) << why;
  EXPECT_NE(why.find("(tile 3 of 6, rows="), std::string::npos) << why;
  EXPECT_NE(why.find("PAGE_FAULT"), std::string::npos) << why;
}

TEST_P(TileOverlapModes, WhatCannotOverlapIsRefusedWithTheReason) {
  Open(4);
  EXPECT_NE(FailureOf([&] {
              LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kStreams, 0));
            }).find("overlap 'streams' with depth 0: it is 1"),
            std::string::npos);
  EXPECT_NE(FailureOf([&] {
              LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kDoubleBuffer, 33));
            }).find("to 32"),
            std::string::npos);

  Operation by_hand(*plan->operations()[0].compute(), plan->operations()[0].preprocess());
  EXPECT_NE(FailureOf([&] {
              stream->LaunchTiled(by_hand, {a, out}, Overlapping(Overlap::kDoubleBuffer, 2));
            }).find("was not made by LoadPlan"),
            std::string::npos);

  // Rows 4.. of a tensor to its rows 0..: in order each tile reads what the one before leaves.
  const SpyreTensor whole = AllocateTensor(*context, {5 * kTileRows, 64});
  const SpyreTensor later = TensorAt(LocationOf(whole, kTileRows * 128), a.layout);
  const SpyreTensor first = TensorAt(whole.device_handle, a.layout);
  const std::string why = FailureOf([&] {
    LaunchKernel(*stream, *plan, {later, first}, Overlapping(Overlap::kStreams, 2));
  });
  EXPECT_NE(why.find("shares memory with tensor 0 ('a')"), std::string::npos) << why;
  EXPECT_NO_THROW(
      LaunchKernel(*stream, *plan, {later, first}, Overlapping(Overlap::kDoubleBuffer, 2)));
  EXPECT_NO_THROW(LaunchKernel(*stream, *plan, {a, a}, Overlapping(Overlap::kStreams, 2)));
  context->Synchronize();
}

TEST_P(TileOverlapModes, ALaunchCanBeCapturedAndItsReplaysComputeAgain) {
  Open(5);
  for (const Overlap overlap : {Overlap::kDoubleBuffer, Overlap::kStreams}) {
    Run(Overlapping(overlap, 2));  // its replicas are not the graph's while it is in flight
    std::vector<uint16_t> result(data.size());
    context->BeginCapture(stream->flex_stream());
    LaunchKernel(*stream, *plan, {a, out}, Overlapping(overlap, 2));
    const flex::CapturedGraph graph = context->EndCapture(stream->flex_stream());
    SpyreStream other(*context);
    for (const uint16_t value : {HalfFromFloat(3), HalfFromFloat(5)}) {
      const std::vector<uint16_t> values(data.size(), value);
      CopyTensorToDevice(*stream, a, values.data(), DataFormat::kIeeeFp16, "a");
      stream->Synchronize();
      graph.Launch(stream->flex_stream());
      graph.Launch(other.flex_stream());
      context->Synchronize();
      CopyTensorFromDevice(*stream, out, result.data(), DataFormat::kIeeeFp16, "out");
      stream->Synchronize();
      EXPECT_EQ(result, values) << Name(overlap);
    }
    EXPECT_EQ(Run(Overlapping(overlap, 2)), data) << "beside the graph";
  }
}

TEST_P(TileOverlapModes, HelperStreamsAreUsedAgainAndGivenToTheApplicationWhenItAsks) {
  Open(8);
  std::set<uint32_t> used;
  for (int i = 0; i < 20; ++i)
    LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kStreams, 4));
  context->Synchronize();
  for (const flex::CompletedOperation& done : context->CompletedOperations())
    used.insert(done.stream);
  EXPECT_EQ(used, (std::set<uint32_t>{0, 29, 30, 31, 32}));
  std::set<uint32_t> own;
  for (int i = 0; i < 32; ++i) own.insert(context->NewStream().stream_index());
  EXPECT_EQ(own.size(), 32u) << "all 32 normal streams";
  const std::string why = FailureOf([&] {
    LaunchKernel(*stream, *plan, {a, out}, Overlapping(Overlap::kStreams, 4));
  });
  EXPECT_NE(why.find("4 streams are needed beside it, and 0 of the 32 normal ones can be had"),
            std::string::npos)
      << why;
  context->DestroyStream(7);
  EXPECT_EQ(Run(Overlapping(Overlap::kDoubleBuffer, 4)), data) << "one is enough for it";
}

TEST(HelperStreams, AreNotTheApplicationsUntilTheyAreIdle) {
  FakeCard card;
  flex::RuntimeContext context(card, 0);
  flex::FlexStream& helper = *context.HelperStreams(context.DefaultStream(), 1)[0];
  const uint32_t index = helper.stream_index();
  EXPECT_EQ(index, 32u);
  EXPECT_THROW(context.DestroyStream(index), Error);
  const flex::Event gate(context, "gate");
  helper.Wait(gate);
  EXPECT_NE(FailureOf([&] { context.Stream(index); }).find("it runs work of stream 0"),
            std::string::npos);
  flex::FlexStream& high = context.NewStream(true);
  EXPECT_EQ(context.HelperStreams(high, 1)[0]->stream_index(), 64u) << "of the caller's priority";
  EXPECT_EQ(context.HelperStreams(context.DefaultStream(), 1)[0], &helper) << "busy, for the same";
  EXPECT_NE(context.HelperStreams(context.Stream(3), 1)[0], &helper);
  context.DefaultStream().Record(gate);
  context.Synchronize();
  EXPECT_EQ(&context.Stream(index), &helper);
  EXPECT_NE(context.HelperStreams(context.DefaultStream(), 1)[0], &helper);
}

TEST(SlotOccupancy, ASlotInFlightIsNotUsedForAnotherTile) {
  SlotOccupancy slot(1);
  slot.Enter(4);
  slot.Enter(4);
  EXPECT_EQ(FailureOf([&] { slot.Enter(6); }),
            "slot 1 is used for tile 6 while tile 4 is in flight in it");
  slot.Leave();
  EXPECT_EQ(FailureOf([&] { slot.Enter(6); }), "no error");
}

}  // namespace
}  // namespace spyre::runtime::tile_overlap_test
