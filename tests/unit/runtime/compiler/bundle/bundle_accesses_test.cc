// SPDX-License-Identifier: Apache-2.0
// What a bundle does with the bytes of its arguments, against a walk over every stick of every core
// in every iteration.
#include "runtime/compiler/bundle/bundle_accesses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace spyre::compiler::bundle_accesses_test {
namespace {

constexpr int kArguments = 2;
constexpr int kDims = 3;
constexpr int64_t kStick = 128;
constexpr int64_t kStickElements = 64;
constexpr int64_t kHalf = kStick / 2;  // all places are multiples of it

// One tensor of one operation, in numbers of its own: what the bundle says in another form.
struct Touch {
  int argument = 0;
  bool written = false;
  std::vector<int64_t> starts;              // by core
  std::vector<int64_t> count, stride;       // of a core's sticks along each dimension; bytes
  std::vector<std::vector<int64_t>> moved;  // by core: bytes in each iteration of the loops around
};

struct Case {
  Bundle bundle;
  std::vector<std::vector<Touch>> operations;  // reads before writes
  std::vector<int64_t> trips;                  // of the loops around all of them, outermost first
};

class RandomCases {
 public:
  explicit RandomCases(uint32_t seed) : random_(seed) {}

  Case Next() {
    Case made;
    for (int loop = Draw(0, 2); loop > 0; --loop) made.trips.push_back(Draw(1, 4));
    for (int argument = 0; argument < kArguments; ++argument)
      made.bundle.arguments.push_back({BundleArgument::Kind::kTensor, "arg"});
    std::vector<BundleNode> body;
    for (int operation = Draw(1, 3); operation > 0; --operation) body.push_back(Operation(made));
    for (auto trips = made.trips.rbegin(); trips != made.trips.rend(); ++trips)
      body = {BundleLoop{*trips, -1, std::move(body)}};
    made.bundle.body = std::move(body);
    return made;
  }

 private:
  int Draw(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  BundleNode Operation(Case& made) {
    SuperDsc dsc;
    BundleExecute execute;
    execute.dsc = static_cast<int>(made.bundle.dscs.size());
    for (const char* name : {"mb", "x", "out"}) {
      SdscDim dim{name, 0, Draw(1, 3), Draw(1, 3)};
      dim.size = dim.per_core * dim.slices;
      dsc.dims.push_back(dim);
    }
    for (int64_t* elements : {&dsc.dims[2].size, &dsc.dims[2].per_core})
      *elements *= kStickElements;
    for (int mb = 0; mb < dsc.dims[0].slices; ++mb)
      for (int x = 0; x < dsc.dims[1].slices; ++x)
        for (int out = 0; out < dsc.dims[2].slices; ++out) dsc.slice.push_back({mb, x, out});
    std::shuffle(dsc.slice.begin(), dsc.slice.end(), random_);
    dsc.cores.resize(dsc.slice.size());
    std::iota(dsc.cores.begin(), dsc.cores.end(), 0);
    std::vector<Touch> touches;
    for (const bool written : {false, true}) {
      Touch touch = TouchOf(dsc, written, made.trips.size());
      (written ? dsc.outputs : dsc.inputs).push_back(static_cast<int>(dsc.tensors.size()));
      dsc.tensors.push_back(TensorOf(touch, execute));
      dsc.tensors.back().dim_order = order_;
      touches.push_back(std::move(touch));
    }
    made.bundle.files.emplace_back("sdsc.json");
    made.bundle.dscs.push_back(std::move(dsc));
    made.operations.push_back(std::move(touches));
    return execute;
  }

  // Where the cores have their parts: as the operation is divided, or, now and then, one of them
  // somewhere else, or all at one place.
  Touch TouchOf(const SuperDsc& dsc, bool written, size_t loops) {
    Touch touch;
    touch.argument = Draw(0, kArguments - 1);
    touch.written = written;
    order_ = {0, 1, 2};
    std::shuffle(order_.begin(), order_.end(), random_);
    touch.count.resize(kDims);
    touch.stride.resize(kDims);
    int64_t stride = kStick;
    for (const int dim : order_) {
      const int64_t elements = dim == 2 ? kStickElements : 1;
      const SdscDim& of = dsc.dims[static_cast<size_t>(dim)];
      touch.count[static_cast<size_t>(dim)] = of.per_core / elements;
      touch.stride[static_cast<size_t>(dim)] = stride;
      stride *= of.size / elements;
    }
    const int64_t base = kHalf * Draw(0, 8);
    const bool shared = Draw(0, 5) == 0;
    for (const std::vector<int>& slice : dsc.slice) {
      int64_t start = base;
      for (size_t dim = 0; dim < kDims && !shared; ++dim)
        start += slice[dim] * touch.count[dim] * touch.stride[dim];
      touch.starts.push_back(start);
    }
    if (Draw(0, 3) == 0)
      touch.starts[static_cast<size_t>(Draw(0, static_cast<int>(touch.starts.size()) - 1))] +=
          kHalf * Draw(0, 9);
    std::vector<int64_t> moved;
    for (size_t loop = 0; loop < loops; ++loop) moved.push_back(kHalf * Draw(0, 12));
    touch.moved.assign(touch.starts.size(), moved);
    if (loops > 0 && Draw(0, 5) == 0) touch.moved.back()[0] += kStick;
    return touch;
  }

  static SdscTensor TensorOf(const Touch& touch, BundleExecute& execute) {
    SdscTensor tensor;
    tensor.name = "tensor";
    tensor.scale = {1, 1, 1};
    tensor.stick_dims = {2};
    tensor.stick_sizes = {kStickElements};
    tensor.symbolic = true;
    for (size_t core = 0; core < touch.starts.size(); ++core) {
      const int64_t symbol = -1 - static_cast<int64_t>(execute.symbols.size());
      execute.symbols[symbol] = {touch.argument, touch.starts[core], touch.moved[core]};
      tensor.start.push_back(symbol);
    }
    return tensor;
  }

  std::mt19937 random_;
  std::vector<int> order_;  // of the last tensor's dimensions, innermost first
};

// Whatever is touched, half a stick at a time.
class Walk {
 public:
  explicit Walk(const Case& made) : made_(made), uses_(kArguments), written_(kArguments) {
    for (std::vector<bool>& halves : written_) halves.resize(1 << 12);
    Iterate({});
    for (size_t i = 0; i < kArguments; ++i)
      uses_[i].whole_end =
          kHalf * (std::find(written_[i].begin(), written_[i].end(), false) - written_[i].begin());
  }
  const std::vector<MemoryUse>& uses() const { return uses_; }

