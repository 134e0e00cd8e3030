// SPDX-License-Identifier: Apache-2.0
// Memory and streams of the card in this process, through libflex.so as programs use it. The
// process has one card, so ctest runs each test in a process of its own.
#include "tests/sdk/card.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <flex/flex.hpp>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace spyre::sdk_test::card_test {
namespace {

using ::testing::HasSubstr;

TEST(SdkMemory, SizesAreRoundedUpToSticksAndPlacesAreApart) {
  const auto context = Open();
  const flex::CompositeAddress a = Memory(*context, 1), b = Memory(*context, 129);
  EXPECT_EQ(a.total_size(), 128u);
  EXPECT_EQ(b.total_size(), 256u);
  const uint64_t at = context->getAllocator()->compositeAddressToDmva(a);
  const uint64_t next = context->getAllocator()->compositeAddressToDmva(b);
  EXPECT_TRUE(at + 128 <= next || next + 256 <= at) << at << ", " << next;
  EXPECT_LT(flex::dmvaToSegmentId(at), flex::PROG_SEGMENT);
}

TEST(SdkMemory, MemoryIsFreeAgainWhenItsAddressIsGone) {
  const auto context = Open();
  uint64_t at = 0;
  for (int i = 0; i < 1000; ++i) {  // 1000 GiB, one after the other
    const flex::CompositeAddress memory = Memory(*context, size_t{1} << 30);
    at = context->getAllocator()->compositeAddressToDmva(memory);
  }
  EXPECT_LT(at, flex::PROG_OFFSET_BASE);
}

TEST(SdkMemory, UnderPressureTheCallbackMayFreeMemoryAndTheAllocationIsTriedAgain) {
  const auto context = Open();
  std::vector<flex::CompositeAddress> held;
  int calls = 0;
  context->getAllocator()->registerMemoryPressureCallback([&](std::unique_lock<std::mutex>& lock) {
    EXPECT_TRUE(lock.owns_lock());
    lock.unlock();
    ++calls;
    held.clear();
    lock.lock();
  });
  for (int i = 0; i < 200; ++i) held.push_back(Memory(*context, size_t{1} << 30));
  EXPECT_GE(calls, 1);
  EXPECT_LE(calls, 3);
}

TEST(SdkMemory, WhatNoCallbackCanHelpIsRefusedWithTheSizes) {
  const auto context = Open();
  int calls = 0;
  context->getAllocator()->registerMemoryPressureCallback(
      [&](std::unique_lock<std::mutex>&) { ++calls; });
  EXPECT_THAT(ErrorOf([&] { Memory(*context, size_t{1} << 50); }),
              HasSubstr(std::to_string(size_t{1} << 50)));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(context->hasStreamError());
  Memory(*context, 128);  // it goes on
}

TEST(SdkStreams, BytesComeBackAsTheyWent) {
  const auto context = Open();
  const flex::CompositeAddress memory = Memory(*context, 1 << 20);
  std::vector<uint8_t> sent(1 << 20), back(1 << 20);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>(i * 31 + i / 255);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  CopyTo(stream, sent.data(), memory);
  const std::vector<uint8_t> original = sent;
  std::fill(sent.begin(), sent.end(), 0);  // it was read when the launch returned
  CopyFrom(stream, back.data(), memory);
  stream.synchronize();
  EXPECT_TRUE(stream.query());
  EXPECT_EQ(back, original);
}

TEST(SdkStreams, ATensorIsConvertedOnItsWayToTheCardAndBack) {
  const auto context = Open();
  constexpr int64_t kRows = 5, kColumns = 70;  // two sticks a row, the second one partly filled
  std::vector<float> sent(kRows * kColumns), back(kRows * kColumns, -1);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<float>(i) - 100;
  const flex::CompositeAddress memory = Memory(*context, 2 * kRows * 128);
  const auto conversion = [&](bool to_card) {
    auto info = std::make_shared<data_conversion_info>();
    info->isHostToSen_ = to_card;
    info->dataformat_src_ = to_card ? DataFormats::IEEE_FP32 : DataFormats::SEN169_FP16;
    info->dataformat_dst_ = to_card ? DataFormats::SEN169_FP16 : DataFormats::IEEE_FP32;
    for (const bool rest : {false, true}) {
      data_conversion_stride_info box;
      box.size_ = {rest ? kColumns - 64 : 64, kRows};
      box.stride_src_ = to_card ? std::vector<int64_t>{1, kColumns} : std::vector<int64_t>{1, 64};
      box.stride_dst_ = to_card ? std::vector<int64_t>{1, 64} : std::vector<int64_t>{1, kColumns};
      (to_card ? box.offset_src_ : box.offset_dst_) = rest ? 64 : 0;
      (to_card ? box.offset_dst_ : box.offset_src_) = rest ? 64 * kRows : 0;
      info->dcsi_.push_back(box);
    }
    return info;
  };
  flex::RuntimeStream& stream = *context->getDefaultStream();
  Fill(stream, memory, 7, DataFormats::SEN169_FP16);
  CopyTo(stream, sent.data(), memory, conversion(true));
  CopyFrom(stream, back.data(), memory, conversion(false));
  std::vector<uint16_t> image(2 * kRows * 64);
  CopyFrom(stream, image.data(), memory);
  stream.synchronize();
  EXPECT_EQ(back, sent);  // small whole numbers are exact
  EXPECT_EQ(image[0], deeptools::FloatToFp16Bin(-100));
  EXPECT_EQ(image[64 * kRows + 6], 0) << "padding inside a stick is zero";
}

TEST(SdkStreams, ACopyToPartOfATensorLeavesTheOtherSticksAlone) {
  const auto context = Open();
  const flex::CompositeAddress memory = Memory(*context, 200 * 128);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  Fill(stream, memory, 3, DataFormats::IEEE_FP32);
  for (const int64_t rows : {2, 100}) {  // few pieces, and so many that the image is read first
    auto info = std::make_shared<data_conversion_info>();
    info->isHostToSen_ = true;
    info->dataformat_src_ = info->dataformat_dst_ = DataFormats::IEEE_FP32;
    info->dcsi_.push_back({{32, rows}, {1, 32}, {1, 64}, 0, 0});  // every second stick
    std::vector<float> sent(static_cast<size_t>(32 * rows));
    std::iota(sent.begin(), sent.end(), 1);
    CopyTo(stream, sent.data(), memory, info);
    std::vector<float> image(200 * 32);
    CopyFrom(stream, image.data(), memory);
    stream.synchronize();
    for (int64_t stick = 0; stick < 2 * rows; ++stick) {
      const float expected = stick % 2 == 1 ? 3 : sent[static_cast<size_t>(stick / 2 * 32 + 5)];
      EXPECT_EQ(image[static_cast<size_t>(stick * 32 + 5)], expected) << "stick " << stick;
    }
  }
}

TEST(SdkStreams, AFillWritesItsNumberInEveryElement) {
  const auto context = Open();
  const flex::CompositeAddress memory = Memory(*context, 256);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  const auto filled = [&](double value, DataFormats format, auto sample) {
    std::vector<decltype(sample)> image(256 / sizeof sample);
    Fill(stream, memory, value, format);
    CopyFrom(stream, image.data(), memory);
    stream.synchronize();
    EXPECT_EQ(std::set<decltype(sample)>(image.begin(), image.end()).size(), 1u);
    return image.front();
  };
  EXPECT_EQ(filled(1.5, DataFormats::SEN169_FP16, uint16_t{}), deeptools::FloatToFp16Bin(1.5));
  EXPECT_EQ(filled(-INFINITY, DataFormats::SEN169_FP16, uint16_t{}), 0xFFFE) << "the least number";
  EXPECT_EQ(filled(INFINITY, DataFormats::SEN169_FP16, uint16_t{}), 0x7FFE)
      << "not the code of NaN";
  EXPECT_EQ(filled(-2.25, DataFormats::IEEE_FP32, float{}), -2.25F);
  EXPECT_EQ(filled(-123456789, DataFormats::IEEE_INT32, int32_t{}), -123456789);
  EXPECT_EQ(filled(-3, DataFormats::SENINT16, int16_t{}), -3);
  EXPECT_EQ(filled(-5, DataFormats::SENINT8, int8_t{}), -5);
  EXPECT_EQ(filled(1, DataFormats::SEN143_FP8, uint8_t{}), 0x38);
}

TEST(SdkStreams, AHostCallbackRunsInTheCallersThreadAndItsExceptionReachesTheCaller) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  const flex::CompositeAddress memory = Memory(*context, 128);
  std::vector<uint8_t> back(128);
  Fill(stream, memory, 9, DataFormats::SENINT8);
  CopyFrom(stream, back.data(), memory);
  int argument = 0;
  const std::thread::id caller = std::this_thread::get_id();
  // With a barrier, what was launched before it is done.
  Callback(stream, true, &argument, [&](void* given) {
    EXPECT_EQ(given, &argument);
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(back[127], 9);
    ++argument;
  });
  EXPECT_EQ(argument, 1);
  EXPECT_EQ(ErrorOf([&] {
              Callback(stream, false, nullptr, [](void*) { throw std::runtime_error("mine"); });
            }),
            "mine");
  stream.synchronize();
  EXPECT_FALSE(stream.needsShutdown());
}

