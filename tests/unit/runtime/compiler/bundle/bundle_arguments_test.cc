// SPDX-License-Identifier: Apache-2.0
// Which arguments a bundle has, from the segments of its addresses, and how it uses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle_accesses.h"
#include "tests/paths.h"

namespace spyre::compiler::bundle_arguments_test {
namespace {

using ::testing::HasSubstr;
using Kind = BundleArgument::Kind;

const std::filesystem::path kData = SPYRE_SOURCE_DIR "/tests/data";
constexpr auto kSegment = static_cast<int64_t>(kSegmentBytes);

std::string Refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

// A copy of rows x 64 elements on `cores` cores by rows: one stick a row.
SuperDsc Copy(int64_t rows, int cores, int64_t from, int64_t to) {
  SuperDsc dsc;
  dsc.op = "identity";
  dsc.dims = {{"mb", rows, rows / cores, cores}, {"out", 64, 64, 1}};
  for (const int64_t base : {from, to}) {
    SdscTensor tensor;
    tensor.name = "Tensor" + std::to_string(dsc.tensors.size());
    tensor.dim_order = {0, 1};
    tensor.scale = {1, 1};
    tensor.stick_dims = {1};
    tensor.stick_sizes = {64};
    for (int core = 0; core < cores; ++core)
      tensor.start.push_back(base + core * rows / cores * 128);
    dsc.tensors.push_back(tensor);
  }
  for (int core = 0; core < cores; ++core) {
    dsc.cores.push_back(core);
    dsc.slice.push_back({core, 0});
  }
  dsc.inputs = {0};
  dsc.outputs = {1};
  return dsc;
}

Bundle Sequence(std::vector<SuperDsc> dscs) {
  Bundle bundle;
  bundle.name = "test";
  for (size_t i = 0; i < dscs.size(); ++i) {
    bundle.files.push_back("sdsc_" + std::to_string(i) + ".json");
    BundleExecute execute;
    execute.dsc = static_cast<int>(i);
    bundle.body.emplace_back(execute);
  }
  bundle.dscs = std::move(dscs);
  return bundle;
}

// The copy's tensors at symbols -1 (from) and -2 (to), one core, in a loop.
Bundle Loop(int64_t trips, const AddressExpression& from, const AddressExpression& to,
            int64_t rows = 4) {
  SuperDsc dsc = Copy(rows, 1, 0, 0);
  for (size_t i = 0; i < 2; ++i) {
    dsc.tensors[i].symbolic = true;
    dsc.tensors[i].start = {-1 - static_cast<int64_t>(i)};
  }
  Bundle bundle = Sequence({dsc});
  std::get<BundleExecute>(bundle.body[0]).symbols = {{-1, from}, {-2, to}};
  BundleLoop loop;
  loop.count = trips;
  loop.body = std::move(bundle.body);
  bundle.body.clear();
  bundle.body.emplace_back(std::move(loop));
  bundle.arguments = {{Kind::kTensor, "a"}, {Kind::kTensor, "b"}};
  return bundle;
}

TEST(BundleArguments, AllDialectsOfASampleHaveTheSameArguments) {
  for (const char* scenario : {"softmax_lx_32x256/flat", "mm_32x128x192_m4_n3/flat",
                               "add_64x128_rows4/flat", "sum_stick_dim_32x256/flat"}) {
    Bundle newest = ReadBundle(kData / "bundles/symbolic_args" / scenario);
    BindSegments(newest);
    const auto uses = ArgumentUses(newest);
    for (const char* dialect : {"symbolic_constants", "flat_baked_addresses"}) {
      Bundle bundle = ReadBundle(kData / "bundles" / dialect / scenario);
      BindSegments(bundle);
      ASSERT_EQ(bundle.arguments.size(), newest.arguments.size()) << scenario << dialect;
      const auto same = ArgumentUses(bundle);
      for (size_t i = 0; i < uses.size(); ++i) {
        EXPECT_EQ(bundle.arguments[i].name, newest.arguments[i].name);
        EXPECT_EQ(bundle.arguments[i].kind, Kind::kTensor);
        EXPECT_EQ(same[i].bytes, uses[i].bytes) << scenario << " argument " << i;
        EXPECT_EQ(same[i].read, uses[i].read);
        EXPECT_EQ(same[i].written, uses[i].written);
        EXPECT_EQ(same[i].read_first, uses[i].read_first);
      }
    }
  }
}

TEST(BundleArguments, BytesAreThoseOfTheDeviceLayout) {
  Bundle bundle = ReadBundle(kData / "bundles/flat_baked_addresses/mm_32x128x192_m4_n3/flat");
  BindSegments(bundle);
  const auto uses = ArgumentUses(bundle);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].bytes, 2u * 32 * 128);
  EXPECT_EQ(uses[1].bytes, 3u * 128 * 128);
  EXPECT_EQ(uses[2].bytes, 3u * 32 * 128);
  EXPECT_TRUE(uses[0].read && uses[0].read_first && !uses[0].written);
  EXPECT_TRUE(uses[2].written && !uses[2].read && !uses[2].read_first);
}

