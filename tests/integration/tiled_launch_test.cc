// SPDX-License-Identifier: Apache-2.0
// Launches over tensors larger than the compiled tile, on the card: every way to order the tiles,
// to treat what remains and to place the tensors gives the bits of the reference.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <random>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/session/session.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/codegen/tile_kernels.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/integration/card_fixture.h"
#include "tests/integration/out_dir.h"

namespace spyre::test::tiled_launch_test {
namespace {

using ::testing::HasSubstr;

cosim::RunResult RunWorkload(std::vector<std::string> sets) {
  for (std::string& set : sets) set = "workload." + set;
  return cosim::RunSession(cosim::LoadConfig("", sets), OutDir());
}

struct Case {
  std::string name;
  std::vector<std::string> sets;
  uint64_t operations;  // stream operations of the launch
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class TiledWorkloads : public ::testing::TestWithParam<Case> {};

TEST_P(TiledWorkloads, AreBitExact) {
  const cosim::RunResult result = RunWorkload(GetParam().sets);
  ASSERT_TRUE(result.verification.has_value());
  EXPECT_EQ(result.verification->mismatches, 0) << "of " << result.verification->elements;
  EXPECT_EQ(result.launch_counts.queued, GetParam().operations);
  EXPECT_EQ(result.launch_counts.completed, GetParam().operations);
}

// A kernel is three stream operations, so is a copy; a fill is one.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto both = [&](const std::string& name, uint64_t padded, uint64_t with_kernels,
                        std::vector<std::string> sets) {
    sets.emplace_back("launch.remainder=pad");
    cases.push_back({name + "_pad", sets, padded});
    sets.back() = "launch.remainder=remainder_kernel";
    cases.push_back({name + "_kernel", sets, with_kernels});
  };
  both("matmul_4000", 12 + 7, 12, {"m=4000", "k=64", "n=64", "tile.m=1024"});
  both("add_4000", 12 + 11, 12, {"op=add", "rows=4000", "cols=64", "tile.rows=1024"});
  both("gelu_4000", 12 + 7, 12, {"op=gelu", "rows=4000", "cols=64", "tile.rows=1024"});
  // 4 by 3 tiles, of which 2 by 1 are cut short: 3 along m, 2 along n, 1 in both.
  both("matmul_both", 36 + 2 * 6 + 1 + 3 * 6 + 1 + 10 + 1, 36,
       {"m=100", "k=128", "n=160", "tile.m=32", "tile.n=64"});
  both("gelu_both", 48 + 3 * 6 + 3 * 6 + 6 + 3, 48,
       {"op=gelu", "rows=100", "cols=200", "tile.rows=32", "tile.cols=64"});
  both("batch", 36 + 95, 36,
       {"op=batchmatmul", "batch=3", "m=70", "k=96", "n=100", "tile.batch=2", "tile.m=32",
        "tile.n=64", "launch.order=[\"n\",\"m\",\"batch\"]"});
  both("sum_sparse", 12 + 7, 12, {"op=sum", "rows=100", "cols=200", "tile.rows=32"});
  both("softmax", 12 + 7, 12, {"op=softmax", "rows=100", "cols=70", "tile.rows=32"});
  both("smaller_than_the_tile", 3 + 11, 3, {"op=add", "rows=100", "cols=32", "tile.rows=128"});
  both("interleaved", 36 + 43, 36,
       {"m=100", "k=128", "n=160", "tile.m=32", "tile.n=64", "launch.interleave=3"});
  cases.push_back({"copies_keep_their_name_in_reports",
                   {"op=copy", "rows=100", "cols=32", "tile.rows=64", "launch.remainder=pad"},
                   6 + 7});
  cases.push_back({"one_tile", {"op=add", "rows=10", "cols=32", "launch.routing=tiled"}, 3});
  cases.push_back({"interleaved_rows",
                   {"op=add", "rows=96", "cols=64", "tile.rows=24", "launch.interleave=3"},
                   12});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, TiledWorkloads, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

TEST(TiledLaunch, StagedTilesCountAsKernelLaunchesOnce) {
  const cosim::RunResult result =
      RunWorkload({"op=copy", "rows=100", "cols=32", "tile.rows=64", "launch.remainder=pad"});
  const auto kernels = std::count_if(
      result.launches.begin(), result.launches.end(),
      [&](const auto& operation) { return result.kernel_names.count(operation.name) != 0; });
  EXPECT_EQ(kernels, 2) << "copies to and from staging have another name";
}

TEST(TiledLaunch, RemaindersFailUnlessAskedFor) {
  try {
    RunWorkload({"m=4000", "k=64", "n=64", "tile.m=1024"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("3072 or 4096 would fit"));
  }
}

TEST(TiledLaunch, InterleavingWithoutATiledDimensionIsRefused) {
  try {
    RunWorkload({"m=64", "k=128", "n=128", "tile.m=32", "launch.interleave=2"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("k of a, n of b, n of out"));
  }
}

// The same launches through the runtime's interface, against a launch that is not tiled.
class TiledOnCard : public CardFixture, public ::testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override { Open(GetParam()); }

  struct Sizes {
    int64_t m, n;
  };
  static constexpr int64_t kK = 64;  // one stick: never divided

  runtime::KernelSet Compile(runtime::SpyreStream& stream, const Sizes& tile, const Sizes& size) {
    compiler::KernelSpec spec;
    spec.op = "matmul";
    spec.dims = {{"m", tile.m}, {"k", kK}, {"n", tile.n}};
    spec.cores = 4;
    const auto dir = std::filesystem::path(OutDir()) / std::to_string(compiled_++);
    std::filesystem::remove_all(dir);
    compiler::WriteSpyreCode(compiler::GenerateKernel(spec), dir);
    const std::map<std::string, int64_t> sizes = {{"m", size.m}, {"k", kK}, {"n", size.n}};
    compiler::WriteTileKernels(compiler::RemainderKernels(spec, sizes), dir);
    compiler::WriteTileKernels(compiler::StagingCopies(spec, sizes), dir);
    runtime::KernelSet kernels(dir);
    runtime::LoadKernels(stream, kernels);
    return kernels;
  }
  std::vector<uint16_t> Halves(int64_t count) {
    std::vector<uint16_t> halves;
    for (int64_t i = 0; i < count; ++i)
      halves.push_back(HalfFromFloat(static_cast<float>(random_() % 2048) / 1024 - 1));
    return halves;
  }
  static StickLayout Layout(int64_t rows, int64_t cols) {
    return DefaultLayout({rows, cols}, DataFormat::kSen169Fp16);
  }
  // The device image of `tensor`, padding of sticks included.
  std::vector<uint8_t> Image(const runtime::SpyreTensor& tensor) {
    std::vector<uint8_t> image;
    for (const runtime::TensorChunk& chunk : PiecesOf(tensor)) {
      const auto part = Download<uint8_t>(chunk.handle, chunk.size_bytes);
      image.insert(image.end(), part.begin(), part.end());
    }
    return image;
  }

  std::mt19937 random_{GetParam() + 1};
  int compiled_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Mode, TiledOnCard, ::testing::Values(0u, 1u), [](const auto& test) {
  return test.param == 0 ? "physical" : "virtual_function";
});

TEST_P(TiledOnCard, EveryWayGivesTheUntiledResultAndTouchesNothingElse) {
  runtime::SpyreStream stream(*context_);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 4; ++round) {
    const Sizes size{pick(1, 60), pick(65, 260)};
    const Sizes tile{pick(1, 40), 64};
    SCOPED_TRACE(::testing::Message() << "m " << size.m << " by " << tile.m << ", n " << size.n);
    const auto a_data = Halves(size.m * kK), b_data = Halves(kK * size.n);
    const auto half = DataFormat::kIeeeFp16;
    const auto a = runtime::TensorFromHost(stream, Layout(size.m, kK), a_data.data(), half);
    const auto b = runtime::TensorFromHost(stream, Layout(kK, size.n), b_data.data(), half);
    const auto result_of = [&](const runtime::SpyreTensor& out) {
      std::vector<uint16_t> host(static_cast<size_t>(size.m * size.n));
      runtime::CopyTensorFromDevice(stream, out, host.data(), half);
      stream.Synchronize();
      return host;
    };
    const auto whole = runtime::AllocateTensor(*context_, Layout(size.m, size.n));
    runtime::LaunchOptions options;
    options.routing = runtime::Routing::kStrict;
    runtime::LaunchKernel(stream, Compile(stream, size, size), {a, b, whole}, options);
    const std::vector<uint16_t> expected = result_of(whole);

    options.routing = runtime::Routing::kTiled;
    const runtime::KernelSet kernels = Compile(stream, tile, size);
    for (const auto remainder : {runtime::Remainder::kPad, runtime::Remainder::kKernel}) {
      for (const char* outermost : {"m", "n"}) {
        options.remainder = remainder;
        options.order = {outermost};
        const auto before =
            runtime::TensorFromHost(stream, Layout(kK, size.n), b_data.data(), half);
        const auto out = runtime::AllocateTensorInterleaved(*context_, Layout(size.m, size.n),
                                                            round % 2 + 1, 64);
        const auto after = runtime::TensorFromHost(stream, Layout(kK, size.n), b_data.data(), half);
        runtime::LaunchKernel(stream, kernels, {a, b, out}, options);
        EXPECT_EQ(result_of(out), expected) << Name(remainder) << ", " << outermost << " outermost";
        EXPECT_EQ(Image(before), Image(b)) << "memory before the output";
        EXPECT_EQ(Image(after), Image(b)) << "memory behind the output";
      }
    }
  }
}

}  // namespace
}  // namespace spyre::test::tiled_launch_test
