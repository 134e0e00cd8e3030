// SPDX-License-Identifier: Apache-2.0
// Host tensors: every format keeps what it is given, and names are checked.
#include "cosim/tensors/host_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"

namespace spyre::cosim::host_data_test {
namespace {

TEST(HostData, EveryFormatGivesBackWhatItWasGiven) {
  for (const HostFormat& format : HostFormats()) {
    HostData data(static_cast<size_t>(4 * format.bytes));
    const double most = format.format == DataFormat::kBool ? 1 : 100;
    StoreHost(format.format, most, data.data(), 2);
    StoreHost(format.format, format.format == DataFormat::kBool ? 0 : -7, data.data(), 3);
    EXPECT_EQ(HostValue(format.format, HostBits(format.format, data.data(), 2)), most)
        << format.name;
    EXPECT_EQ(HostValue(format.format, HostBits(format.format, data.data(), 3)),
              format.format == DataFormat::kBool ? 0 : -7)
        << format.name;
    EXPECT_EQ(HostBits(format.format, data.data(), 1), 0u) << format.name;
  }
}

TEST(HostData, IntegersSaturateAndRoundToEven) {
  HostData data(4);
  StoreHost(DataFormat::kSenInt8, 300, data.data(), 0);
  StoreHost(DataFormat::kSenInt8, -300, data.data(), 1);
  StoreHost(DataFormat::kSenInt8, 2.5, data.data(), 2);
  EXPECT_EQ(HostValue(DataFormat::kSenInt8, HostBits(DataFormat::kSenInt8, data.data(), 0)), 127);
  EXPECT_EQ(HostValue(DataFormat::kSenInt8, HostBits(DataFormat::kSenInt8, data.data(), 1)), -128);
  EXPECT_EQ(HostValue(DataFormat::kSenInt8, HostBits(DataFormat::kSenInt8, data.data(), 2)), 2);
}

// A block holds what its elements hold that are stored one by one: ties, both ends of the range and
// what is not a number among them.
TEST(HostData, BlocksHoldWhatSingleElementsHold) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values = {0.0,   -0.0,     infinity, -infinity, std::nan(""), -std::nan(""),
                                65504, 65519.99, 65520,    -65520,    1e300,        5e-324,
                                2.5,   -3.5,     1e10,     -1e10,     0.3,          -0.3};
  for (int exponent = -30; exponent < 20; ++exponent) {
    for (const double significand : {1.0, 1 + 1.0 / 2048, 1 + 3.0 / 2048, 1 + 1.0 / 2048 + 1e-12,
                                     1 + 1.0 / 2048 - 1e-12, 2 - 1.0 / 2048, 2 - 1e-15})
      values.push_back(std::ldexp(significand, exponent));
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 10000; ++i)
    values.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                                static_cast<int>(random() % 60) - 95));
  for (const HostFormat& format : HostFormats()) {
    const auto count = static_cast<int64_t>(values.size());
    HostData block(static_cast<size_t>((count + 3) * format.bytes)), single(block.size());
    StoreHost(format.format, values.data(), count, block.data(), 3);
    for (int64_t i = 0; i < count; ++i)
      StoreHost(format.format, values[static_cast<size_t>(i)], single.data(), i + 3);
    for (int64_t i = 0; i < count + 3; ++i) {
      ASSERT_EQ(HostBits(format.format, block.data(), i), HostBits(format.format, single.data(), i))
          << format.name << ", element " << i;
    }
  }
}

TEST(HostData, WholeNumbersBeyondTheTypeAreItsLargestAndItsLeast) {
  const auto stored = [](DataFormat format, double value) {
    std::array<uint8_t, 8> bytes{};
    StoreHost(format, value, bytes.data(), 0);
    return HostBits(format, bytes.data(), 0);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double large : {0x1p63, 1e300, infinity}) {
    EXPECT_EQ(stored(DataFormat::kIeeeInt64, large), 0x7FFFFFFFFFFFFFFFu);
    EXPECT_EQ(stored(DataFormat::kIeeeInt64, -large), 0x8000000000000000u);
    EXPECT_EQ(stored(DataFormat::kIeeeInt32, large), 0x7FFFFFFFu);
  }
  EXPECT_EQ(stored(DataFormat::kIeeeInt64, 0x1.fffffffffffffp62), 0x7FFFFFFFFFFFFC00u);
  EXPECT_EQ(stored(DataFormat::kIeeeInt32, 2147483647.0), 0x7FFFFFFFu);
  EXPECT_EQ(stored(DataFormat::kIeeeInt64, std::nan("")), 0u);
}

TEST(HostData, NamesAreCheckedWithTheNearest) {
  EXPECT_EQ(HostFormatNamed("float32").format, DataFormat::kIeeeFp32);
  try {
    HostFormatNamed("float23");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("float32"));
  }
  EXPECT_THROW(HostFormatOf(DataFormat::kSen143Fp8), Error);
}

}  // namespace
}  // namespace spyre::cosim::host_data_test
