// SPDX-License-Identifier: Apache-2.0
// Matmul kernels whose sums go from launch to launch: bit for bit what one launch over the whole k
// gives with the same work division.
#include "runtime/compiler/kernels/accumulation.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "tests/unit/runtime/compiler/codegen/kernel_harness.h"

namespace spyre::compiler::harness::accumulation_test {
namespace {

constexpr uint64_t kCorrectionLx = 1024;  // that program correction uses, on core 0

// a[m, k] and b[k, n] in device memory, and a launch for each part of k.
class Sequence {
 public:
  Sequence(int64_t m, int64_t k, int64_t n, uint32_t seed) : m_(m), k_(k), n_(n), seed_(seed) {
    std::mt19937 random(seed);
    const Shape shapes[] = {{m, k}, {k, n}, {m, n}};
    for (int i = 0; i < 3; ++i) {
      places_.push_back({DefaultLayout(shapes[i], DataFormat::kSen169Fp16), {0, 0}});
      PlacedTensor& place = places_.back();
      place.base = SegmentAddress(static_cast<unsigned>(i), 4096);
      const int64_t bytes = place.layout.DeviceBytes();
      memory_.Add(place.base, static_cast<uint64_t>(bytes));
      std::memset(memory_.At(place.base, bytes), 0x7F, bytes);
      if (i == 2) continue;
      values_.push_back(RandomValues(shapes[i], random));
      for (int64_t e = 0; e < Elements(shapes[i]); ++e) {
        std::memcpy(memory_.At(place.ByteOf(IndexOf(e, shapes[i])), 2), &values_[i][e], 2);
      }
    }
  }

  // The kernel works on `first` of the whole k, counted inside each slice.
  void Launch(const Kernel& kernel, int64_t first, bool carried, bool final) {
    const KernelAccumulation& sums = kernel.accumulation;
    if (!workspace_made_ && sums.workspace_bytes > 0) {
      memory_.Add(kWorkspace, sums.workspace_bytes);
      workspace_made_ = true;
    }
    const std::vector<uint8_t> image = Encode(kernel.compute);
    Program program = Decode(image.data(), image.size());
    const Shape origins[] = {{0, first}, {first, 0}, {0, 0}};
    for (size_t i = 0; i < 3; ++i) {
      PlacedTensor place = places_[i];
      place.origin = origins[i];
      program.address_table[8 * i] = place.ByteOf({0, 0});
      for (int d = 0; d < 2; ++d) {
        program.address_table[8 * i + 1 + static_cast<size_t>(d)] =
            static_cast<uint64_t>(place.layout.DeviceByteStride(d));
      }
    }
    const auto set = [&](AccumulationEntry entry, uint64_t value) {
      program.address_table[24 + static_cast<size_t>(entry)] = value;
    };
    set(AccumulationEntry::kWorkspace, kWorkspace);
    set(AccumulationEntry::kCarried, carried ? 1 : 0);
    set(AccumulationEntry::kFinal, final ? 1 : 0);
    set(AccumulationEntry::kSpacing, static_cast<uint64_t>(k_ / sums.slices / sums.unit));
    Interpreter card(program, memory_, seed_++);
    if (sums.home == Accumulator::kLx && carried) {
      for (int core = 0; core < kMaxCores; ++core) card.GiveLx(core, std::move(lx_[core]));
    }
    card.Run();
    for (int core = 0; core < kMaxCores; ++core) lx_[core] = card.TakeLx(core);
    for (size_t i = 0; i < std::min<size_t>(kCorrectionLx, lx_[0].bytes.size()); ++i) {
      lx_[0].bytes[i] = 0x7F;
      lx_[0].written[i] = false;
    }
  }

  uint16_t Mark(int core) {
    return *reinterpret_cast<uint16_t*>(memory_.At(kWorkspace + 128ull * core, 2));
  }

  void ExpectProduct(int slices) {
    for (int64_t e = 0; e < m_ * n_; ++e) {
      uint16_t got = 0;
      std::memcpy(&got, memory_.At(places_[2].ByteOf({e / n_, e % n_}), 2), 2);
      const float expected = FoldSliced(ReduceFn::kSum, k_, 64, slices, [&](int64_t kk) {
        return DlfToFloat(values_[0][e / n_ * k_ + kk]) * DlfToFloat(values_[1][kk * n_ + e % n_]);
      });
      ASSERT_EQ(got, DlfFromFloat(expected)) << "element " << e << ", k " << k_;
    }
  }

