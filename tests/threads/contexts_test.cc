// SPDX-License-Identifier: Apache-2.0
// Several threads, contexts and cards in one process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/spyre/spyre_tensor.h"
#include "tests/unit/driver/fake_card.h"
#include "traces/recording/recorder.h"

namespace spyre::flex::contexts_test {
namespace {

using test::FakeCard;

// Copies in and out, many times; counts what came back wrong.
int Work(RuntimeContext& context, uint8_t mark) {
  int wrong = 0;
  FlexStream& stream = context.NewStream();
  std::vector<uint8_t> in(512);
  std::vector<uint8_t> out(512);
  for (int i = 0; i < 100; ++i) {
    const DeviceHandle memory = context.Allocate(512);
    std::fill(in.begin(), in.end(), static_cast<uint8_t>(mark + i));
    stream.CopyToDevice(in.data(), memory, 512);
    stream.CopyFromDevice(out.data(), memory, 512);
    context.Free(memory);
    stream.Synchronize();
    wrong += in != out;
  }
  return wrong;
}

void EnableFunctions(FakeCard& card, int count) {
  driver::Device physical(card, 0);
  driver::PhysicalFunction(physical).EnableVirtualFunctions(count);
}

TEST(Contexts, TwoCardsInTwoThreadsShareARecorder) {
  trace::Recorder recorder;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      FakeCard card;
      RuntimeOptions options;
      options.device.recorder = &recorder;
      RuntimeContext context(card, 0, options);
      wrong += Work(context, static_cast<uint8_t>(100 * t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(recorder.Records().size(), 1000u);
}

TEST(Contexts, TwoThreadsShareOneContext) {
  FakeCard card;
  trace::Recorder recorder;
  RuntimeOptions options;
  options.device.recorder = &recorder;
  RuntimeContext context(card, 0, options);
  std::atomic<int> wrong{0};
  std::thread other([&] { wrong += Work(context, 100); });
  wrong += Work(context, 0);
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Contexts, TwoFunctionsOfOneCardRunBesideEachOther) {
  FakeCard card;
  EnableFunctions(card, 2);
  RuntimeContext first(card, 1);
  RuntimeContext second(card, 2);
  const DeviceHandle memory = first.Allocate(128);
  second.Allocate(128);
  const std::vector<uint8_t> bytes(128);
  try {
    second.DefaultStream().CopyToDevice(bytes.data(), memory, 128);
    FAIL() << "a handle of another context was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_NE(std::string(error.what()).find("another context"), std::string::npos) << error.what();
  }
  EXPECT_THROW(RuntimeContext(card, 1), Error) << "its rings are in use";
}

TEST(Contexts, TwoFunctionsOfOneCardInTwoThreads) {
  FakeCard card;
  EnableFunctions(card, 2);
  card.region_bytes[0] = 1 << 16;
  trace::Recorder recorder;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  // Their regions are the same memory of the fake card, so each uses one of its own.
  for (uint32_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      RuntimeOptions options;
      options.device.recorder = &recorder;
      RuntimeContext context(card, static_cast<driver::FunctionId>(t + 1), options);
      if (t == 1) context.Allocate(1 << 16);
      wrong += Work(context, static_cast<uint8_t>(100 * t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Contexts, ACardAfterADestroyedOneAndItsTensors) {
  runtime::SpyreTensor tensor;
  DeviceHandle memory;
  {
    FakeCard card;
    RuntimeContext context(card, 0);
    tensor = runtime::AllocateTensor(context, {4, 64});
    memory = context.Allocate(128);
    EXPECT_EQ(Work(context, 1), 0);
  }
  FakeCard card;
  RuntimeContext context(card, 0);
  context.Allocate(4096);
  EXPECT_EQ(Work(context, 2), 0);
  EXPECT_THROW(context.DefaultStream().Fill(memory, 128, 0), Error) << "of the card before";
  EXPECT_NO_THROW(tensor = {}) << "its memory went with its context";
}

TEST(Contexts, CallbacksDoNotHoldTheRuntimesLock) {
  FakeCard card;
  card.op_ps = 1'000'000'000;
  RuntimeContext context(card, 0);
  const DeviceHandle memory = context.Allocate(128);
  std::mutex applications;
  int in_callbacks = 0;
  constexpr int kRounds = 200;
  // Its order of locks is the opposite one.
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      const std::lock_guard<std::mutex> lock(applications);
      context.Statistics(MemoryKind::kTensor);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    context.Stream(1).Fill(memory, 128, 0);
    context.Stream(1).Callback([&] {
      const std::lock_guard<std::mutex> lock(applications);
      ++in_callbacks;
    });
  }
  context.Stream(1).Synchronize();
  other.join();
  EXPECT_EQ(in_callbacks, kRounds);
}

}  // namespace
}  // namespace spyre::flex::contexts_test
