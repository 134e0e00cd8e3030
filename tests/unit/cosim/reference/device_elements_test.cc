// SPDX-License-Identifier: Apache-2.0
// Device elements of the reference agree with the contract's formats and layouts, which were
// written apart from them.
#include "cosim/reference/device_elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim::device_elements_test {
namespace {

TEST(DeviceElements, Fp8ValuesAndRoundingAreThoseOfTheContract) {
  for (uint32_t code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const double e4m3 = Fp8E4M3ToFloat(byte);
    const double e5m2 = Fp8E5M2ToFloat(byte);
    if (std::isnan(e4m3)) {
      EXPECT_TRUE(std::isnan(DeviceValue(DataFormat::kSen143Fp8, code)));
    } else {
      EXPECT_EQ(DeviceValue(DataFormat::kSen143Fp8, code), e4m3) << code;
    }
    if (std::isnan(e5m2)) {
      EXPECT_TRUE(std::isnan(DeviceValue(DataFormat::kSen152Fp8, code)));
    } else {
      EXPECT_EQ(DeviceValue(DataFormat::kSen152Fp8, code), e5m2) << code;
    }
  }
  for (int i = 0; i < 1 << 16; ++i) {
    const double value = SenValue(static_cast<uint16_t>(i));
    if (std::isnan(value)) continue;
    const auto single = static_cast<float>(value);
    EXPECT_EQ(DeviceBits(DataFormat::kSen143Fp8, value), Fp8E4M3FromFloat(single)) << value;
    EXPECT_EQ(DeviceBits(DataFormat::kSen152Fp8, value), Fp8E5M2FromFloat(single)) << value;
  }
}

TEST(DeviceElements, ImagesAreThoseOfTheHostCopy) {
  struct Case {
    std::vector<int64_t> shape;
    std::vector<int> order;
    DataFormat host;
  };
  const Case cases[] = {{{5, 130}, {0, 1}, DataFormat::kIeeeFp16},
                        {{5, 130}, {1, 0}, DataFormat::kIeeeFp16},
                        {{2, 3, 70}, {0, 1, 2}, DataFormat::kIeeeFp16},
                        {{2, 3, 70}, {2, 0, 1}, DataFormat::kIeeeFp16},
                        {{6}, {0, -1}, DataFormat::kIeeeFp16},
                        {{4, 40}, {0, 1}, DataFormat::kIeeeFp32},
                        {{100}, {0}, DataFormat::kIeeeFp16},
                        {{}, {}, DataFormat::kIeeeFp16}};
  for (const Case& c : cases) {
    const StickLayout layout =
        MakeLayout(c.shape, ContiguousStrides(c.shape), DeviceFormatOf(c.host), c.order);
    int64_t elements = 1;
    for (const int64_t size : c.shape) elements *= size;
    HostData data(static_cast<size_t>(elements * HostFormatOf(c.host).bytes));
    for (int64_t i = 0; i < elements; ++i)
      StoreHost(c.host, std::sin(static_cast<double>(i)), data.data(), i);
    std::vector<uint8_t> expected(layout.DeviceBytes());
    RunConversion(PlanConversion(layout, c.host, true), data.data(), expected.data());
    EXPECT_EQ(ToDeviceImage(layout, c.host, data), expected) << c.shape.size();
    HostData back(data.size());
    RunConversion(PlanConversion(layout, c.host, false), expected.data(), back.data());
    EXPECT_EQ(FromDeviceImage(layout, c.host, expected), back) << c.shape.size();
  }
}

}  // namespace
}  // namespace spyre::cosim::device_elements_test
