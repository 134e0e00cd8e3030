// SPDX-License-Identifier: Apache-2.0
// The reference of bundles: executed from addresses, it gives what the references of single
// operations give, and what real arithmetic says.
#include "cosim/reference/bundle_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "base/error.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/reference.h"
#include "cosim/tensors/reference_numbers.h"
#include "model/contract/memory_map.h"
#include "tests/unit/cosim/reference/bundle_builder.h"

namespace spyre::cosim::bundle_reference_test {
namespace {

using compiler::Bundle;
using test::BundleWithTensors;
using test::DscBuilder;

// Arguments with host tensors, run through the reference.
class Runner {
 public:
  explicit Runner(Bundle bundle) : bundle_(std::move(bundle)) {}

  void Add(const std::vector<int64_t>& shape, const std::vector<double>& values = {},
           DataFormat host = DataFormat::kIeeeFp16, bool sparse = false) {
    std::vector<int> order;
    for (size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<int>(d));
    if (sparse) order.push_back(-1);
    layouts_.push_back(MakeLayout(shape, ContiguousStrides(shape), DeviceFormatOf(host), order));
    hosts_.push_back(host);
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    HostData data(static_cast<size_t>(elements * HostFormatOf(host).bytes));
    for (size_t i = 0; i < values.size(); ++i)
      StoreHost(host, values[i], data.data(), static_cast<int64_t>(i));
    data_.push_back(std::move(data));
  }

  void Run(const std::vector<int64_t>& dimensions = {}) {
    std::vector<uint64_t> bytes;
    for (const StickLayout& layout : layouts_) bytes.push_back(layout.DeviceBytes());
    memory_ = std::make_unique<BundleMemory>(MakeMemory(bytes));
    for (size_t i = 0; i < layouts_.size(); ++i)
      memory_->image(static_cast<int>(i)) = ToDeviceImage(layouts_[i], hosts_[i], data_[i]);
    RunBundleReference(bundle_, dimensions, *memory_);
  }

  double Value(int argument, int64_t element) const {
    const HostData data =
        FromDeviceImage(layouts_[argument], hosts_[argument], memory_->image(argument));
    return HostValue(hosts_[argument], HostBits(hosts_[argument], data.data(), element));
  }
  double Ideal(int argument, const std::vector<int64_t>& index) const {
    const auto offsets = HostOffsets(layouts_[argument]);
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += offsets[d][index[d]];
    const DataFormat format = layouts_[argument].format;
    return memory_->Ideal(argument, at, format, DeviceElementBytes(format));
  }
  const HostData& data(int argument) const { return data_[argument]; }

 private:
  BundleMemory MakeMemory(const std::vector<uint64_t>& bytes) const {
    return BundleMemory(bytes, kMaxCores, 1 << 16, true);
  }
  Bundle bundle_;
  std::vector<StickLayout> layouts_;
  std::vector<DataFormat> hosts_;
  std::vector<HostData> data_;
  std::unique_ptr<BundleMemory> memory_;
};

std::vector<double> Values(int64_t count, double scale, int64_t salt) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(scale * std::sin(static_cast<double>(i * 37 + salt)));
  return values;
}

TEST(BundleReference, CoresAddTheirRowsAndColumns) {
  Bundle bundle = BundleWithTensors(3);
  DscBuilder add("add", {{"mb", 6, 0, 3}, {"out", 256, 0, 2}});
  for (int i = 0; i < 3; ++i) add.Hbm(i, {"mb", "out"}, "out");
  add.AppendTo(bundle, bundle.body);
  Runner run(bundle);
  run.Add({6, 256}, Values(6 * 256, 1, 1));
  run.Add({6, 256}, Values(6 * 256, 2, 2));
  run.Add({6, 256});
  run.Run();
  for (int64_t i = 0; i < 6 * 256; i += 7) {
    const double a = SenValue(SenOfHalf(NearestHalf(Values(6 * 256, 1, 1)[i])));
    const double b = SenValue(SenOfHalf(NearestHalf(Values(6 * 256, 2, 2)[i])));
    EXPECT_EQ(run.Value(2, i), HalfValue(HalfOfSen(NearestSen(double{float(a + b)})))) << i;
    EXPECT_EQ(run.Ideal(2, {i / 256, i % 256}), a + b);
  }
}

// The largest, or where they stand, by a loop over what is left for each rank.
TEST(BundleReference, TheLargestAreThoseOfALoopOverWhatIsLeft) {
  constexpr int64_t kRows = 4, kSearched = 12, kColumns = 100;
  std::vector<double> x;
  for (int64_t i = 0; i < kRows * kSearched * kColumns; ++i)
    x.push_back(static_cast<double>(i * 7919 % 1009 % 9 - 4) / 4);
  for (const auto& [op, ranks, slices] :
       {std::tuple{"topkvalue", 1, 1}, std::tuple{"topkvalue", 6, 3}, std::tuple{"topkindex", 1, 1},
        std::tuple{"topkindex", 12, 4}, std::tuple{"topkindex", 5, 1}}) {
    SCOPED_TRACE(std::string(op) + ", k = " + std::to_string(ranks));
    Bundle bundle = BundleWithTensors(2);
    DscBuilder largest(
        op,
        {{"mb", kRows, 0, 2}, {"x", ranks, 0, slices}, {"y", 128, 0, 2}, {"out", kSearched, 0, 1}});
    largest.Hbm(0, {"mb", "y", "out"}, "y");
    largest.Hbm(1, {"mb", "y", "x"}, "y");
    largest.AppendTo(bundle, bundle.body);
    Runner run(bundle);
    run.Add({kRows, kSearched, kColumns}, x);
    run.Add({kRows, ranks, kColumns});
    run.Run();
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t column = 0; column < kColumns; ++column) {
        std::set<int64_t> taken;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          int64_t best = -1;
          const auto value = [&](int64_t i) {
            return x[static_cast<size_t>((row * kSearched + i) * kColumns + column)];
          };
          for (int64_t i = 0; i < kSearched; ++i)
            if (taken.count(i) == 0 && (best < 0 || value(i) > value(best))) best = i;
          taken.insert(best);
          ASSERT_EQ(run.Value(1, (row * ranks + rank) * kColumns + column),
                    std::string(op) == "topkvalue" ? value(best) : static_cast<double>(best))
              << "row " << row << ", column " << column << ", rank " << rank;
        }
      }
    }
  }
}

