// SPDX-License-Identifier: Apache-2.0
// The program that is generated for a bundle leaves in memory what the bundle's reference leaves,
// bit for bit, whatever the order in which its units run.
#include "runtime/compiler/codegen/bundle_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "cosim/reference/bundle_reference.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/codegen/bundle_lx.h"
#include "tests/paths.h"
#include "tests/unit/cosim/reference/bundle_builder.h"
#include "tests/unit/cosim/reference/bundle_check.h"
#include "tests/unit/cosim/reference/random_bundle.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::cosim::bundle_kernel_test {
namespace {

using bundle_check::Arguments;
using bundle_check::ExpectSame;
using compiler::Bundle;
using compiler::Kernel;

// With a sanitizer a case takes ten times as long.
const uint32_t kCases = std::getenv("SPYRE_FEW_SEEDS") != nullptr ? 20 : 60;

TEST(BundleKernel, PointwiseOperationsOfAnyShapeLayoutAndPlace) {
  const std::pair<const char*, int> ops[] = {
      {"add", 2},  {"sub", 2},      {"realdiv", 2},       {"where3", 3},        {"exp", 1},
      {"clip", 1}, {"softplus", 1}, {"layernormnorm", 5}, {"layernormnorm", 3}, {"identity", 1}};
  for (uint32_t seed = 0; seed < 2 * kCases; ++seed) {
    const auto& [op, inputs] = ops[seed % std::size(ops)];
    ExpectSame(random_bundles::RandomPointwise(op, inputs, seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, Fp32HasSticksOfItsOwn) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const bool over_stick = seed % 8 < 4;
    ExpectSame(seed % 4 == 0   ? random_bundles::RandomPointwise("where3", 3, seed, true)
               : seed % 4 == 1 ? random_bundles::RandomPointwise("mul", 2, seed, true)
               : seed % 4 == 2 ? random_bundles::RandomConversion(over_stick, seed)
                               : random_bundles::RandomReduction(over_stick ? "sum" : "maxnonstick",
                                                                 over_stick, seed, true),
               seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, ReductionsOverSticksAndAcrossThem) {
  const std::pair<const char*, const char*> ops[] = {{"sum", "sumnonstick"},
                                                     {"max", "maxnonstick"},
                                                     {"prod", "prodnonstick"},
                                                     {"mean", "meannonstick"},
                                                     {"exx2", "absmaxnonstick"},
                                                     {"exx2_zeromean", "minnonstick"},
                                                     {"quantscalepertokenfp8", "sumnonstick"}};
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const bool over_stick = seed % 2 == 0;
    const auto& [stick, nonstick] = ops[seed / 2 % std::size(ops)];
    ExpectSame(random_bundles::RandomReduction(over_stick ? stick : nonstick, over_stick, seed),
               seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, AReductionOfOneElementKeepsIt) {
  random_bundles::RandomBundle r(1);
  compiler::SuperDsc dsc = r.Op("sumnonstick", {{"mb", 1, false}, {"out", 128, true}});
  dsc.tensors = {r.Tensor(dsc, {0, 1}, 1), r.Tensor(dsc, {0, 1}, 1, {0})};
  dsc.inputs = {0};
  dsc.outputs = {1};
  ExpectSame(r.Finish(dsc, 0), 1);
}

TEST(BundleKernel, SeveralReducedDimensionsMayBeDivided) {
  bool one = false;
  bool two = false;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    random_bundles::RandomBundle r(seed);
    const bool over_stick = seed % 2 == 0;
    const char* const op =
        seed % 4 < 2 ? (over_stick ? "sum" : "sumnonstick") : (over_stick ? "max" : "maxnonstick");
    compiler::SuperDsc dsc =
        r.Op(op, {{"x", 6, false}, {"y", 70, false}, {"mb", 4, false}, {"out", 192, true}});
    const std::vector<int> reduced =
        over_stick ? std::vector<int>{0, 2, 3} : std::vector<int>{0, 1, 2};
    const int64_t divided = std::count_if(reduced.begin(), reduced.end(), [&](int dim) {
      return dsc.dims[static_cast<size_t>(dim)].slices > 1;
    });
    one = one || divided == 1;
    two = two || divided > 1;
    dsc.tensors = {r.Tensor(dsc, {0, 1, 2, 3}, 3), r.Tensor(dsc, {0, 1, 2, 3}, 3, reduced)};
    dsc.inputs = {0};
    dsc.outputs = {1};
    ExpectSame(r.Finish(dsc, 0), seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(one && two) << "the seeds divide one reduced dimension, and several";
}

// Numbers of which many are equal, zeros of both signs, and some that are NaN.
void MakeTiesAndNan(std::vector<uint8_t>& image) {
  uint32_t position = 0;
  for (size_t at = 0; at + 1 < image.size(); at += 2) {
    uint16_t code = 0;
    std::memcpy(&code, &image[at], 2);
    code = DlfFromFloat(std::round(DlfToFloat(code) * 2) / 2);
    if (++position % 37 == 0) code = kDlfNan;
    if (position % 11 == 0) code = 0x8000;
    std::memcpy(&image[at], &code, 2);
  }
}

void MakeTiesAndNan32(std::vector<uint8_t>& image) {
  uint32_t position = 0;
  for (size_t at = 0; at + 3 < image.size(); at += 4) {
    float number = 0;
    std::memcpy(&number, &image[at], 4);
    number = std::round(number * 2) / 2;
    if (++position % 37 == 0) number = std::numeric_limits<float>::quiet_NaN();
    if (position % 11 == 0) number = -0.0f;
    std::memcpy(&image[at], &number, 4);
  }
}

TEST(BundleKernel, TheLargestAreFoundWhateverTheDivisionAndWhereTheyAreEqual) {
  bool divided = false;
  for (uint32_t seed = 0; seed < 2 * kCases; ++seed) {
    random_bundles::RandomBundle r(seed);
    const int64_t searched = r.Chance(5) ? r.Pick(500, 1100) : r.Pick(1, 40);
    const int64_t ranks = r.Chance(30) ? 1 : r.Pick(1, std::min<int64_t>(searched, 12));
    compiler::SuperDsc dsc =
        r.Op(seed % 2 == 0 ? "topkvalue" : "topkindex", {{"mb", r.Pick(1, 3), false},
                                                         {"x", ranks, false},
                                                         {"y", r.Pick(1, 4), false},
                                                         {"i", 64 * r.Pick(1, 2), true},
                                                         {"out", searched, false, false}});
    divided = divided || dsc.dims[1].slices > 1;
    const bool fp32 = seed % 4 > 1;
    if (fp32) r.UseFp32();
    dsc.tensors = {r.Tensor(dsc, {0, 2, 3, 4}, 3), r.Tensor(dsc, {0, 1, 2, 3}, 3)};
    dsc.inputs = {0};
    dsc.outputs = {1};
    ExpectSame(r.Finish(dsc, 30), seed, fp32 ? MakeTiesAndNan32 : MakeTiesAndNan);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(divided) << "the seeds divide the ranks over cores";
}

TEST(BundleKernel, TheLargestAlongADimensionInTheSticksAreRefused) {
  random_bundles::RandomBundle r(1);
  compiler::SuperDsc dsc = r.Op("topkvalue", {{"x", 2, false}, {"out", 128, true, false}});
  dsc.tensors = {r.Tensor(dsc, {1}, 1), r.Tensor(dsc, {0}, 0)};
  dsc.inputs = {0};
  dsc.outputs = {1};
  Bundle bundle = r.Finish(dsc, 0);
  BindSegments(bundle);
  try {
    GenerateBundleKernel(bundle, Arguments(bundle, ArgumentUses(bundle)), {});
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("inside the sticks"), std::string::npos)
        << error.what();
  }
}

// The tensor `in` slices of the dimensions x, y, out on the way to `out` slices of them. LX
// addresses of what is shuffled and of the result.
Bundle Shuffled(const std::vector<int>& in, const std::vector<int>& out, int64_t columns,
                const std::vector<std::string>& in_order, const std::vector<std::string>& out_order,
                int64_t from = 0, int64_t to = 1 << 18) {
  const auto dims = [&](const std::vector<int>& slices) {
    return std::vector<compiler::SdscDim>{
        {"x", 12, 0, slices[0]}, {"y", 6, 0, slices[1]}, {"out", columns, 0, slices[2]}};
  };
  Bundle bundle = test::BundleWithTensors(2);
  test::DscBuilder load("identity", dims(in));
  load.Hbm(0, {"x", "y", "out"}, "out");
  load.Lx(from, in_order, "out");
  load.AppendTo(bundle, bundle.body);
  test::DscBuilder shuffle("shuffle", dims(out));
  shuffle.Divide(shuffle.Lx(from, in_order, "out"), in);
  shuffle.Lx(to, out_order, "out");
  shuffle.AppendTo(bundle, bundle.body);
  test::DscBuilder store("identity", dims(out));
  store.Lx(to, out_order, "out");
  store.Hbm(1, {"y", "x", "out"}, "out");
  store.AppendTo(bundle, bundle.body);
  return bundle;
}

TEST(BundleKernel, AShuffleTakesEachSliceFromTheCoresThatHoldIt) {
  // With a sanitizer a shuffle takes seconds.
  const bool few = std::getenv("SPYRE_FEW_SEEDS") != nullptr;
  const std::vector<std::vector<int>> divisions = {{12, 1, 1}, {3, 1, 4}, {6, 2, 1}, {3, 2, 2},
                                                   {2, 3, 2},  {1, 6, 2}, {4, 3, 1}, {2, 6, 1}};
  const std::vector<std::vector<std::string>> orders = {
      {"x", "y", "out"}, {"out", "x", "y"}, {"y", "out", "x"}};
  uint32_t seed = 0;
  for (const auto& in : divisions) {
    for (const auto& out : divisions) {
      ++seed;
      if (few && seed % 9 != 0) continue;
      ExpectSame(Shuffled(in, out, 256, orders[seed % 3], orders[seed / 3 % 3]), seed);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BundleKernel, AShuffleThatCannotBeDoneIsRefused) {
  const std::vector<std::string> order = {"x", "y", "out"};
  const auto refuse = [&](Bundle bundle) -> std::string {
    BindSegments(bundle);
    try {
      GenerateBundleKernel(bundle, Arguments(bundle, ArgumentUses(bundle)), {});
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  };
  EXPECT_NE(refuse(Shuffled({12, 1, 1}, {3, 1, 4}, 256, order, order, 0, 256))
                .find("overlap in the LX of core 0"),
            std::string::npos);
  Bundle absent = Shuffled({12, 1, 1}, {3, 1, 4}, 256, order, order);
  for (std::vector<int>& slice : absent.dscs[1].tensors[0].slice) slice[0] %= 11;
  EXPECT_NE(refuse(absent).find("no core holds the part of Tensor0"), std::string::npos);
  Bundle unaligned = Shuffled({12, 1, 1}, {12, 1, 1}, 96, order, order);
  unaligned.dscs[1].tensors[0].slices[2] = 2;
  EXPECT_NE(refuse(unaligned).find("not whole sticks of 64"), std::string::npos);
}

TEST(BundleKernel, PartsThatBeginInsideAStickAreRefusedBeforeTheyFault) {
  const auto refusal = [](int64_t offset, int64_t loop_stride) -> std::string {
    Bundle bundle = test::BundleWithTensors(2);
    test::DscBuilder copy("identity", {{"mb", 4, 0, 1}, {"out", 64, 0, 1}});
    copy.Hbm(0, {"mb", "out"}, "out");
    copy.Hbm(1, {"mb", "out"}, "out");
    copy.LoopStride(1, {loop_stride});
    compiler::BundleLoop loop;
    loop.count = 2;
    copy.AppendTo(bundle, loop.body);
    auto& execute = std::get<compiler::BundleExecute>(loop.body.front());
    for (auto& [id, address] : execute.symbols)
      if (address.argument == 0) address.constant += offset;
    bundle.body.emplace_back(std::move(loop));
    try {
      GenerateBundleKernel(bundle, Arguments(bundle, ArgumentUses(bundle)), {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(256, 512), "");
  EXPECT_NE(refusal(42, 512).find("Tensor0 begins 42 bytes behind a stick on core 0"),
            std::string::npos);
  EXPECT_NE(refusal(0, 64).find("Tensor1 begins 0 bytes behind a stick on core 0, or does so in a"),
            std::string::npos);
}

TEST(BundleKernel, MatmulsWithBatchesSharedWeightsAndDividedSums) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    ExpectSame(random_bundles::RandomMatmul(seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, LoopsStayLoopsAndMoveWhatTheyTile) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const bool over_stick = seed % 8 < 4;
    Bundle bundle = seed % 4 == 0   ? random_bundles::RandomMatmul(seed)
                    : seed % 4 == 1 ? random_bundles::RandomPointwise("where3", 3, seed)
                    : seed % 4 == 2 ? random_bundles::RandomRestickify(seed)
                                    : random_bundles::RandomReduction(
                                          over_stick ? "sum" : "maxnonstick", over_stick, seed);
    ExpectSame(random_bundles::InLoops(std::move(bundle), seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, Restickify) {
  for (uint32_t seed = 0; seed < kCases / 4; ++seed) {
    ExpectSame(random_bundles::RandomRestickify(seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, SampleBundlesOfEveryDialect) {
  int found = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SPYRE_SOURCE_DIR "/tests/data/bundles")) {
    if (entry.path().filename() != "bundle.mlir") continue;
    SCOPED_TRACE(entry.path().string());
    if (entry.path().string().find("loop_chain") != std::string::npos) continue;  // on the card
    ExpectSame(compiler::ReadBundle(entry.path().parent_path()), 1);
    if (HasFatalFailure()) return;
    ++found;
  }
  EXPECT_GE(found, 15);
}

TEST(BundleKernel, BundlesOfOtherPeoplesPrograms) {
  for (const auto& entry :
       std::filesystem::directory_iterator(SPYRE_SOURCE_DIR "/tests/data/captured_bundles")) {
    SCOPED_TRACE(entry.path().string());
    ExpectSame(compiler::ReadBundle(entry.path()), 1);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace spyre::cosim::bundle_kernel_test