TEST(BundleArguments, IntermediatesOfTheSwigluAreThePool) {
  Bundle bundle = ReadBundle(kData / "real_bundles/swiglu_512x4096x12800");
  BindSegments(bundle);
  ASSERT_GE(bundle.arguments.size(), 5u);
  EXPECT_EQ(bundle.arguments[0].kind, Kind::kPool);
  EXPECT_EQ(bundle.arguments[1].name, "arg_0");
  const auto uses = ArgumentUses(bundle);
  EXPECT_FALSE(uses[0].read_first);
  for (const SuperDsc& dsc : bundle.dscs) {
    for (const SdscTensor& tensor : dsc.tensors) EXPECT_NE(tensor.symbolic, tensor.in_lx);
  }
  Bundle again = ReadBundle(kData / "real_bundles/swiglu_512x4096x12800");
  BindSegments(again, false);
  EXPECT_EQ(again.arguments[0].kind, Kind::kTensor);
  EXPECT_EQ(again.arguments[0].name, "arg_0");
  EXPECT_EQ(again.arguments[1].name, "arg_1");
}

TEST(BundleArguments, SegmentZeroIsAPoolOnlyIfWrittenBeforeRead) {
  const int64_t a = kSegment;
  const int64_t b = 2 * kSegment;
  const auto kind = [](std::vector<SuperDsc> dscs) {
    Bundle bundle = Sequence(std::move(dscs));
    BindSegments(bundle);
    return bundle.arguments[0].kind;
  };
  EXPECT_EQ(kind({Copy(8, 4, a, 0), Copy(8, 2, 0, b)}), Kind::kPool);
  EXPECT_EQ(kind({Copy(8, 4, 0, b), Copy(8, 4, a, 0)}), Kind::kTensor);
  EXPECT_EQ(kind({Copy(8, 4, a, 0)}), Kind::kTensor);                      // an output
  EXPECT_EQ(kind({Copy(4, 4, a, 0), Copy(8, 4, 0, b)}), Kind::kTensor);    // half was written
  EXPECT_EQ(kind({Copy(8, 4, a, 128), Copy(8, 4, 0, b)}), Kind::kTensor);  // all but the first row
}

TEST(BundleArguments, LoopsAreRunInOrder) {
  // Each iteration reads what the one before wrote: only the first four rows come from outside.
  Bundle chain = Loop(5, {0, 0, {512}}, {0, 512, {512}});
  auto uses = ArgumentUses(chain);
  EXPECT_TRUE(uses[0].read_first);
  EXPECT_EQ(uses[0].bytes, 6u * 512);
  EXPECT_FALSE(uses[1].read || uses[1].written);
  // Backwards: what is written was read before.
  EXPECT_TRUE(ArgumentUses(Loop(5, {0, 5 * 512, {-512}}, {0, 4 * 512, {-512}}))[0].read_first);
  // Rows that lie between those written are not written, and those behind were not yet.
  Bundle gaps = Loop(3, {1, 0, {512}}, {0, 0, {1024}});
  Bundle reader = Loop(3, {0, 512, {1024}}, {1, 0, {512}});
  gaps.dscs.push_back(reader.dscs[0]);
  gaps.files.emplace_back("sdsc_1.json");
  std::get<BundleExecute>(std::get<BundleLoop>(reader.body[0]).body[0]).dsc = 1;
  gaps.body.push_back(reader.body[0]);
  EXPECT_TRUE(ArgumentUses(gaps)[0].read_first);
}