 private:
  void Iterate(const std::vector<int64_t>& iterations) {
    if (iterations.size() < made_.trips.size()) {
      for (int64_t i = 0; i < made_.trips[iterations.size()]; ++i) {
        std::vector<int64_t> inner = iterations;
        inner.push_back(i);
        Iterate(inner);
      }
      return;
    }
    for (const std::vector<Touch>& operation : made_.operations)
      for (const Touch& touch : operation) Cores(touch, iterations);
  }

  void Cores(const Touch& touch, const std::vector<int64_t>& iterations) {
    for (size_t core = 0; core < touch.starts.size(); ++core) {
      int64_t at = touch.starts[core];
      for (size_t i = 0; i < iterations.size(); ++i) at += iterations[i] * touch.moved[core][i];
      for (int64_t i = 0; i < touch.count[0]; ++i)
        for (int64_t j = 0; j < touch.count[1]; ++j)
          for (int64_t k = 0; k < touch.count[2]; ++k)
            Stick(touch, at + i * touch.stride[0] + j * touch.stride[1] + k * touch.stride[2]);
    }
  }

  void Stick(const Touch& touch, int64_t at) {
    MemoryUse& use = uses_[static_cast<size_t>(touch.argument)];
    use.end = std::max(use.end, at + kStick);
    if (touch.written) use.written_end = std::max(use.written_end, at + kStick);
    (touch.written ? use.written : use.read) = true;
    for (int64_t half = at / kHalf; half < (at + kStick) / kHalf; ++half) {
      auto written = written_[static_cast<size_t>(touch.argument)].begin() + half;
      if (touch.written) *written = true;
      use.read_first = use.read_first || !*written;
    }
  }

  const Case& made_;
  std::vector<MemoryUse> uses_;
  std::vector<std::vector<bool>> written_;
};

TEST(BundleAccesses, WhatIsFoundOfAnArgumentIsWhatAWalkOverAllSticksFinds) {
  RandomCases cases(7);
  int read_first = 0, written_before = 0;
  for (int i = 0; i < 3000; ++i) {
    const Case made = cases.Next();
    std::map<int, MemoryUse> found = MemoryUses(made.bundle);
    const Walk walk(made);
    for (int argument = 0; argument < kArguments; ++argument) {
      const MemoryUse& expected = walk.uses()[static_cast<size_t>(argument)];
      const MemoryUse& use = found[kFirstArgumentSlot + argument];
      EXPECT_EQ(use.read, expected.read) << "case " << i << ", argument " << argument;
      EXPECT_EQ(use.written, expected.written) << "case " << i << ", argument " << argument;
      EXPECT_EQ(use.read_first, expected.read_first) << "case " << i << ", argument " << argument;
      EXPECT_EQ(use.end, expected.end) << "case " << i << ", argument " << argument << ", bytes";
      EXPECT_EQ(use.written_end, expected.written_end) << "case " << i << ", bytes";
      EXPECT_EQ(use.whole_end, expected.whole_end) << "case " << i << ", bytes";
      read_first += use.read_first ? 1 : 0;
      written_before += use.read && use.written && !use.read_first ? 1 : 0;
    }
  }
  EXPECT_GT(read_first, 100);
  EXPECT_GT(written_before, 100) << "cases in which all that is read was written before";
}

TEST(BundleAccesses, ASetOfBytesIsThatOfTheBytesThatWereAdded) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    ByteSet set;
    std::vector<bool> bytes(128);
    for (int run = 0; run < 24; ++run) {
      const auto begin = static_cast<int64_t>(random() % 120);
      const auto end = begin + 1 + static_cast<int64_t>(random() % 8);
      const bool covered = std::all_of(bytes.begin() + begin, bytes.begin() + end,
                                       [](bool is_there) { return is_there; });
      EXPECT_EQ(set.Covers(begin, end), covered);
      if (random() % 4 == 0) continue;
      set.Add(begin, end);
      std::fill(bytes.begin() + begin, bytes.begin() + end, true);
      EXPECT_EQ(set.whole(), std::find(bytes.begin(), bytes.end(), false) - bytes.begin());
    }
  }
}

}  // namespace
}  // namespace spyre::compiler::bundle_accesses_test
