// SPDX-License-Identifier: Apache-2.0
// Responses whose two cache lines arrive apart, written by a thread of its own.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "driver/queue_pair.h"
#include "model/contract/control_block.h"

namespace spyre::driver::torn_response_test {
namespace {

constexpr uint32_t kEntries = 16;

// A response ring that a second thread fills: half a response, a moment of nothing, the other half.
// It has no rings of its own to read: whoever calls Answer says what was submitted.
class TearingCard : public Transport {
 public:
  uint32_t ConfigRead(FunctionId, uint32_t) override { return 0; }
  void ConfigWrite(FunctionId, uint32_t, uint32_t) override {}
  uint32_t Read32(FunctionId, int, uint64_t) override { return 0; }
  void Write32(FunctionId, int, uint64_t offset, uint32_t value) override {
    if (offset == regs::SQ_TAIL) tail_.store(value, std::memory_order_release);
    if (offset == regs::RQ_HEAD) head_.store(value, std::memory_order_release);
    if (offset == regs::RQ_BASE_LO) ring_ = mapped_.at(value);
  }
  IoAddress MapHost(FunctionId, void* host, size_t) override {
    next_ += 0x100000;
    mapped_[static_cast<uint32_t>(next_)] = static_cast<uint8_t*>(host);
    return next_;
  }
  void UnmapHost(FunctionId, IoAddress) override {}
  WaitResult WaitInterrupt(FunctionId, int, uint64_t deadline_ps) override {
    std::this_thread::yield();
    const uint64_t now = now_ps_.load();
    if (now >= deadline_ps) return WaitResult::kDeadline;
    now_ps_ = now + 1'000;
    return WaitResult::kInterrupt;
  }
  uint64_t NowPs() override { return now_ps_; }
  void Advance(uint64_t host_ps) override { now_ps_ += host_ps; }
  std::string Diagnose() override { return {}; }

  // Posts the responses 1 to `count`, each when it has been submitted and there is room for it.
  void Answer(uint64_t count, bool complete = true) {
    for (uint64_t number = 1; number <= count; ++number) {
      while (tail_.load(std::memory_order_acquire) < number ||
             number - 1 - head_.load(std::memory_order_acquire) >= kEntries) {
        std::this_thread::yield();
      }
      Response response;
      response.opcode = static_cast<uint8_t>(Opcode::NOP);
      response.sequence = number;
      response.correlation = 7 * number;
      response.phase = (number - 1) / kEntries % 2 == 0 ? 1 : 0;
      Seal(response);
      std::array<uint64_t, 16> words;
      std::memcpy(words.data(), &response, sizeof(response));
      auto* slot = reinterpret_cast<uint64_t*>(ring_ + (number - 1) % kEntries * sizeof(response));
      for (size_t i = 0; i < 8; ++i) __atomic_store_n(slot + i, words[i], __ATOMIC_RELEASE);
      if (number % 3 == 0) std::this_thread::yield();
      if (!complete) return;
      for (size_t i = 8; i < 16; ++i) __atomic_store_n(slot + i, words[i], __ATOMIC_RELEASE);
    }
  }

 private:
  std::map<uint32_t, uint8_t*> mapped_;
  IoAddress next_ = 0;
  uint8_t* ring_ = nullptr;
  std::atomic<uint64_t> now_ps_{0};
  std::atomic<uint32_t> tail_{0};
  std::atomic<uint32_t> head_{0};
};

DeviceOptions Options() {
  DeviceOptions options;
  options.submission_entries = kEntries;
  options.response_entries = kEntries;
  return options;
}

Entry Nop() {
  ControlBlock block;
  block.opcode = static_cast<uint8_t>(Opcode::NOP);
  return block;
}

TEST(TornResponse, EveryResponseOfAConcurrentWriterIsReadWhole) {
  constexpr uint64_t kResponses = 20'000;
  TearingCard card;
  DeviceOptions options = Options();
  options.torn_wait_ns = options.timeout_ns = 1e15;  // the writer may wait for a processor
  QueuePair queue(card, 0, options, true);
  std::thread writer([&] { card.Answer(kResponses); });
  uint64_t wrong = 0;
  for (uint64_t number = 1; number <= kResponses; ++number) {
    Entry entry = Nop();
    queue.Submit(entry);
    const Response response = queue.Wait();
    if (response.sequence != number || response.correlation != 7 * number) ++wrong;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u) << "responses with bytes of another one";
}

TEST(TornResponse, OneThatNeverBecomesWholeIsAFaultAfterABoundedTime) {
  TearingCard card;
  DeviceOptions options = Options();
  options.torn_wait_ns = 50e3;
  QueuePair queue(card, 0, options, true);
  Entry entry = Nop();
  queue.Submit(entry);
  queue.RingDoorbell();
  card.Answer(1, false);
  const uint64_t start = card.NowPs();
  try {
    queue.Wait();
    FAIL() << "half a response was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
    EXPECT_NE(std::string(error.what()).find("BAD_CRC"), std::string::npos) << error.what();
  }
  EXPECT_GE(card.NowPs() - start, 50'000'000u) << "ps: it was read again meanwhile";
  EXPECT_LT(card.NowPs() - start, 100'000'000u) << "ps";
}

}  // namespace
}  // namespace spyre::driver::torn_response_test
