// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters of bundles: the generated program does what the reference does.
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/cosim/reference/bundle_builder.h"
#include "tests/unit/cosim/reference/bundle_check.h"

namespace spyre::cosim::bundle_indirect_test {
namespace {

using bundle_check::ExpectSame;
using compiler::Bundle;

// A table of bundle_check::kIndexedRows blocks of x * 128 elements in argument 1; indices of
// positions y * mb, the ones of mb in sticks, in argument 2. They choose blocks for argument 3 (a
// gather), or places in the table for blocks of argument 3 (a scatter).
Bundle Chosen(bool gather, int64_t mb, int64_t y, int64_t x, int slices, bool in_lx) {
  Bundle bundle = test::BundleWithTensors(4);
  test::DscBuilder table(
      "identity",
      {{"v", bundle_check::kIndexedRows, 0, 1}, {"x", x, 0, slices}, {"out", 128, 0, 1}});
  table.Hbm(0, {"v", "x", "out"}, "out");
  table.Hbm(1, {"out", "x", "v"}, "out");
  const std::vector<compiler::SdscDim> dims = {
      {"y", y, 0, 1}, {"mb", mb, 0, 1}, {"x", x, 0, slices}, {"out", 128, 0, 1}};
  test::DscBuilder move("identity", dims);
  test::DscBuilder other("identity", dims);
  const std::vector<std::string> order = {"mb", "out", "x", "y"};
  const int index = move.Hbm(2, {"y", "mb"}, "mb", 32, DataFormat::kSenUint32);
  const auto chosen = [&] {
    move.Choose(move.Hbm(1, {"out", "x", "mb", "y"}, "out"), {"mb", "y"}, index);
  };
  const auto with = [&] { in_lx ? move.Lx(4096, order, "out") : move.Hbm(3, order, "out"); };
  if (gather) chosen();
  with();
  if (!gather) chosen();
  if (gather) {
    other.Lx(4096, order, "out");
    other.Hbm(3, order, "out");
  } else {
    other.Hbm(3, order, "out");
    other.Lx(4096, order, "out");
  }
  table.AppendTo(bundle, bundle.body);
  if (in_lx && !gather) other.AppendTo(bundle, bundle.body);
  move.AppendTo(bundle, bundle.body);
  if (in_lx && gather) other.AppendTo(bundle, bundle.body);
  return bundle;
}

TEST(BundleIndirect, AnIndexChoosesBlocksToReadOrToWrite) {
  uint32_t seed = 0;
  for (const bool gather : {true, false}) {
    for (const auto& [mb, y] : {std::pair<int64_t, int64_t>{1, 1}, {5, 1}, {1, 3}, {40, 3}}) {
      for (const auto& [x, slices] : {std::pair<int64_t, int>{1, 1}, {6, 1}, {6, 3}}) {
        for (const bool in_lx : {false, true}) {
          ExpectSame(Chosen(gather, mb, y, x, slices, in_lx), ++seed);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Elements of argument 3 go to rows of the table that an index of their own chooses.
TEST(BundleIndirect, AnIndexForEachElementChoosesItsRow) {
  uint32_t seed = 100;
  for (const int64_t positions : {1, 5, 12}) {
    for (const auto& [columns, slices] :
         {std::pair<int64_t, int>{64, 1}, {40, 1}, {192, 3}, {300, 1}}) {
      for (const bool in_lx : {false, true}) {
        Bundle bundle = test::BundleWithTensors(4);
        const int64_t whole =
            (columns + 63) / 64 * 64;  // lanes behind the columns stay as they are
        const std::vector<compiler::SdscDim> dims = {{"mb", positions, 0, 1},
                                                     {"out", columns, 0, slices}};
        test::DscBuilder table(
            "identity", {{"v", bundle_check::kIndexedRows, 0, 1}, {"out", whole, 0, slices}});
        table.Hbm(0, {"v", "out"}, "out");
        table.Hbm(1, {"out", "v"}, "out");
        table.AppendTo(bundle, bundle.body);
        if (in_lx) {
          test::DscBuilder other("identity", dims);
          other.Hbm(3, {"mb", "out"}, "out");
          other.Lx(4096, {"out", "mb"}, "out");
          other.AppendTo(bundle, bundle.body);
        }
        test::DscBuilder move("identity", dims);
        const int index = move.Hbm(2, {"mb", "out"}, "out", 32, DataFormat::kSenUint32);
        in_lx ? move.Lx(4096, {"out", "mb"}, "out") : move.Hbm(3, {"mb", "out"}, "out");
        move.Choose(move.Hbm(1, {"out", "mb"}, "out"), {"mb"}, index);
        move.AppendTo(bundle, bundle.body);
        ExpectSame(bundle, ++seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BundleIndirect, IndicesOfElementsOnSeveralCoresAreRefused) {
  Bundle bundle = test::BundleWithTensors(3);
  test::DscBuilder move("identity", {{"mb", 4, 0, 2}, {"out", 64, 0, 1}});
  const int index = move.Hbm(0, {"mb", "out"}, "out", 32, DataFormat::kSenUint32);
  move.Hbm(1, {"mb", "out"}, "out");
  move.Choose(move.Hbm(2, {"out", "mb"}, "out"), {"mb"}, index);
  move.AppendTo(bundle, bundle.body);
  BindSegments(bundle);
  try {
    GenerateBundleKernel(bundle, bundle_check::Arguments(bundle, ArgumentUses(bundle)), {});
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("on one core"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace spyre::cosim::bundle_indirect_test
