// SPDX-License-Identifier: Apache-2.0
// Host tensors: every format keeps what it is given, and names are checked.
#include "cosim/tensors/host_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
