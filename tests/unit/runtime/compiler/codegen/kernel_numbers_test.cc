// SPDX-License-Identifier: Apache-2.0
// What generated programs compute, bit for bit, over random sizes, splits, layouts and LX sizes.
// Small LX sizes make every loop of a kernel turn several times.
#include <gtest/gtest.h>

#include "runtime/compiler/codegen/generate_kernel.h"
#include "tests/unit/runtime/compiler/codegen/kernel_harness.h"

namespace spyre::compiler::harness::kernel_numbers_test {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  int64_t From(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance(int percent) { return From(1, 100) <= percent; }
  int64_t DivisorOf(int64_t size, int64_t most) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= std::min(size, most); ++d) {
      if (size % d == 0) divisors.push_back(d);
    }
    return divisors[From(0, static_cast<int64_t>(divisors.size()) - 1)];
  }
  // Parts of `units`: equal ones, or as it comes.
  int64_t Split(int64_t units, int64_t most) {
    return Chance(50) ? DivisorOf(units, most) : From(1, std::min(units, most));
  }

 private:
  std::mt19937 random_;
};

StickLayout Layout(const Shape& shape, const std::vector<int>& order) {
  return MakeLayout(shape, ContiguousStrides(shape), DataFormat::kSen169Fp16, order);
}

// A random forced split of every dimension in `units`.
void RandomSplit(Random& random, const std::map<std::string, int64_t>& units, KernelSpec& spec) {
  int64_t left = spec.cores;
  for (const auto& [name, count] : units) {
    const int64_t split = random.Split(count, left);
    spec.split[name] = static_cast<int>(split);
    left /= split;
  }
}

int64_t Sticks(int64_t size) { return (size + 63) / 64; }

TEST(MatmulNumbers, AreExactForRandomShapesSplitsAndLxSizes) {
  Random random(1);
  for (uint32_t run = 0; run < 200; ++run) {
    KernelSpec spec;
    spec.op = "matmul";
    const int64_t m = random.From(1, 40), k = random.From(1, 500), n = random.From(1, 330);
    spec.dims = {{"m", m}, {"k", k}, {"n", n}};
    spec.cores = static_cast<int>(random.From(1, 32));
    if (random.Chance(70))
      RandomSplit(random, {{"m", m}, {"k", Sticks(k)}, {"n", Sticks(n)}}, spec);
    spec.lx_bytes = random.Chance(20) ? kLxUsableBytes : random.From(40, 400) * 1024;
    CheckKernel(spec, run);
  }
}

TEST(MatmulNumbers, AreExactForBatchesInEveryLayout) {
  Random random(2);
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {1, 0, 2}};
  for (uint32_t run = 0; run < 150; ++run) {
    KernelSpec spec;
    spec.op = "bmm";
    const int64_t b = random.From(1, 5), m = random.From(1, 20), k = random.From(1, 300),
                  n = random.From(1, 200);
    spec.dims = {{"batch", b}, {"m", m}, {"k", k}, {"n", n}};
    spec.cores = static_cast<int>(random.From(1, 32));
    if (random.Chance(60)) {
      RandomSplit(random, {{"batch", b}, {"m", m}, {"k", Sticks(k)}, {"n", Sticks(n)}}, spec);
    }
    spec.lx_bytes = random.From(40, 300) * 1024;
    spec.layouts = {Layout({b, m, k}, orders[random.From(0, 1)]),
                    Layout({b, k, n}, orders[random.From(0, 1)]),
                    Layout({b, m, n}, orders[random.From(0, 1)])};
    CheckKernel(spec, run);
  }
}

TEST(MatmulNumbers, AddPartialSumsOfADividedKInTheOrderOfTheSlices) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    KernelSpec spec;
    spec.op = "matmul";
    // The public schedule, of these seeds, sends the sums of a large tile in pieces.
    spec.dims = {{"m", seed % 4 < 2 ? 5 : 70}, {"k", 8 * 64 - 17}, {"n", 300}};
    spec.split = {{"k", seed % 2 == 0 ? 8 : 4}, {"m", seed % 3 == 0 ? 5 : 1}};
    spec.k_fast = seed % 4 < 2;
    spec.lx_bytes = 48 * 1024;
    if (spec.split["k"] * spec.split["m"] > 32) spec.split["m"] = 1;
    CheckKernel(spec, seed);
  }
}

