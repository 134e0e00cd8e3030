// SPDX-License-Identifier: Apache-2.0
// Generated inputs repeat, and are distributed as they say.
#include "cosim/tensors/input_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace spyre::cosim::input_data_test {
namespace {

WorkloadTensor Halves(int position, int64_t elements) {
  WorkloadTensor tensor;
  tensor.position = position;
  tensor.shape = {elements};
  return tensor;
}

TEST(InputData, GeneratedInputsRepeatAndDependOnSeedAndTensor) {
  InputOptions options;
  const auto a = LoadInput(options, Halves(0, 4096));
  EXPECT_EQ(a, LoadInput(options, Halves(0, 4096)));
  EXPECT_NE(a, LoadInput(options, Halves(1, 4096)));
  options.seed = 2;
  EXPECT_NE(a, LoadInput(options, Halves(0, 4096)));
}

TEST(InputData, GeneratedDataHaveTheMeanAndScaleOfTheirTensor) {
  WorkloadTensor tensor = Halves(0, 4096);
  const HostData plain = LoadInput({}, tensor);
  tensor.mean = 1;
  tensor.scale = 0.25;
  const HostData data = LoadInput({}, tensor);
  const auto at = [](const HostData& from, int64_t i) {
    return HostValue(DataFormat::kIeeeFp16, HostBits(DataFormat::kIeeeFp16, from.data(), i));
  };
  for (int64_t i = 0; i < 4096; ++i) EXPECT_NEAR(at(data, i), 1 + at(plain, i) / 4, 1e-3) << i;
}

TEST(InputData, WhatTheWorkloadKnowsIsNotGenerated) {
  WorkloadTensor tensor = Halves(0, 3);
  tensor.data = std::make_shared<const HostData>(HostData{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(LoadInput({}, tensor), *tensor.data);
}

TEST(InputData, DistributionsAreWhatTheySay) {
  const auto moments = [](Distribution distribution, double& low, double& high) {
    InputOptions options;
    options.distribution = distribution;
    double sum = 0, squares = 0;
    low = 1e9, high = -1e9;
    const HostData data = LoadInput(options, Halves(0, 100000));
    for (int64_t i = 0; i < 100000; ++i) {
      const double x =
          HostValue(DataFormat::kIeeeFp16, HostBits(DataFormat::kIeeeFp16, data.data(), i));
      sum += x, squares += x * x;
      low = std::min(low, x), high = std::max(high, x);
    }
    const double mean = sum / 100000;
    return std::make_pair(mean, std::sqrt(squares / 100000 - mean * mean));
  };
  double low = 0, high = 0;
  const auto uniform = moments(Distribution::kUniform, low, high);
  EXPECT_NEAR(uniform.first, 0, 0.01);
  EXPECT_GE(low, -1);
  EXPECT_LE(high, 1);
  const auto normal = moments(Distribution::kNormal, low, high);
  EXPECT_NEAR(normal.first, 0, 0.01);
  EXPECT_NEAR(normal.second, 1, 0.01);
  moments(Distribution::kSmall, low, high);
  EXPECT_GE(low, -0.0625);
  EXPECT_LE(high, 0.0625);
  moments(Distribution::kPositive, low, high);
  EXPECT_GE(low, 0.0625);
  EXPECT_LE(high, 4);
}

// What the generator is defined to be, element by element: files of results rest on it.
double Defined(Distribution distribution, uint64_t seed, uint64_t position, uint64_t index) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + (position + 1) * 0xD1B54A32D192ED03u + index;
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  const double unit = std::ldexp(static_cast<double>(z >> 40), -24);
  switch (distribution) {
    case Distribution::kNormal: {
      double sum = 0;
      for (int i = 0; i < 4; ++i) sum += static_cast<double>((z >> (16 * i)) % 65536) - 32767.5;
      return sum * (1.7320508075688772 / 65536);
    }
    case Distribution::kPositive:
      return 0.0625 + unit * 3.9375;
    case Distribution::kSmall:
      return (unit * 2 - 1) / 16;
    default:
      return unit * 2 - 1;
  }
}

TEST(InputData, GeneratedInputsHaveTheBitsOfTheirDefinition) {
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kNormal,
                                          Distribution::kPositive, Distribution::kSmall}) {
    for (const DataFormat format :
         {DataFormat::kIeeeFp16, DataFormat::kIeeeFp32, DataFormat::kSenInt8}) {
      WorkloadTensor tensor = Halves(2, 10007);  // several blocks, the last one short
      tensor.host_format = format;
      InputOptions options;
      options.distribution = distribution;
      options.seed = 77;
      const HostData data = LoadInput(options, tensor);
      HostData expected(data.size());
      const double scale = format == DataFormat::kSenInt8 ? 8 : 1;
      for (int64_t i = 0; i < 10007; ++i)
        StoreHost(format, scale * Defined(distribution, 77, 2, i), expected.data(), i);
      ASSERT_EQ(data, expected) << static_cast<int>(distribution) << " " << FormatName(format);
    }
  }
}

TEST(InputData, AConstantFillsItsTensor) {
  WorkloadTensor tensor = Halves(0, 700);
  tensor.constant = -1.5;
  const HostData data = LoadInput({}, tensor);
  for (int64_t i = 0; i < 700; ++i)
    ASSERT_EQ(HostBits(DataFormat::kIeeeFp16, data.data(), i), 0xBE00u) << "element " << i;
}

}  // namespace
}  // namespace spyre::cosim::input_data_test