TEST(BundleArguments, WhatIsWrittenIsToldFromWhatIsRead) {
  // Three of every four rows: the first gap is behind them.
  const auto uses = ArgumentUses(Loop(5, {0, 512, {512}}, {1, 0, {512}}, 3));
  EXPECT_EQ(uses[0].bytes, 5u * 512 + 384);
  EXPECT_EQ(uses[0].written_bytes, 0u);
  EXPECT_EQ(uses[0].whole_bytes, 0u);
  EXPECT_EQ(uses[1].bytes, 4u * 512 + 384);
  EXPECT_EQ(uses[1].written_bytes, 4u * 512 + 384);
  EXPECT_EQ(uses[1].whole_bytes, 384u);
  EXPECT_EQ(ArgumentUses(Loop(5, {0, 0, {512}}, {1, 0, {512}}))[1].whole_bytes, 5u * 512);
  EXPECT_EQ(ArgumentUses(Loop(5, {0, 0, {512}}, {1, 128, {512}}))[1].whole_bytes, 0u)
      << "the first row is not written";
}

TEST(BundleArguments, LargeTensorsAndLongLoopsTakeNoTime) {
  // 2^40 rows in 2^30 trips: intervals, not runs.
  const Bundle bundle = Loop(1ll << 30, {0, 0, {1 << 10}}, {1, 0, {1 << 10}}, 1 << 3);
  const auto uses = ArgumentUses(bundle);
  EXPECT_EQ(uses[0].bytes, ((1ull << 30) - 1) * 1024 + 1024);
  EXPECT_TRUE(uses[1].written);
}

TEST(BundleArguments, AddressesOutsideAreRefusedByName) {
  const auto bind = [](SuperDsc dsc) {
    return Refusal([&] {
      Bundle bundle = Sequence({std::move(dsc)});
      BindSegments(bundle);
    });
  };
  EXPECT_THAT(bind(Copy(8, 4, 7 * kSegment, 0)), HasSubstr("sdsc_0.json: Tensor0 reaches from"));
  EXPECT_THAT(bind(Copy(8, 4, kSegment - 512, 0)), HasSubstr("one of the segments 0 to 6"));
  EXPECT_THAT(Refusal([] {
                ArgumentUses(Loop(5, {0, 0, {-512}}, {1, 0, {0}}));
              }),
              HasSubstr("Tensor0 begins before its argument"));
  EXPECT_THAT(Refusal([] {
                ArgumentUses(Loop(1ll << 40, {0, 0, {1ll << 40}}, {1, 0, {0}}));
              }),
              HasSubstr("beyond 64 bits"));
  EXPECT_THAT(Refusal([] {
                ArgumentUses(Loop(3, {-1, 0, {}}, {1, 0, {0}}));
              }),
              HasSubstr("belongs to no argument"));
  Bundle unbound = Loop(3, {0, 0, {0}}, {1, 0, {0}});
  unbound.dscs[0].tensors[0].start = {-9};
  EXPECT_THAT(Refusal([&] { ArgumentUses(unbound); }),
              HasSubstr("Tensor0 uses symbol -9, which the bundle does not bind"));
}

TEST(BundleArguments, DimensionsDoNotStandForTensors) {
  Bundle bundle = Loop(3, {-1, kSegment, {512}}, {-1, 3 * kSegment, {512}});
  bundle.arguments = {{Kind::kDimension, "s0", 3}};
  std::get<BundleLoop>(bundle.body[0]).count_argument = 0;
  BindSegments(bundle);
  ASSERT_EQ(bundle.arguments.size(), 3u);
  EXPECT_EQ(bundle.arguments[0].kind, Kind::kDimension);
  EXPECT_EQ(bundle.arguments[1].name, "arg_1");
  EXPECT_EQ(ArgumentUses(bundle)[2].bytes, 3u * 512);
}

}  // namespace
}  // namespace spyre::compiler::bundle_arguments_test
