// SPDX-License-Identifier: Apache-2.0
// Memory that is freed while work uses it, handles that are of no use, and what a reset drops.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::memory_lifetime_test {
namespace {

using test::ErrorOf;
using test::FakeCard;

struct Setting {
  driver::FunctionId function;
  const char* scheduling;
  bool pipelined;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << (setting.function == 0 ? "PF_" : "VF_") << setting.scheduling
       << (setting.pipelined ? "_pipelined" : "_serial");
}

class MemoryLifetime : public testing::TestWithParam<Setting> {
 protected:
  MemoryLifetime() {
    card.op_ps = 100'000'000;
    card.pipelined = GetParam().pipelined;
    if (GetParam().function != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(2);
    }
    RuntimeOptions options;
    options.scheduling = GetParam().scheduling;
    options.device.submission_entries = 2;  // so that the policy has something to choose from
    context = std::make_unique<RuntimeContext>(card, GetParam().function, options);
  }
  uint8_t FirstByte(const DeviceHandle& handle) {
    std::vector<uint8_t> bytes(128);
    context->Stream(40).CopyFromDevice(bytes.data(), handle, 128);
    context->Stream(40).Synchronize();
    return bytes[0];
  }

  FakeCard card;
  std::unique_ptr<RuntimeContext> context;
};

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (const driver::FunctionId function : {0, 1}) {
    for (const char* name : {"fifo", "round_robin", "priority", "drain_one_first", "fair"}) {
      for (const bool pipelined : {false, true}) settings.push_back({function, name, pipelined});
    }
  }
  return settings;
}
INSTANTIATE_TEST_SUITE_P(All, MemoryLifetime, testing::ValuesIn(Settings()),
                         testing::PrintToStringParamName());

TEST_P(MemoryLifetime, TheNextOwnersBytesAreHisAlone) {
  for (const MemoryKind kind : {MemoryKind::kTensor, MemoryKind::kProgram}) {
    const DeviceHandle first = context->Allocate(4096, kind);
    for (int i = 0; i < 8; ++i) context->Stream(1).Fill(first, 4096, 0x1111111111111111);
    context->Free(first);
    EXPECT_EQ(context->Statistics(kind).waiting_bytes, 4096u);
    EXPECT_EQ(context->Statistics(kind).waiting_allocations, 1u);
    EXPECT_EQ(context->Statistics(kind).used_bytes, 0u);
    const DeviceHandle second = context->Allocate(4096, kind);
    context->Stream(34).Fill(second, 4096, 0x2222222222222222);
    context->Synchronize();
    EXPECT_EQ(FirstByte(second), 0x22);
    EXPECT_EQ(context->Statistics(kind).waiting_bytes, 0u);
    context->Free(second);
    EXPECT_EQ(context->Allocate(4096, kind), first) << "nothing is outstanding: the place is free";
  }
}

TEST_P(MemoryLifetime, ShortMemoryWaitsForWhatWasFreed) {
  const uint64_t all = context->Statistics(MemoryKind::kTensor).largest_free_bytes;
  std::vector<DeviceHandle> memory;
  while (context->Statistics(MemoryKind::kTensor).free_bytes > 0) {
    memory.push_back(context->Allocate(all));
  }
  context->Stream(1).Fill(memory[0], 128, 1);
  context->Free(memory[0]);
  const DeviceHandle again = context->Allocate(all);
  EXPECT_EQ(again, memory[0]);
  EXPECT_EQ(card.executed.size(), 1u) << "the fill is done";
  context->Stream(2).Wait(Event(*context, "never"));
  context->Free(again);
  const std::string error = ErrorOf(ErrorKind::kBadInput, [&] { context->Allocate(all); });
  EXPECT_NE(error.find("were freed and wait for work"), std::string::npos) << error;
}

TEST_P(MemoryLifetime, AHandleIsOfNoUseAfterItsMemoryWasFreed) {
  const DeviceHandle memory = context->Allocate(128);
  context->Free(memory);
  EXPECT_EQ(context->Allocate(128), memory) << "somebody else's now";
  FlexStream& stream = context->DefaultStream();
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { stream.Fill(memory, 128, 0); }, [&] { stream.Launch(memory); },
           [&] { context->Free(memory); }, [&] { context->CheckMemory("test", memory, 128); }}) {
    const std::string error = ErrorOf(ErrorKind::kBadInput, use);
    EXPECT_NE(error.find("its memory was freed"), std::string::npos) << error;
  }
  EXPECT_EQ(context->Counts().queued, 0u);
}

TEST_P(MemoryLifetime, WhatAResetDropsIsAnErrorOnce) {
  const DeviceHandle memory = context->Allocate(128);
  for (uint32_t stream = 1; stream <= 20; ++stream) context->Stream(stream).Fill(memory, 128, 1);
  context->Reset();
  uint64_t failed = 0;
  for (uint32_t stream = 1; stream <= 20; ++stream) {
    try {
      context->Stream(stream).Synchronize();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
      ++failed;
    }
    EXPECT_NO_THROW(context->Stream(stream).Synchronize()) << "said once";
  }
  EXPECT_EQ(failed + card.executed.size(), 20u) << "what did not run was said, and nothing else";
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(context->Counts().not_executed, failed);
}

TEST_P(MemoryLifetime, AnErrorThatNobodyHasSeenOutlivesAReset) {
  const DeviceHandle memory = context->Allocate(128);
  card.fail[1] = Status::BUS_ERROR;
  context->Stream(1).Fill(memory, 128, 1);
  while (!context->Stream(1).Query()) continue;
  card.fail.clear();
  context->Reset();
  const std::string error = ErrorOf(ErrorKind::kDeviceFault, [&] { context->Synchronize(); });
  EXPECT_NE(error.find("BUS_ERROR"), std::string::npos) << error;
  EXPECT_NO_THROW(context->Synchronize());
  card.fail[1] = Status::BUS_ERROR;
  context->Stream(1).Fill(memory, 128, 1);
  ErrorOf(ErrorKind::kDeviceFault, [&] { context->Stream(1).Synchronize(); });
  card.fail.clear();
  context->Reset();
  EXPECT_NO_THROW(context->Synchronize()) << "it was seen";
}

TEST_P(MemoryLifetime, AReplayNeedsTheMemoryOfItsCapture) {
  const DeviceHandle memory = context->Allocate(128);
  FlexStream& stream = context->Stream(1);
  context->BeginCapture(stream);
  stream.Fill(memory, 128, 1);
  const CapturedGraph graph = context->EndCapture(stream);
  graph.Launch(stream);
  stream.Synchronize();
  context->Free(memory);
  context->Allocate(128);
  const std::string error = ErrorOf(ErrorKind::kBadInput, [&] { graph.Launch(stream); });
  EXPECT_NE(error.find("its memory was freed"), std::string::npos) << error;
}

}  // namespace
}  // namespace spyre::flex::memory_lifetime_test
