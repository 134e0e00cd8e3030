// SPDX-License-Identifier: Apache-2.0
#include "model/contract/stick_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "tests/paths.h"
#include "tests/unit/random_cases.h"

namespace spyre::stick_layout_test {
namespace {

using F = DataFormat;
using Ints = std::vector<int64_t>;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(StickLayout, AgreesWithThePublishedSamples) {
  std::ifstream file(SPYRE_SOURCE_DIR "/tests/data/cases/device_layout.jsonl");
  ASSERT_TRUE(file.is_open());
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const nlohmann::json sample = SortedJsonOf(line);
    SCOPED_TRACE(sample.at("id").get<std::string>());
    const F format = DeviceFormatOf(FormatFromName(sample.at("dtype").get<std::string>()));
    const StickLayout layout =
        MakeLayout(sample.at("host_size").get<Ints>(), sample.at("host_stride").get<Ints>(), format,
                   sample.at("dim_order").get<std::vector<int>>());
    const nlohmann::json& expected = sample.at("expected");
    EXPECT_EQ(layout.device_size, expected.at("device_size").get<Ints>());
    EXPECT_EQ(layout.stride_map, expected.at("stride_map").get<Ints>());
    EXPECT_EQ(ElementsPerStick(format), expected.at("elems_per_stick").get<int>());
    EXPECT_EQ(layout.DeviceBytes(), expected.at("device_bytes").get<int64_t>());
  }
  EXPECT_GE(cases, 6);
}

TEST(StickLayout, AgreesWithTheDocumentedExamples) {
  const StickLayout matrix = DefaultLayout({1024, 256}, F::kSen169Fp16);
  EXPECT_THAT(matrix.device_size, ElementsAre(4, 1024, 64));
  EXPECT_THAT(matrix.stride_map, ElementsAre(64, 256, 1));
  EXPECT_THAT(matrix.host_dim, ElementsAre(1, 0, 1));
  EXPECT_EQ(matrix.stick_dim(), 1);

  const StickLayout padded = DefaultLayout({5, 100, 150}, F::kSen169Fp16);
  EXPECT_THAT(padded.device_size, ElementsAre(100, 3, 5, 64));
  EXPECT_THAT(padded.stride_map, ElementsAre(150, 64, 15000, 1));
  EXPECT_EQ(padded.DeviceBytes(), 100 * 3 * 5 * 128);

  const StickLayout vector = DefaultLayout({100}, F::kIeeeFp32);
  EXPECT_THAT(vector.device_size, ElementsAre(4, 32));
  EXPECT_THAT(vector.stride_map, ElementsAre(32, 1));

  const StickLayout scalar = DefaultLayout({}, F::kSen169Fp16);
  EXPECT_THAT(scalar.device_size, ElementsAre(1, 64));
  EXPECT_THAT(scalar.stride_map, ElementsAre(-1, -1));
  EXPECT_EQ(scalar.stick_dim(), -1);

  const StickLayout one_column = DefaultLayout({5, 1}, F::kSen169Fp16);
  EXPECT_THAT(one_column.device_size, ElementsAre(1, 5, 64));
  EXPECT_THAT(one_column.stride_map, ElementsAre(-1, 1, -1));
}

TEST(StickLayout, ASparseLayoutHoldsOneElementInEachStickAndAScalarHasOneLayout) {
  const StickLayout sparse = SparseLayout({3, 5}, DataFormat::kSen169Fp16);
  EXPECT_EQ(sparse.stick_dim(), -1);
  EXPECT_EQ(sparse.DeviceBytes(), 3 * 5 * 128);
  EXPECT_EQ(SparseLayout({}, DataFormat::kSen169Fp16).device_size,
            DefaultLayout({}, DataFormat::kSen169Fp16).device_size);
}

TEST(StickLayout, DeviceStridesAreBytesFromIndexToIndexAndFromStickToStick) {
  const StickLayout padded = DefaultLayout({5, 100, 150}, F::kSen169Fp16);
  EXPECT_EQ(padded.DeviceByteStride(0), 128);          // innermost before the stick
  EXPECT_EQ(padded.DeviceByteStride(2), 5 * 128);      // from one stick of the row to the next
  EXPECT_EQ(padded.DeviceByteStride(1), 3 * 5 * 128);  // outermost
  const StickLayout column = DefaultLayout({7, 1, 64}, F::kSen169Fp16);
  EXPECT_EQ(column.DeviceByteStride(1), 0);
  EXPECT_THROW((void)column.DeviceByteStride(3), Error);
  EXPECT_THROW((void)column.DeviceByteStride(-1), Error);
}

TEST(StickLayout, RefusesWhatHasNoLayoutAndSaysWhy) {
  const auto message = [](const Ints& size, const Ints& stride, const std::vector<int>& order,
                          F format = F::kSen169Fp16) -> std::string {
    try {
      MakeLayout(size, stride, format, order);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message({2, 2, 2, 2, 2, 2, 2}, {64, 32, 16, 8, 4, 2, 1}, {0, 1, 2, 3, 4, 5, 6}),
              HasSubstr("at most 6"));
  EXPECT_THAT(message({4, 4}, {4}, {0, 1}), HasSubstr("2 dimensions but 1 strides"));
  EXPECT_THAT(message({4, 0}, {4, 1}, {0, 1}), HasSubstr("size 0"));
  EXPECT_THAT(message({4, 4}, {4, -1}, {0, 1}), HasSubstr("stride -1"));
  EXPECT_THAT(message({4, 4}, {4, 1}, {0, 0}), HasSubstr("dimension order [0, 0]"));
  EXPECT_THAT(message({4, 4}, {4, 1}, {0}), HasSubstr("dimension order [0]"));
  EXPECT_THAT(message({4, 4}, {4, 1}, {-1, 0, 1}), HasSubstr("dimension order"));
  EXPECT_THAT(message({int64_t{1} << 40, int64_t{1} << 40}, {1, 1}, {0, 1}),
              HasSubstr("too large"));
  EXPECT_THAT(message({4}, {1}, {0}, F::kSenInt2), HasSubstr("SENINT2"));
  EXPECT_THROW(DefaultLayout({int64_t{1} << 40, int64_t{1} << 40}, F::kSen169Fp16), Error);
}

TEST(PlanConversion, ReproducesThePublishedBoxes) {
  const DataConversion weight =
      PlanConversion(DefaultLayout({4096, 4096}, F::kSen169Fp16), F::kIeeeFp16, true);
  EXPECT_EQ(weight.source_format, F::kIeeeFp16);
  EXPECT_EQ(weight.destination_format, F::kSen169Fp16);
  ASSERT_EQ(weight.boxes.size(), 1U);
  EXPECT_THAT(weight.boxes[0].sizes, ElementsAre(64, 4096, 64));
  EXPECT_THAT(weight.boxes[0].source_strides, ElementsAre(1, 4096, 64));
  EXPECT_THAT(weight.boxes[0].destination_strides, ElementsAre(1, 64, 262144));
}

TEST(PlanConversion, GivesAPartlyFilledStickItsOwnBox) {
  const StickLayout layout = DefaultLayout({5, 100, 150}, F::kSen169Fp16);
  const DataConversion plan = PlanConversion(layout, F::kIeeeFp16, true);
  ASSERT_EQ(plan.boxes.size(), 2U);
  EXPECT_THAT(plan.boxes[0].sizes, ElementsAre(64, 5, 2, 100));
  EXPECT_THAT(plan.boxes[0].source_strides, ElementsAre(1, 15000, 64, 150));
  EXPECT_THAT(plan.boxes[0].destination_strides, ElementsAre(1, 64, 320, 960));
  EXPECT_THAT(plan.boxes[1].sizes, ElementsAre(22, 5, 1, 100));
  EXPECT_EQ(plan.boxes[1].source_offset, 128);
  EXPECT_EQ(plan.boxes[1].destination_offset, 640);

  const DataConversion back = PlanConversion(layout, F::kIeeeFp16, false);
  EXPECT_FALSE(back.to_device);
  EXPECT_EQ(back.source_format, F::kSen169Fp16);
  EXPECT_EQ(back.boxes[1].source_offset, 640);
  EXPECT_EQ(back.boxes[1].destination_offset, 128);
  EXPECT_THAT(back.boxes[0].destination_strides, ElementsAre(1, 15000, 64, 150));
}

TEST(PlanConversion, RefusesAPairOfFormatsThatCannotBeConverted) {
  const StickLayout layout = DefaultLayout({4}, F::kSen169Fp16);
  EXPECT_THROW(PlanConversion(layout, F::kSenInt8, true), Error);
}

TEST(RunConversion, MovesTransposedAndSparseTensorsElementByElement) {
  const std::vector<float> host = {1, 2, 3, 4, 5, 6};  // [2, 3]
  const StickLayout columns = MakeLayout({2, 3}, {3, 1}, F::kSen169Fp16, {1, 0});
  std::vector<uint16_t> image(static_cast<size_t>(columns.DeviceBytes()) / 2);
  RunConversion(PlanConversion(columns, F::kIeeeFp32, true), host.data(), image.data());
  ASSERT_EQ(image.size(), 3U * 64);
  for (int column = 0; column < 3; ++column) {
    EXPECT_EQ(DlfToFloat(image[column * 64]), host[column]);
    EXPECT_EQ(DlfToFloat(image[column * 64 + 1]), host[column + 3]);
    EXPECT_EQ(image[column * 64 + 2], 0);
  }

  const StickLayout sparse = MakeLayout({6}, {1}, F::kSen169Fp16, {0, -1});
  ASSERT_EQ(sparse.DeviceBytes(), 6 * 128);
  std::vector<uint16_t> sticks(6 * 64, 0xDEAD);
  RunConversion(PlanConversion(sparse, F::kIeeeFp32, true), host.data(), sticks.data());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(DlfToFloat(sticks[i * 64]), host[i]);
    EXPECT_EQ(sticks[i * 64 + 1], 0xDEAD);  // only element 0 of a sparse stick is written
  }
}

TEST(RunConversion, PackedFormatsWorkByWholeBytesOrAreRefused) {
  const std::vector<float> host = {1, 2, 3, -4, 5, 6};
  const StickLayout rows = DefaultLayout({2, 3}, F::kSenInt4);
  std::vector<uint8_t> image(static_cast<size_t>(rows.DeviceBytes()));
  RunConversion(PlanConversion(rows, F::kIeeeFp32, true), host.data(), image.data());
  EXPECT_EQ(image[0], 0x21);
  EXPECT_EQ(image[1], 0x03);
  EXPECT_EQ(image[128], 0x5C);
  EXPECT_EQ(image[129], 0x06);
  const std::vector<uint8_t> packed(3);
  EXPECT_THROW(RunConversion(PlanConversion(rows, F::kSenInt4, true), packed.data(), image.data()),
               Error);
  const StickLayout sparse = MakeLayout({6}, {1}, F::kSenInt4, {0, -1});
  std::vector<uint8_t> sticks(6 * 128);
  RunConversion(PlanConversion(sparse, F::kIeeeFp32, true), host.data(), sticks.data());
  EXPECT_EQ(sticks[3 * 128], 0x0C);
}

TEST(RunConversion, RefusesABoxWhoseStridesDoNotMatchItsSizes) {
  DataConversion broken = PlanConversion(DefaultLayout({4}, F::kSen169Fp16), F::kIeeeFp16, true);
  broken.boxes[0].source_strides.pop_back();
  uint8_t bytes[256] = {};
  EXPECT_THROW(RunConversion(broken, bytes, bytes), Error);
}

// ---- random tensors ----

struct Tensor {
  StickLayout layout;
  int64_t host_elements;  // that the host buffer must hold
};

// Rank 0..6, sizes that cross a stick now and then, any order of dimensions in memory (with gaps)
// and in the layout, sometimes sparse.
Tensor AnyTensor(std::mt19937& random, F format) {
  const int rank = test::Draw(random, 0, 6);
  Ints size(rank);
  int64_t elements = 1;
  for (int64_t& extent : size) {
    extent = test::Draw<int64_t>(random, 1, random() % 7 < 6 ? 4 : 149);
    if (elements * extent > 20000) extent = 1;
    elements *= extent;
  }
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const auto shuffled = [&random](std::vector<int> dims) {
    for (size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[random() % i]);
    return dims;
  };
  Ints stride(rank);
  int64_t step = 1;
  for (const int d : shuffled(order)) {
    stride[d] = step;
    step *= size[d] + static_cast<int64_t>(random() % 2);
  }
  std::vector<int> dim_order = shuffled(order);
  if (rank >= 1 && rank <= 5 && random() % 4 == 0) dim_order.push_back(-1);
  return {MakeLayout(size, stride, format, dim_order), step};
}

// Calls visit(host element, device element) for every element, from the definition: the device
// image is row-major over device_size.
template <typename Visit>
void ForEachElement(const StickLayout& layout, Visit visit) {
  const int64_t stick = layout.device_size.back();
  Ints index(layout.host_size.size(), 0);
  for (;;) {
    int64_t host = 0;
    for (size_t d = 0; d < index.size(); ++d) host += index[d] * layout.host_stride[d];
    int64_t device = 0;
    for (size_t i = 0; i < layout.device_size.size(); ++i) {
      const int d = layout.host_dim[i];
      int64_t position = d < 0 ? 0 : index[d];
      if (d >= 0 && d == layout.stick_dim()) {
        position = i + 1 == layout.device_size.size() ? position % stick : position / stick;
      }
      device = device * layout.device_size[i] + position;
    }
    visit(host, device);
    size_t d = 0;
    while (d < index.size() && ++index[d] == layout.host_size[d]) index[d++] = 0;
    if (d == index.size()) return;
  }
}

TEST(RunConversion, PutsEveryElementAtItsDeviceAddressAndLeavesPaddingZero) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Tensor tensor = AnyTensor(random, F::kSen169Fp16);
    std::vector<uint16_t> host(tensor.host_elements);
    for (size_t i = 0; i < host.size(); ++i)
      host[i] = HalfFromFloat(1 + static_cast<float>(i % 511));
    std::vector<uint16_t> image(static_cast<size_t>(tensor.layout.DeviceBytes()) / 2);
    std::vector<uint16_t> expected(image.size());
    RunConversion(PlanConversion(tensor.layout, F::kIeeeFp16, true), host.data(), image.data());
    ForEachElement(tensor.layout, [&](int64_t at_host, int64_t at_device) {
      expected[at_device] = DlfFromHalf(host[at_host]);
    });
    EXPECT_TRUE(image == expected);
  });
}