TEST(SdkStreams, ThereAreMoreStreamsThanTheCardHas) {
  const auto context = Open();
  const flex::CompositeAddress memory = Memory(*context, 200 * 128);
  const flex::Chunk& whole = memory.chunks().front();
  std::vector<uint8_t> back(200 * 128);
  for (int i = 0; i < 200; ++i) {
    flex::RuntimeStream& stream = *context->createStream(
        i % 2 == 0 ? flex::RuntimeStreamPriority::NORMAL : flex::RuntimeStreamPriority::HIGH);
    const flex::CompositeAddress part(flex::Chunk(
        {whole.addr.region_id, whole.addr.offset + static_cast<uint64_t>(i) * 128}, 128, 0));
    Fill(stream, part, i % 100, DataFormats::SENINT8);
    CopyFrom(stream, back.data() + i * 128, part);
    if (i % 50 == 0) stream.synchronize();
  }
  context->getDefaultStream()->synchronize();
  for (int i = 0; i < 200; ++i) {
    flex::RuntimeStream& stream = *context->createStream(flex::RuntimeStreamPriority::NORMAL);
    EXPECT_TRUE(stream.query()) << "a stream that nobody has used";
  }
}

TEST(SdkStreams, ACopyTellsItsCallbackWhenItIsDone) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  const flex::CompositeAddress memory = Memory(*context, 128);
  std::vector<uint8_t> bytes(128, 4), back(128);
  CopyTo(stream, bytes.data(), memory);
  int told = 0;
  flex::DmaParams* const params = flex::createDmaParams(back.data(), 128, false, &memory);
  params->callback = [&](void* host) {
    EXPECT_EQ(host, back.data());
    EXPECT_EQ(back, bytes);
    ++told;
  };
  stream.launchOperationD2H(params);
  flex::destroyDmaParams(params);
  stream.synchronize();
  EXPECT_EQ(told, 1);
}