TEST(MatmulNumbers, AreTheSameForATileInsideABiggerTensor) {
  Random random(3);
  for (uint32_t run = 0; run < 60; ++run) {
    KernelSpec spec;
    spec.op = "matmul";
    spec.dims = {{"m", 12}, {"k", 192}, {"n", 128}};
    spec.cores = 8;
    spec.lx_bytes = 64 * 1024;
    const Kernel kernel = GenerateKernel(spec);
    std::mt19937 values(run);
    const std::vector<Values> inputs = {RandomValues({12, 192}, values),
                                        RandomValues({192, 128}, values)};
    const int64_t k_before = random.From(0, 2), n_before = random.From(0, 2);
    const Shape a{12 + random.From(0, 9), 192 + 64 * k_before + random.From(0, 70)};
    const Shape b{192 + 64 * k_before + random.From(0, 9),
                  128 + 64 * n_before + random.From(0, 70)};
    const Shape out{12 + random.From(0, 9), 128 + 64 * n_before + random.From(0, 70)};
    const std::vector<PlacedTensor> places = {{Layout(a, {0, 1}), {a[0] - 12, 64 * k_before}},
                                              {Layout(b, {0, 1}), {64 * k_before, 64 * n_before}},
                                              {Layout(out, {0, 1}), {out[0] - 12, 64 * n_before}}};
    EXPECT_EQ(RunKernel(kernel, inputs, run, places), Expected(spec, kernel, inputs)) << run;
  }
}

KernelSpec RandomElementwise(Random& random, const std::string& op) {
  KernelSpec spec;
  spec.op = op;
  Shape shape;
  std::map<std::string, int64_t> units;
  const int64_t rank = random.From(1, 3);
  if (rank == 3) spec.dims["batch"] = random.From(1, 6);
  if (rank >= 2) spec.dims["rows"] = random.From(1, 90);
  spec.dims["cols"] = random.From(1, 400);
  spec.cores = static_cast<int>(random.From(1, 32));
  for (const char* name : {"batch", "rows", "cols"}) {
    if (spec.dims.count(name) == 0) continue;
    units[name] = std::string(name) == "cols" ? Sticks(spec.dims[name]) : spec.dims[name];
  }
  if (op == "softmax") units["cols"] = 1;
  if (random.Chance(50)) RandomSplit(random, units, spec);
  spec.lx_bytes = random.From(20, 120) * 1024;
  return spec;
}

TEST(PointwiseNumbers, AreExactForEveryOperation) {
  Random random(4);
  uint32_t run = 0;
  for (const Operation& op : Operations()) {
    if (op.kind != OperationKind::kUnary && op.kind != OperationKind::kBinary) continue;
    for (int repeat = 0; repeat < 20; ++repeat) {
      CheckKernel(RandomElementwise(random, std::string(op.name)), ++run);
    }
  }
}

TEST(PointwiseNumbers, AreExactWhereTheArgumentsLieDifferently) {
  Random random(5);
  for (uint32_t run = 0; run < 150; ++run) {
    KernelSpec spec;
    spec.op = run % 2 == 0 ? "sub" : "neg";
    const Shape shape{random.From(1, 7), random.From(1, 40), random.From(1, 200)};
    spec.dims = {{"batch", shape[0]}, {"rows", shape[1]}, {"cols", shape[2]}};
    spec.lx_bytes = random.From(4, 64) * 1024;
    const int last = static_cast<int>(random.From(0, 2));
    for (int i = 0; i < (run % 2 == 0 ? 3 : 2); ++i) {
      std::vector<int> order = {(last + 1) % 3, (last + 2) % 3, last};
      if (random.Chance(50)) std::swap(order[0], order[1]);
      spec.layouts.push_back(Layout(shape, order));
    }
    CheckKernel(spec, run);
  }
}

TEST(ReductionNumbers, AreExactAlongEveryAxisAndSplit) {
  Random random(6);
  std::vector<std::string> reductions;
  for (const Operation& op : Operations())
    if (op.kind == OperationKind::kReduction) reductions.emplace_back(op.name);
  for (uint32_t run = 0; run < 400; ++run) {
    KernelSpec spec = RandomElementwise(random, reductions[run % reductions.size()]);
    std::vector<std::string> axes;
    for (const auto& [name, size] : spec.dims) axes.push_back(name);
    spec.axis = axes[random.From(0, static_cast<int64_t>(axes.size()) - 1)];
    CheckKernel(spec, run);
  }
}