 private:
  static constexpr uint64_t kWorkspace = SegmentAddress(5, 4096);
  int64_t m_, k_, n_;
  uint32_t seed_;
  Memory memory_;
  std::vector<PlacedTensor> places_;
  std::vector<Values> values_;
  std::array<Interpreter::LxState, kMaxCores> lx_;
  bool workspace_made_ = false;
};

KernelSpec Matmul(int64_t m, int64_t k, int64_t n, Accumulator home) {
  KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", m}, {"k", k}, {"n", n}};
  spec.accumulator = home;
  return spec;
}

// k in tiles of `tile`, the last shorter if that is what remains.
void CheckSequence(KernelSpec spec, int64_t k, uint32_t seed) {
  const int64_t m = spec.dims["m"], tile = spec.dims["k"], n = spec.dims["n"];
  SCOPED_TRACE(fmt::format("{} m {} n {} k {} in tiles of {}, cores {}, split k {}, lx {}, seed {}",
                           Name(spec.accumulator), m, n, k, tile, spec.cores,
                           spec.split.count("k") ? spec.split.at("k") : 1, spec.lx_bytes, seed));
  try {
    const Kernel kernel = GenerateKernel(spec);
    Sequence sequence(m, k, n, seed);
    const int slices = kernel.accumulation.slices;
    for (int64_t first = 0; first < k; first += tile) {
      const bool last = first + tile >= k;
      const int64_t rest = k - first;
      if (rest >= tile) {
        sequence.Launch(kernel, first / slices, first > 0, last);
        continue;
      }
      KernelSpec shorter = spec;
      shorter.dims["k"] = rest;
      shorter.split = kernel.plan.split;
      shorter.tile = {{"m", kernel.plan.tile.at("m")}, {"n", kernel.plan.tile.at("n")}};
      sequence.Launch(GenerateKernel(shorter), first / slices, first > 0, true);
    }
    sequence.ExpectProduct(slices);
  } catch (const std::exception& error) {
    FAIL() << error.what();
  }
}

TEST(Accumulation, GivesTheBitsOfOneLaunchForRandomShapes) {
  std::mt19937 random(7);
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (uint32_t run = 0; run < 40; ++run) {
    KernelSpec spec = Matmul(from(1, 40), 64 * from(1, 4), from(1, 200),
                             run % 2 == 0 ? Accumulator::kDevice : Accumulator::kLx);
    spec.cores = static_cast<int>(from(1, 12));
    spec.split = {{"m", static_cast<int>(from(1, std::min<int64_t>(spec.cores, spec.dims["m"])))}};
    spec.lx_bytes = static_cast<uint64_t>(from(120, 400)) * 1024;
    CheckSequence(spec, from(1, 700), run);
    if (HasFatalFailure()) return;
  }
}

TEST(Accumulation, OfADividedKGivesTheBitsOfOneLaunchWithThatDivision) {
  for (const Accumulator home : {Accumulator::kDevice, Accumulator::kLx}) {
    for (const int slices : {2, 4}) {
      KernelSpec spec = Matmul(20, 256, 130, home);
      spec.cores = 8;
      spec.split = {{"k", slices}, {"m", 2}};
      CheckSequence(spec, 1024, 3);
      CheckSequence(spec, 256, 4);
      CheckSequence(spec, 768 + 64 * slices, 5);
    }
  }
}

TEST(Accumulation, OfOneLaunchTouchesNoWorkspace) {
  for (const Accumulator home : {Accumulator::kDevice, Accumulator::kLx}) {
    KernelSpec spec = Matmul(64, 128, 128, home);
    Kernel kernel = GenerateKernel(spec);
    kernel.accumulation.workspace_bytes = 0;  // the interpreter refuses what is not there
    Sequence sequence(64, 128, 128, 1);
    sequence.Launch(kernel, 0, false, true);
    sequence.ExpectProduct(1);
  }
}

TEST(Accumulation, InLxShowsItsMarkInTheLastLaunch) {
  KernelSpec spec = Matmul(64, 128, 128, Accumulator::kLx);
  spec.cores = 4;
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_EQ(kernel.accumulation.workspace_bytes, 4u * 128);
  Sequence sequence(64, 256, 128, 1);
  sequence.Launch(kernel, 0, false, false);
  sequence.Launch(kernel, 128, true, true);
  for (int core = 0; core < 4; ++core) EXPECT_EQ(sequence.Mark(core), kAccumulatorMark);
}

TEST(Accumulation, InLxLiesAtTheSamePlaceBehindAnyK) {
  KernelSpec spec = Matmul(100, 512, 256, Accumulator::kLx);
  const Kernel whole = GenerateKernel(spec);
  spec.dims["k"] = 100;
  spec.split = whole.plan.split;
  spec.tile = {{"m", whole.plan.tile.at("m")}, {"n", whole.plan.tile.at("n")}};
  const Kernel rest = GenerateKernel(spec);
  EXPECT_EQ(whole.compute.lx_bytes, rest.compute.lx_bytes);
  EXPECT_EQ(whole.plan.tile.at("m"), rest.plan.tile.at("m"));
  EXPECT_EQ(whole.plan.tile.at("n"), rest.plan.tile.at("n"));
}

void ExpectRefused(const KernelSpec& spec, const std::string& part) {
  try {
    GenerateKernel(spec);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Accumulation, IsRefusedWithTheBytesThatItNeeds) {
  KernelSpec spec = Matmul(4096, 64, 4096, Accumulator::kLx);
  spec.cores = 1;
  ExpectRefused(spec, "4096 rows by 4096 columns, need 67108864 bytes of LX");
  spec = Matmul(64, 192, 64, Accumulator::kDevice);
  spec.split = {{"k", 2}};
  ExpectRefused(spec, "that needs a multiple of 128, or split.k = 1");
  spec = Matmul(64, 192, 64, Accumulator::kNone);
  spec.tile = {{"m", 64}};
  ExpectRefused(spec, "no accumulator");
  spec.accumulator = Accumulator::kDevice;
  spec.tile = {{"k", 64}};
  ExpectRefused(spec, "m and n can be");
  spec.tile = {{"m", 65}};
  ExpectRefused(spec, "it must be 1 to");
  spec = KernelSpec();
  spec.op = "sum";
  spec.dims = {{"rows", 8}, {"cols", 64}};
  spec.accumulator = Accumulator::kDevice;
  ExpectRefused(spec, "only a matmul");
}

}  // namespace
}  // namespace spyre::compiler::harness::accumulation_test