TEST(SdkStreams, MisuseIsRefusedAtTheCall) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  const flex::CompositeAddress memory = Memory(*context, 128);
  std::vector<uint8_t> bytes(256);
  flex::DmaParams* const params = flex::createDmaParams(bytes.data(), 256, true, &memory);
  EXPECT_THAT(ErrorOf([&] { stream.launchOperationH2D(params); }),
              HasSubstr("256 bytes: the memory on the card has 128"));
  flex::destroyDmaParams(params);
  EXPECT_THAT(ErrorOf([&] { CopyTo(stream, nullptr, memory); }), HasSubstr("host address is null"));
  auto info = std::make_shared<data_conversion_info>();
  info->dataformat_src_ = info->dataformat_dst_ = DataFormats::IEEE_FP32;
  info->dcsi_.push_back({{64}, {1}, {1}, 0, 0});
  EXPECT_THAT(ErrorOf([&] { CopyTo(stream, bytes.data(), memory, info); }),
              HasSubstr("a tensor of 128 bytes"));
  EXPECT_THAT(ErrorOf([&] { Fill(stream, memory, 1, DataFormats::SENINT24); }),
              HasSubstr("SENINT24"));
  Fill(stream, memory, 1, DataFormats::SENINT8);  // the stream goes on
  stream.synchronize();
}

TEST(SdkDevices, ThereIsOneCardAndOnlyThatCanBeOpened) {
  EXPECT_EQ(flex::getNumDevices(), 1u);
  std::shared_ptr<flex::RuntimeContext> context;
  EXPECT_THAT(ErrorOf([&] { flex::initializeRuntime(&context, 1); }),
              HasSubstr("card 1 is asked for"));
  EXPECT_THAT(flex::initializeRuntime(&context, 0), HasSubstr("32 cores"));
  EXPECT_EQ(context, flex::getFlexRuntimeContext());
}

}  // namespace
}  // namespace spyre::sdk_test::card_test