TEST(BundleReference, LoopsAdvanceAddressesAndTakeTheirCountFromTheLaunch) {
  Bundle bundle = BundleWithTensors(2);
  bundle.arguments.push_back({compiler::BundleArgument::Kind::kDimension, "trips", 4, 1});
  DscBuilder neg("neg", {{"mb", 2, 0, 1}, {"out", 64, 0, 1}});
  neg.Hbm(0, {"mb", "out"}, "out");
  neg.Hbm(1, {"mb", "out"}, "out");
  neg.LoopStride(0, {256}).LoopStride(1, {256});
  compiler::BundleLoop loop;
  loop.count = 4;
  loop.count_argument = 2;
  neg.AppendTo(bundle, loop.body);
  bundle.body.push_back(loop);
  Runner run(bundle);
  run.Add({8, 64}, std::vector<double>(8 * 64, 3));
  run.Add({8, 64});
  run.Run({3});
  EXPECT_EQ(run.Value(1, 0), -3);
  EXPECT_EQ(run.Value(1, 5 * 64 + 63), -3) << "the last row of the third iteration";
  EXPECT_EQ(run.Value(1, 6 * 64), 0) << "the fourth iteration is not run";
  EXPECT_THROW(run.Run({}), Error);
}

TEST(BundleReference, MatmulAddsInTheOrderOfTheDocumentedRule) {
  for (const int k_slices : {1, 2}) {
    Bundle bundle = BundleWithTensors(3);
    DscBuilder matmul("batchmatmul",
                      {{"mb", 6, 0, 2}, {"out", 192, 0, 3}, {"in", 256, 0, k_slices}});
    matmul.Hbm(0, {"mb", "in"}, "in");
    matmul.Hbm(1, {"in", "out"}, "out");
    matmul.Hbm(2, {"mb", "out"}, "out");
    matmul.AppendTo(bundle, bundle.body);
    Runner run(bundle);
    run.Add({6, 256}, Values(6 * 256, 3, 5));
    run.Add({256, 192}, Values(256 * 192, 2, 9));
    run.Add({6, 192});
    run.Run();
    ReferenceProblem problem{"matmul"};
    problem.m = 6, problem.k = 256, problem.n = 192;
    if (k_slices == 2) problem.slice_ends = {128, 256};
    problem.a = reinterpret_cast<const uint16_t*>(run.data(0).data());
    problem.b = reinterpret_cast<const uint16_t*>(run.data(1).data());
    const auto reference = MakeReference(problem);
    std::vector<uint16_t> expected(6 * 192);
    reference->Compute(0, 6 * 192, expected.data());
    for (int64_t i = 0; i < 6 * 192; ++i) {
      ASSERT_EQ(run.Value(2, i), HalfValue(expected[i])) << i << " with " << k_slices << " slices";
      ASSERT_NEAR(run.Ideal(2, {i / 192, i % 192}), reference->Ideal(i), 1e-9);
    }
  }
}

