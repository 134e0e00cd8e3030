// SPDX-License-Identifier: Apache-2.0
// What the arguments of a bundle look like if nothing but the bundle is there.
#include "cosim/arguments/bundle_shapes.h"

#include <gtest/gtest.h>

#include "tests/unit/cosim/reference/bundle_builder.h"

namespace spyre::cosim::bundle_shapes_test {
namespace {

TEST(ImagesOfArguments, HaveARowForEachStickAndATypeThatHoldsEveryElement) {
  compiler::Bundle bundle = test::BundleWithTensors(3);
  test::DscBuilder convert("dl16tofp32", {{"mb", 5, 0, 1}, {"out", 128, 0, 1}});
  convert.Hbm(0, {"mb", "out"}, "out");
  convert.Hbm(1, {"mb", "out"}, "out", 32, DataFormat::kIeeeFp32);
  convert.AppendTo(bundle, bundle.body);
  test::DscBuilder pack("qfp8ch", {{"mb", 5, 0, 1}, {"out", 256, 0, 1}});
  pack.Hbm(0, {"mb", "out"}, "out");
  pack.Hbm(2, {"mb", "out"}, "out", 128, DataFormat::kSen143Fp8);
  pack.AppendTo(bundle, bundle.body);
  const std::vector<ArgumentShape> shapes = ShapesOfImages(bundle, ArgumentUses(bundle));
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].shape, (std::vector<int64_t>{20, 64}));
  EXPECT_EQ(shapes[0].host_format, DataFormat::kIeeeFp32) << "float16 reaches to 65504 only";
  EXPECT_EQ(shapes[0].layout.format, DataFormat::kSen169Fp16);
  EXPECT_EQ(shapes[0].layout.DeviceBytes(), 20 * 128);
  EXPECT_EQ(shapes[1].shape, (std::vector<int64_t>{20, 32}));
  EXPECT_EQ(shapes[1].layout.format, DataFormat::kIeeeFp32);
  EXPECT_EQ(shapes[2].shape, (std::vector<int64_t>{10, 128}));
  EXPECT_EQ(shapes[2].host_format, DataFormat::kIeeeFp32);
  EXPECT_EQ(shapes[2].layout.format, DataFormat::kSen143Fp8);
  for (const ArgumentShape& shape : shapes)
    EXPECT_TRUE(CanConvert(shape.host_format, shape.layout.format) &&
                CanConvert(shape.layout.format, shape.host_format));
}

TEST(ImagesOfArguments, AnArgumentThatNothingUsesIsOneStick) {
  compiler::Bundle bundle = test::BundleWithTensors(1);
  const std::vector<ArgumentShape> shapes = ShapesOfImages(bundle, ArgumentUses(bundle));
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].shape, (std::vector<int64_t>{1, 64}));
}

}  // namespace
}  // namespace spyre::cosim::bundle_shapes_test
