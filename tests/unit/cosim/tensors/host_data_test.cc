// SPDX-License-Identifier: Apache-2.0
// Host tensors: every format keeps what it is given, and names are checked.
#include "cosim/tensors/host_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"

namespace spyre::cosim {
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
// what is no number among them.
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
    // No number has no nearest integer.
    std::vector<double> some = values;
    if (format.format != DataFormat::kIeeeFp16 && format.format != DataFormat::kIeeeFp32) {
      for (double& value : some) value = std::isfinite(value) ? value : 1;
    }
    const auto count = static_cast<int64_t>(some.size());
    HostData block(static_cast<size_t>((count + 3) * format.bytes)), single(block.size());
    StoreHost(format.format, some.data(), count, block.data(), 3);
    for (int64_t i = 0; i < count; ++i)
      StoreHost(format.format, some[static_cast<size_t>(i)], single.data(), i + 3);
    for (int64_t i = 0; i < count + 3; ++i) {
      ASSERT_EQ(HostBits(format.format, block.data(), i), HostBits(format.format, single.data(), i))
          << format.name << ", element " << i;
    }
  }
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
}  // namespace spyre::cosim