TEST(BundleReference, ReductionsSkipWhatIsMasked) {
  Bundle bundle = BundleWithTensors(2);
  DscBuilder max("max", {{"mb", 4, 0, 2}, {"out", 128, 0, 1}});
  max.Hbm(0, {"mb", "out"}, "out");
  max.Scale(max.Hbm(1, {"mb", "out"}, "out"), "out", -2).Mask("out", 100, 28);
  max.AppendTo(bundle, bundle.body);
  Runner run(bundle);
  run.Add({4, 100}, std::vector<double>(400, -5));
  run.Add({4}, {}, DataFormat::kIeeeFp16, true);
  run.Run();
  for (int row = 0; row < 4; ++row) EXPECT_EQ(run.Value(1, row), -5) << "not the zeros behind";
}

TEST(BundleReference, SumsAlongRowsAreSplitOverCoresInOrder) {
  Bundle bundle = BundleWithTensors(2);
  DscBuilder sum("sumnonstick", {{"mb", 200, 0, 2}, {"out", 64, 0, 1}});
  sum.Hbm(0, {"mb", "out"}, "out");
  sum.Scale(sum.Hbm(1, {"mb", "out"}, "out"), "mb", -1);
  sum.AppendTo(bundle, bundle.body);
  // The parts of both cores go to one place.
  auto& symbols = std::get<compiler::BundleExecute>(bundle.body[0]).symbols;
  for (auto& [id, address] : symbols)
    if (address.argument == 1) address.constant = 0;
  Runner run(bundle);
  run.Add({200, 64}, Values(200 * 64, 1, 3));
  run.Add({1, 64});
  run.Run();
  ReferenceProblem problem{"sum"};
  problem.rows = 200, problem.cols = 64, problem.reduce_rows = true,
  problem.slice_ends = {100, 200};
  problem.a = reinterpret_cast<const uint16_t*>(run.data(0).data());
  std::vector<uint16_t> expected(64);
  MakeReference(problem)->Compute(0, 64, expected.data());
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(run.Value(1, i), HalfValue(expected[i])) << i;
}

TEST(BundleReference, RestickifyTransposesWithoutRounding) {
  Bundle bundle = BundleWithTensors(2);
  DscBuilder restickify("ReStickifyOpHBM", {{"mb", 128, 0, 2}, {"out", 64, 0, 1}});
  restickify.Hbm(0, {"mb", "out"}, "out");
  restickify.Hbm(1, {"out", "mb"}, "mb");
  restickify.AppendTo(bundle, bundle.body);
  Runner run(bundle);
  std::vector<double> values;
  for (int i = 0; i < 128 * 64; ++i) values.push_back(i % 509);
  run.Add({128, 64}, values);
  run.Add({64, 128});  // the same elements, seen as the transposed tensor
  run.Run();
  for (int64_t r = 0; r < 128; ++r)
    for (int64_t c = 0; c < 64; c += 5) ASSERT_EQ(run.Value(1, c * 128 + r), values[r * 64 + c]);
}

TEST(BundleReference, IntermediatesStayInTheLxOfTheirCore) {
  Bundle bundle = BundleWithTensors(3);
  DscBuilder exp("exp", {{"mb", 8, 0, 4}, {"out", 64, 0, 1}});
  exp.Hbm(0, {"mb", "out"}, "out");
  exp.Lx(256, {"mb", "out"}, "out");
  exp.AppendTo(bundle, bundle.body);
  // In place, with one number for all elements.
  DscBuilder add("add", {{"mb", 8, 0, 4}, {"out", 64, 0, 1}});
  add.Lx(256, {"mb", "out"}, "out");
  const int one = add.Hbm(1, {"mb", "out"}, "out");
  add.Scale(one, "mb", -1).Scale(one, "out", -2);
  add.Lx(256, {"mb", "out"}, "out");
  add.AppendTo(bundle, bundle.body);
  auto& symbols = std::get<compiler::BundleExecute>(bundle.body[1]).symbols;
  for (auto& [id, address] : symbols) address.constant = 0;
  DscBuilder copy("identity", {{"mb", 8, 0, 4}, {"out", 64, 0, 1}});
  copy.Lx(256, {"mb", "out"}, "out");
  copy.Hbm(2, {"mb", "out"}, "out");
  copy.AppendTo(bundle, bundle.body);
  Runner run(bundle);
  run.Add({8, 64}, std::vector<double>(8 * 64, 0));
  run.Add({1}, {2});
  run.Add({8, 64});
  run.Run();
  for (int64_t i = 0; i < 8 * 64; i += 3) EXPECT_EQ(run.Value(2, i), 3);
}

