// SPDX-License-Identifier: Apache-2.0
#include "model/formula/kernel_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

namespace spyre::model::formula_test {
namespace {

double Ns(const KernelWork& work, const CardParameters& card = {}) { return TimeOf(work, card).ns; }

MatmulWork Square(uint64_t size, uint64_t m_parts, uint64_t n_parts, CoreletUse corelets) {
  MatmulWork work;
  work.m = work.k = work.n = size;
  work.m_parts = m_parts;
  work.n_parts = n_parts;
  const bool wide = corelets == CoreletUse::kOwnWeights;  // each corelet has 128 columns
  work.tile_m = wide ? 128 : 256;
  work.tile_n = wide ? 256 : 128;
  work.corelets = corelets;
  return work;
}

// Few rows for each of 32 cores, which all take the same weights.
MatmulWork Group() {
  MatmulWork work = Square(4096, 32, 1, CoreletUse::kSameWeights);
  work.m = 512;
  work.tile_m = 16;
  work.tile_n = 256;
  return work;
}

VectorWork Add(uint64_t rows, uint64_t cols, uint64_t cores) {
  VectorWork work;
  work.loop = VectorLoop::kBinary;
  work.cores = cores;
  work.elements = rows * cols;
  work.bytes_read = rows * cols * 4;
  work.bytes_written = rows * cols * 2;
  return work;
}

TEST(KernelTime, AMatmulOnFourCoresTakesItsRowsAndItsWeightBlocks) {
  // Differences over k cancel all that is not the array: a block of 64 x 64 takes 8 cycles a row,
  // and 64 to be loaded.
  CardParameters card;
  MatmulWork work = Square(2048, 2, 2, CoreletUse::kSameWeights);
  const double short_ns = Ns(work, card);
  work.k *= 2;
  const double blocks = 1024.0 * 1024 * 2048 / (256 * 64 * 64);  // of a core, with 256 rows each
  const double cycles = blocks * (128 * 8 + 64);
  EXPECT_NEAR(Ns(work, card) - short_ns, cycles * 1000 / static_cast<double>(card.clock.core_mhz),
              1)
      << "ns that 2048 elements of k more take";
}

TEST(KernelTime, OwnWeightsForEachCoreletTakeLongerToLoad) {
  EXPECT_GT(Ns(Square(2048, 2, 2, CoreletUse::kOwnWeights)),
            1.02 * Ns(Square(2048, 2, 2, CoreletUse::kSameWeights)));
  MatmulWork one = Square(2048, 2, 2, CoreletUse::kSameWeights);
  one.corelets = CoreletUse::kOne;
  EXPECT_GT(Ns(one), 1.8 * Ns(Square(2048, 2, 2, CoreletUse::kSameWeights)));
}

TEST(KernelTime, SmallTilesOnManyCoresAreBoundByMemory) {
  MatmulWork work = Square(8192, 8, 4, CoreletUse::kSameWeights);
  EXPECT_EQ(TimeOf(work, {}).bound, FormulaBound::kMemory);
  const KernelTime small = TimeOf(work, {});
  work.tile_m = work.tile_n = 1024;
  const KernelTime large = TimeOf(work, {});
  EXPECT_EQ(large.bound, FormulaBound::kArray);
  EXPECT_LT(large.bytes_read, small.bytes_read / 4) << "operands pass once for each tile";
  EXPECT_EQ(small.macs, 8192ull * 8192 * 8192);
}

TEST(KernelTime, OneGroupOfAllCoresWaitsForItsStream) {
  EXPECT_EQ(TimeOf(Group(), {}).bound, FormulaBound::kStream);
}

TEST(KernelTime, ASmallerGroupIsNearerSoThatItsStreamIsFaster) {
  MatmulWork work = Group();
  const double all_ns = Ns(work);
  work.m_parts = 8;
  work.m = 128;  // as many rows a core
  EXPECT_EQ(TimeOf(work, {}).bound, FormulaBound::kStream);
  EXPECT_LT(Ns(work), 0.96 * all_ns);
}

TEST(KernelTime, TheFirstChunkIsLoadedWholeWhateverIsLeftOfK) {
  // 7 sticks of k pass in chunks of 4 and 3. One tile waits for the loads of both.
  MatmulWork work;
  work.m = 64;
  work.n = 128;
  work.k_parts = 16;
  work.n_parts = 2;
  work.k = uint64_t{16} * 7 * 64;
  work.tile_m = work.tile_n = 64;
  const CardParameters card;
  const KernelTime time = TimeOf(work, card);
  EXPECT_GT(time.ns, time.start_ns + time.load_ns);
  const double seven_ns = time.ns;
  work.k = uint64_t{16} * 8 * 64;
  EXPECT_NEAR(Ns(work, card) / seven_ns, 8.0 / 7, 0.06);
}

TEST(KernelTime, WhileOneSideOfTheRingLimitsLoadsMemoryTakesTheStores) {
  // 16 cores, each with rows of its own: a tile's loads leave memory the time for its store.
  MatmulWork work;
  work.m = 2048;
  work.k = 512;
  work.n = 128 * 9;
  work.m_parts = 16;
  work.tile_m = work.tile_n = 128;
  work.corelets = CoreletUse::kOwnWeights;
  const KernelTime on_one_side = TimeOf(work, {});
  EXPECT_EQ(on_one_side.bound, FormulaBound::kHalfRing);
  EXPECT_LT(on_one_side.exposed_store_ns, 0.3 * on_one_side.store_ns);
  work.m *= 2;
  work.m_parts = 32;
  const KernelTime on_both = TimeOf(work, {});
  EXPECT_GT(on_both.exposed_store_ns, on_both.store_ns);
}

TEST(KernelTime, LoadsOfOneSideOfTheRingAreLimitedAndStoresAreNot) {
  VectorWork load = Add(2048, 1024, 8);
  load.loop = VectorLoop::kNone;
  load.bytes_written = 0;
  EXPECT_EQ(TimeOf(load, {}).bound, FormulaBound::kHalfRing);
  VectorWork store = load;
  store.bytes_written = load.bytes_read;
  store.bytes_read = 0;
  EXPECT_LT(Ns(store), 0.8 * Ns(load));
}

TEST(KernelTime, ShortLoopsPayForTheirStarts) {
  VectorWork work = Add(4096, 1024, 1);
  work.loop = VectorLoop::kReduce;
  work.loop_sticks = 128;
  const double long_ns = TimeOf(work, {}).loop_ns;
  work.loop_sticks = 64;
  EXPECT_GT(TimeOf(work, {}).loop_ns, 1.2 * long_ns);
}

TEST(KernelTime, AnOperandInLxDoesNotPassTheMemory) {
  MatmulWork work = Square(2048, 8, 4, CoreletUse::kSameWeights);
  const KernelTime in_memory = TimeOf(work, {});
  work.a_in_lx = work.out_in_lx = true;
  const KernelTime in_lx = TimeOf(work, {});
  EXPECT_LT(in_lx.ns, in_memory.ns);
  EXPECT_EQ(in_lx.bytes_written, 0u);
}

// A matmul on 4 x 8 cores whose operands and results are sticks so many bytes apart.
MatmulWork Scattered(uint64_t spacing) {
  MatmulWork work = Square(2048, 4, 8, CoreletUse::kOwnWeights);
  work.batch = 4;
  work.a_runs = work.b_runs = {128, spacing};
  return work;
}

// Measured are 11.2 to 11.5 ns for each stick of batches that are apart, and half of it where two
// sticks lie within the window that requests of one instruction share.
TEST(KernelTime, EachStickOfAnInnermostBatchHasTheMemoryStopForItself) {
  const CardParameters card;
  const double ns_of_stick = static_cast<double>(card.ring.multicast_request_ps) / 1000;
  for (const uint64_t spacing : {512, 1024, 2048}) {
    const KernelTime time = TimeOf(Scattered(spacing), card);
    const double sticks = static_cast<double>(time.bytes_read) / 128;
    EXPECT_NEAR(time.load_ns / sticks, ns_of_stick, 0.4) << spacing << " bytes apart";
    EXPECT_EQ(time.bound, FormulaBound::kMulticastStop);
    EXPECT_NEAR(time.ns, time.load_ns, 0.03 * time.ns);
  }
  // With so many groups none waits for its own requests.
  MatmulWork near = Scattered(256);
  near.m_parts = near.n_parts = 16;
  near.m = near.n = 16 * 512;
  const KernelTime time = TimeOf(near, card);
  EXPECT_NEAR(time.load_ns / (static_cast<double>(time.bytes_read) / 128), ns_of_stick / 2, 0.2);
}

// So do those of one core. Without that, it asks for one after the other, and has as many under way
// as four bursts have bytes.
TEST(KernelTime, SticksOfOneCoreTakeTheirTurnsToo) {
  MatmulWork work = Scattered(1024);
  work.m_parts = work.n_parts = 1;
  CardParameters card;
  const auto ns_of_stick = [&] {
    const KernelTime time = TimeOf(work, card);
    return time.load_ns / (static_cast<double>(time.bytes_read) / 128);
  };
  EXPECT_EQ(TimeOf(work, card).bound, FormulaBound::kMulticastStop);
  EXPECT_NEAR(ns_of_stick(), static_cast<double>(card.ring.multicast_request_ps) / 1000, 0.4);
  card.ring.multicast_request_ps = 0;
  const double cycle_ns = 1000 / static_cast<double>(card.clock.core_mhz);
  EXPECT_NEAR(ns_of_stick(), static_cast<double>(card.mmu.translate_cycles + 1) * cycle_ns, 0.1);
  card.memory.controller_ns += 10'000;
  const double far_ns = ns_of_stick();
  EXPECT_NEAR(far_ns, 10'000.0 / 128, 0.1 * far_ns) << "of 128 sticks in 16 KiB";
  card.core.outstanding_loads *= 2;
  EXPECT_NEAR(ns_of_stick(), far_ns / 2, 0.02 * far_ns);
}

TEST(KernelTime, ScatteredResultsWaitForTheirWayAndForOldCheckBytes) {
  MatmulWork work = Square(2048, 4, 8, CoreletUse::kOwnWeights);
  work.k = 64;
  const KernelTime whole = TimeOf(work, {});
  work.out_runs = {128, 1024};
  const KernelTime scattered = TimeOf(work, {});
  EXPECT_GT(scattered.store_ns, 2 * whole.store_ns);
  EXPECT_GT(scattered.ns, 1.5 * whole.ns);
  CardParameters card;
  card.memory.ecc_partial_write = EccPartialWrite::kMasked;
  EXPECT_NEAR(TimeOf(work, card).store_ns, whole.store_ns, 1) << "ns, without a read before";
}

// Slices that are not of one length: what is not there is not loaded.
TEST(KernelTime, UnevenSlicesBringWhatThereIs) {
  MatmulWork work = Scattered(1024);
  work.tile_n = 128;
  work.n = 12 * 64;  // two sticks for the first four of eight cores, one for the others
  const KernelTime uneven = TimeOf(work, {});
  const uint64_t a = work.batch * work.m * work.k, b = work.batch * work.k * work.n;
  EXPECT_NEAR(static_cast<double>(uneven.bytes_read), static_cast<double>(2 * (a + 4 * b)),
              0.01 * static_cast<double>(uneven.bytes_read))
      << "b once for each of four tiles of rows";
}

TEST(KernelTime, PointwiseWorkIsBoundByMemoryOn32CoresAndByItsLoopOnOne) {
  EXPECT_EQ(TimeOf(Add(8192, 4096, 32), {}).bound, FormulaBound::kMemory);
  EXPECT_EQ(TimeOf(Add(8192, 4096, 1), {}).bound, FormulaBound::kVectorLoop);
  EXPECT_EQ(TimeOf(Add(1, 64, 1), {}).bound, FormulaBound::kStart);
}

// A tile is loaded when the loop has left the one before the last: of one core, each tile of 16
// sticks takes half of its load and its loop, but for the start and the end of a kernel.
TEST(KernelTime, SmallTilesWaitForTheirLoads) {
  const CardParameters card;
  VectorWork work = Add(4096, 1024, 1);
  work.loop = VectorLoop::kUnary;
  work.bytes_read = work.bytes_written;
  work.loop_sticks = 16;
  const KernelTime time = TimeOf(work, card);
  EXPECT_EQ(time.bound, FormulaBound::kStream);
  CardParameters far = card;
  far.memory.controller_ns += 100;
  const double tiles = 4096.0 * 1024 / 64 / 16;
  const double refresh =
      1 - static_cast<double>(card.memory.t_rfc_ab_ps) / static_cast<double>(card.memory.t_refi_ps);
  EXPECT_NEAR(TimeOf(work, far).loop_ns - time.loop_ns, tiles * 100 / 2 / refresh, tiles)
      << "ns that 100 ns more to memory take";
  work.loop_sticks = 64;
  EXPECT_LT(Ns(work), 0.6 * time.ns);
}

// Of tiles of 5 sticks each second block of check bytes is written in part.
TEST(KernelTime, TilesThatEndWithinABlockOfCheckBytesHaveTheOldOnesRead) {
  VectorWork work = Add(8192, 4096, 32);
  work.loop_sticks = 60;
  work.store_runs = {5 * 128, 0};
  const double partial_ns = Ns(work);
  work.store_runs = {4 * 128, 0};
  EXPECT_GT(partial_ns, 1.15 * Ns(work));
}

// Loops over what is in LX are no longer than two of its axes.
TEST(KernelTime, ShortLoopsInLxPayForTheirStartsToo) {
  VectorWork work = Add(4096, 1024, 1);
  work.loop = VectorLoop::kReduce;
  work.bytes_read = work.bytes_written = 0;
  const double one_ns = TimeOf(work, {}).loop_ns;
  work.loop_sticks = 16;
  work.round_rows = 8;
  EXPECT_GT(TimeOf(work, {}).loop_ns, 4 * one_ns);
}

TEST(KernelTime, RunsBelowAKibibyteAreSlower) {
  VectorWork work = Add(8192, 4096, 32);
  const double whole = Ns(work);
  work.run_bytes = 1024;
  EXPECT_EQ(Ns(work), whole);
  work.run_bytes = 256;
  EXPECT_GT(Ns(work), 1.7 * whole);
}

// Each parameter moves the kernels whose mechanism it is, and no other.
TEST(KernelTime, EachParameterMovesItsOwnKernelsOnly) {
  const KernelWork matmul = Square(2048, 2, 2, CoreletUse::kSameWeights);
  const KernelWork wide = Square(2048, 2, 2, CoreletUse::kOwnWeights);
  const KernelWork group = Group();
  const KernelWork add = Add(8192, 4096, 32), few = Add(8192, 4096, 8);
  VectorWork sum = Add(8192, 4096, 8);
  sum.loop = VectorLoop::kReduce;
  sum.bytes_written = uint64_t{8192} * 128;  // a stick for each row
  const KernelWork reduction = sum;
  const std::vector<std::pair<const char*, KernelWork>> kernels = {
      {"matmul", matmul}, {"wide", wide}, {"group", group},        {"sticks", Scattered(1024)},
      {"add", add},       {"few", few},   {"reduction", reduction}};
  struct Case {
    const char* key;
    std::function<void(CardParameters&)> change;
    std::string moves;
  };
  const std::vector<Case> cases = {
      {"start_ns", [](auto& c) { c.fast.start_ns += 100; },
       "matmul wide group sticks add few reduction "},
      {"pt_block_load_cycles", [](auto& c) { c.core.pt_block_load_cycles *= 2; }, "matmul group "},
      {"pt_block_load_split_cycles", [](auto& c) { c.core.pt_block_load_split_cycles *= 2; },
       "wide sticks "},
      {"multicast_request_ps", [](auto& c) { c.ring.multicast_request_ps *= 2; }, "group sticks "},
      // Of the others, the first load, which nothing hides.
      {"stream_mb_per_s", [](auto& c) { c.fast.stream_mb_per_s *= 2; }, "matmul wide group "},
      {"half_ring_reduce_mb_per_s", [](auto& c) { c.fast.half_ring_reduce_mb_per_s *= 2; },
       "reduction "},
      {"few_cores_permille", [](auto& c) { c.fast.few_cores_permille = 2000; }, "few "},
      {"vector_loop_binary", [](auto& c) { c.core.vector_loop_binary_centicycles *= 2; },
       "add few "},
      {"vector_loop_reduce", [](auto& c) { c.core.vector_loop_reduce_centicycles *= 2; },
       "reduction "},
  };
  for (const Case& c : cases) {
    CardParameters changed;
    c.change(changed);
    std::string moved;
    for (const auto& [name, work] : kernels)
      if (std::abs(Ns(work, changed) - Ns(work)) > 1e-6) moved += std::string(name) + " ";
    EXPECT_EQ(moved, c.moves) << c.key;
  }
}

}  // namespace
}  // namespace spyre::model::formula_test