TEST(ReductionNumbers, OfLongRowsAndColumnsComeFromSeveralTiles) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    KernelSpec spec;
    spec.op = seed % 2 == 0 ? "sum" : "mean";
    spec.dims = {{"rows", seed % 4 < 2 ? 1000 : 3}, {"cols", seed % 4 < 2 ? 90 : 3000}};
    spec.axis = seed % 4 < 2 ? "rows" : "cols";
    spec.split = {{spec.axis, seed < 6 ? 1 : (spec.axis == "rows" ? 4 : 47)}};
    if (spec.split[spec.axis] == 47) spec.split[spec.axis] = 1;
    spec.lx_bytes = 20 * 1024;
    CheckKernel(spec, seed);
  }
}

// Slices of different length with tiles of one unit, of half a slice, of a whole one; with the last
// stick of a dimension broken; with groups that share loads while a member has nothing left.
TEST(UnevenNumbers, AreExactWhereTheUnitsOfADimensionDoNotDivide) {
  for (uint32_t seed = 0; seed < 2; ++seed) {
    KernelSpec spec;
    spec.op = "matmul";
    spec.dims = {{"m", 17}, {"k", 7 * 64 - 13}, {"n", 9 * 64 - 50}};
    for (const std::map<std::string, int>& split : {std::map<std::string, int>{{"n", 8}},
                                                    {{"n", 4}, {"m", 3}},
                                                    {{"k", 5}},
                                                    {{"k", 2}},
                                                    {{"k", 3}, {"m", 5}, {"n", 2}},
                                                    {{"m", 16}, {"n", 2}}}) {
      spec.split = split;
      for (const int64_t lx : {20, 100}) {
        spec.lx_bytes = lx * 1024;
        CheckKernel(spec, seed);
      }
    }
    spec.op = "bmm";
    spec.dims["batch"] = 3;
    spec.split = {{"batch", 2}, {"m", 3}, {"n", 2}, {"k", 2}};
    CheckKernel(spec, seed);
    spec = KernelSpec();
    spec.dims = {{"batch", 5}, {"rows", 21}, {"cols", 64 * 11 - 9}};
    spec.split = {{"batch", 2}, {"rows", 4}, {"cols", 3}};
    spec.lx_bytes = 20 * 1024;
    for (const char* op : {"gelu", "add", "sum", "amax", "mean"}) {
      spec.op = op;
      for (const char* axis : {"cols", "rows", "batch"}) {
        spec.axis = axis;
        CheckKernel(spec, seed);
      }
    }
    spec.op = "softmax";
    spec.axis = "cols";
    spec.split = {{"batch", 2}, {"rows", 4}};
    CheckKernel(spec, seed);
  }
}

TEST(UnevenNumbers, CoresWithoutAStickAreLeftOut) {
  KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", 6}, {"k", 100}, {"n", 256}};
  spec.split = {{"m", 4}, {"n", 8}};
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_EQ(kernel.plan.split, (std::map<std::string, int>{{"m", 4}, {"k", 1}, {"n", 4}}));
  EXPECT_EQ(kernel.plan.cores_used, 16);
  EXPECT_EQ(kernel.compute.core_mask, 0xFFFFu);
  CheckKernel(spec, 1);
  spec.split = {{"k", 32}};
  CheckKernel(spec, 2);
}

TEST(SoftmaxNumbers, RoundEveryIntermediate) {
  Random random(7);
  for (uint32_t run = 0; run < 150; ++run) CheckKernel(RandomElementwise(random, "softmax"), run);
}

TEST(SoftmaxNumbers, AreExactWithOneBufferPerRow) {
  KernelSpec spec;
  spec.op = "softmax";
  spec.dims = {{"rows", 6}, {"cols", 1000}};
  spec.cores = 2;
  spec.lx_bytes = 2 * 16 * 128 + 256;  // a row as input and as result, once each
  CheckKernel(spec, 1);
}

}  // namespace
}  // namespace spyre::compiler::harness::kernel_numbers_test