TEST(BundleReference, Fp32IsOneOperationInFp32) {
  Bundle bundle = BundleWithTensors(3);
  DscBuilder mul("mul", {{"mb", 2, 0, 1}, {"out", 64, 0, 2}});
  for (int i = 0; i < 3; ++i) mul.Hbm(i, {"mb", "out"}, "out", 32, DataFormat::kIeeeFp32);
  mul.AppendTo(bundle, bundle.body);
  Runner run(bundle);
  run.Add({2, 64}, Values(128, 1, 4), DataFormat::kIeeeFp32);
  run.Add({2, 64}, Values(128, 1, 8), DataFormat::kIeeeFp32);
  run.Add({2, 64}, {}, DataFormat::kIeeeFp32);
  run.Run();
  for (int64_t i = 0; i < 128; ++i) {
    const auto a = static_cast<float>(Values(128, 1, 4)[i]);
    const auto b = static_cast<float>(Values(128, 1, 8)[i]);
    EXPECT_EQ(run.Value(2, i), double{a * b});
  }
}

TEST(BundleReference, LayerNormalisationIsItsThreePieces) {
  Bundle bundle = BundleWithTensors(2);
  DscBuilder moments("exx2", {{"mb", 4, 0, 2}, {"out", 128, 0, 1}});
  moments.Hbm(0, {"mb", "out"}, "out");
  moments.Scale(moments.Lx(0, {"mb", "out"}, "out"), "out", -2);
  moments.Constant("exx2scale", DataFormat::kIeeeFp32, 0x3C000000);  // 1 / 128
  moments.AppendTo(bundle, bundle.body);
  DscBuilder scale("layernormscale", {{"mb", 4, 0, 2}, {"out", 128, 0, 1}});
  scale.Scale(scale.Lx(0, {"mb", "out"}, "out"), "out", -2);
  scale.Scale(scale.Lx(512, {"mb", "out"}, "out"), "out", -2);
  scale.Constant("eps", DataFormat::kIeeeFp32, 0x3727C5AC);  // 1e-5
  scale.AppendTo(bundle, bundle.body);
  DscBuilder norm("layernormnorm", {{"mb", 4, 0, 2}, {"out", 128, 0, 1}});
  norm.Hbm(0, {"mb", "out"}, "out");
  norm.Scale(norm.Lx(0, {"mb", "out"}, "out"), "out", -2);
  norm.Scale(norm.Lx(512, {"mb", "out"}, "out"), "out", -2);
  norm.Hbm(1, {"mb", "out"}, "out");
  norm.AppendTo(bundle, bundle.body);
  Runner run(bundle);
  const std::vector<double> values = Values(4 * 128, 2, 6);
  run.Add({4, 128}, values);
  run.Add({4, 128});
  run.Run();
  for (int64_t row = 0; row < 4; ++row) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 128; ++i) {
      const double x = SenValue(SenOfHalf(NearestHalf(values[row * 128 + i])));
      sum += x, squares += x * x;
    }
    const double mean = sum / 128;
    const double deviation = std::sqrt(squares / 128 - mean * mean + 1e-5);
    for (int64_t i = 0; i < 128; i += 11) {
      const double x = SenValue(SenOfHalf(NearestHalf(values[row * 128 + i])));
      EXPECT_NEAR(run.Ideal(1, {row, i}), (x - mean) / deviation, 1e-5);
      EXPECT_NEAR(run.Value(1, row * 128 + i), (x - mean) / deviation, 0.02);
    }
  }
}

TEST(BundleReference, WhatLeavesTheArgumentOrHasNoDefinitionIsRefused) {
  Bundle bundle = BundleWithTensors(2);
  DscBuilder neg("neg", {{"mb", 8, 0, 1}, {"out", 64, 0, 1}});
  neg.Hbm(0, {"mb", "out"}, "out");
  neg.Hbm(1, {"mb", "out"}, "out");
  neg.AppendTo(bundle, bundle.body);
  Runner small(bundle);
  small.Add({8, 64});
  small.Add({7, 64});
  EXPECT_THROW(small.Run(), Error);
  bundle.dscs[0].op = "fastexp";
  Runner unknown(bundle);
  unknown.Add({8, 64});
  unknown.Add({8, 64});
  EXPECT_THROW(unknown.Run(), Error);
}

}  // namespace
}  // namespace spyre::cosim::bundle_reference_test
