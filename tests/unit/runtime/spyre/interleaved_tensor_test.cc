// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/error.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/unit/driver/fake_card.h"

namespace spyre::runtime::interleaved_tensor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StickLayout Layout(const std::vector<int64_t>& shape) {
  return DefaultLayout(shape, DataFormat::kSen169Fp16);
}

class InterleavedTensor : public testing::Test {
 protected:
  flex::RuntimeContext& Open(driver::FunctionId function) {
    context_.reset();
    if (function != 0) {
      driver::Device physical(card_, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    context_ = std::make_unique<flex::RuntimeContext>(card_, function);
    return *context_;
  }
  test::FakeCard card_;
  std::unique_ptr<flex::RuntimeContext> context_;
};

TEST_F(InterleavedTensor, ChunksLieInRegionsOfTheirOwn) {
  flex::RuntimeContext& context = Open(1);
  const SpyreTensor tensor = AllocateTensorInterleaved(context, Layout({8, 320}), 3, 64);
  std::vector<uint32_t> regions;
  std::vector<uint64_t> offsets;
  for (const TensorChunk& chunk : tensor.chunks) {
    regions.push_back(std::get<flex::VFDeviceHandle>(chunk.handle).region_id);
    offsets.push_back(chunk.offset);
  }
  EXPECT_THAT(regions, ElementsAre(0, 1, 0)) << "the function has two tensor regions";
  EXPECT_THAT(offsets, ElementsAre(0, 2 * 8 * 128, 4 * 8 * 128));
  EXPECT_EQ(tensor.chunks.back().size_bytes, 8u * 128);
  EXPECT_EQ(ChunkedDimension(tensor.layout), 1) << "stick columns are outermost";
  EXPECT_EQ(ChunkElements(tensor), 128);
  EXPECT_EQ(tensor.stride, ByteStrides(Layout({8, 320}))) << "those of one piece";
  EXPECT_EQ(LocationOf(tensor, 3 * 8 * 128 + 128),
            flex::Offset(tensor.chunks[1].handle, 8 * 128 + 128));
}

TEST_F(InterleavedTensor, CopiesAreOneTransferForEachChunk) {
  for (const driver::FunctionId function : {0, 1}) {
    flex::RuntimeContext& context = Open(function);
    SpyreStream stream(context);
    std::vector<uint16_t> data(8 * 300);
    for (size_t i = 0; i < data.size(); ++i) data[i] = HalfFromFloat(static_cast<float>(i % 501));
    const SpyreTensor tensor = AllocateTensorInterleaved(context, Layout({8, 300}), 5);
    CopyTensorToDevice(stream, tensor, data.data(), DataFormat::kIeeeFp16);
    std::vector<uint16_t> back(data.size());
    CopyTensorFromDevice(stream, tensor, back.data(), DataFormat::kIeeeFp16);
    stream.Synchronize();
    EXPECT_EQ(back, data);
    EXPECT_EQ(context.CompletedOperations().size(), 10u);
  }
}

TEST_F(InterleavedTensor, DimensionsOfOneElementAreNotDivided) {
  flex::RuntimeContext& context = Open(0);
  const SpyreTensor rows = AllocateTensorInterleaved(context, Layout({8, 64}), 4);
  EXPECT_EQ(ChunkedDimension(rows.layout), 0);
  EXPECT_EQ(ChunkElements(rows), 2);
  const SpyreTensor one = AllocateTensorInterleaved(context, Layout({8, 64}), 1);
  EXPECT_TRUE(one.chunks.empty()) << "in one piece";
  EXPECT_EQ(PiecesOf(one).size(), 1u);
}

TEST_F(InterleavedTensor, MemoryIsFreedWithTheLastCopy) {
  flex::RuntimeContext& context = Open(0);
  {
    SpyreTensor first = AllocateTensorInterleaved(context, Layout({8, 256}), 4);
    const SpyreTensor second = first;
    first = SpyreTensor();
    EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).live_allocations, 4u);
  }
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).live_allocations, 0u);
}

TEST_F(InterleavedTensor, NumbersOfChunksThatDoNotFitAreRefused) {
  flex::RuntimeContext& context = Open(0);
  const auto failure = [&](const std::vector<int64_t>& shape, int chunks, int64_t granularity) {
    try {
      AllocateTensorInterleaved(context, Layout(shape), chunks, granularity);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(failure({8, 256}, 5, 1), HasSubstr("make 1 to 4"));
  EXPECT_THAT(failure({8, 256}, 0, 1), HasSubstr("0 chunks"));
  EXPECT_THAT(failure({8, 256}, -1, 1), HasSubstr("-1 chunks"));
  EXPECT_THAT(failure({8, 256}, 2, 100), HasSubstr("a multiple of 64"));
  EXPECT_THAT(failure({8, 256}, 2, 0), HasSubstr("multiples of 0"));
  EXPECT_THAT(failure({8, 320}, 4, 1), HasSubstr("use 3 chunks"));
  EXPECT_THAT(failure({1, 64}, 2, 1), HasSubstr("make 1 to 1"));
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).live_allocations, 0u);
}

}  // namespace
}  // namespace spyre::runtime::interleaved_tensor_test