template <typename Element>
void ExpectRoundTrip(std::mt19937& random, F host_format, F device_format,
                     Element (*value_of)(size_t)) {
  const Tensor tensor = AnyTensor(random, device_format);
  std::vector<Element> host(tensor.host_elements);
  for (size_t i = 0; i < host.size(); ++i) host[i] = value_of(i);
  std::vector<uint8_t> image(tensor.layout.DeviceBytes());
  RunConversion(PlanConversion(tensor.layout, host_format, true), host.data(), image.data());
  std::vector<Element> back(host.size(), Element{77});
  std::vector<Element> expected = back;
  RunConversion(PlanConversion(tensor.layout, host_format, false), image.data(), back.data());
  ForEachElement(tensor.layout, [&](int64_t at, int64_t) { expected[at] = host[at]; });
  EXPECT_TRUE(back == expected) << FormatName(device_format);
}

TEST(RunConversion, HostToDeviceToHostIsTheIdentityAndTouchesNothingElse) {
  test::ForSeeds(100, [](std::mt19937& random) {
    ExpectRoundTrip<uint16_t>(random, F::kIeeeFp16, F::kSen169Fp16, [](size_t i) {
      return HalfFromFloat(static_cast<float>(i % 1023) - 511);  // nine fraction bits suffice
    });
    ExpectRoundTrip<float>(random, F::kIeeeFp32, F::kIeeeFp32,
                           [](size_t i) { return static_cast<float>(i) * 0.37F; });
    ExpectRoundTrip<int64_t>(random, F::kIeeeInt64, F::kIeeeInt32,
                             [](size_t i) { return static_cast<int64_t>(i) * 1003 - 7; });
    ExpectRoundTrip<int8_t>(random, F::kSenInt8, F::kSenInt8,
                            [](size_t i) { return static_cast<int8_t>(i * 5); });
  });
}

}  // namespace
}  // namespace spyre::stick_layout_test
