// SPDX-License-Identifier: Apache-2.0
// Rung 12: soak. Random operations of the physical function, many of them under way at a time, on a
// part of memory of which the host keeps a copy; each read is compared. Equal seeds do the same.
#include <algorithm>
#include <cstring>
#include <deque>

#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

class Rung12Soak : public Rung {
 protected:
  static constexpr uint64_t kWindow = 8 << 20;
  static constexpr uint64_t kMostBytes = 64 << 10;
  static constexpr size_t kUnderWay = 32;

  void SetUp() override {
    if (memory_bytes() < kWindow) CannotRun("the card has less than 8 MiB of memory");
    random_ = Random();
    base_ = random_() % (memory_bytes() - kWindow + 1) / 128 * 128;
    for (size_t i = 0; i < kUnderWay; ++i)
      buffers_.push_back(std::make_unique<driver::HostBuffer>(card(), 0, kMostBytes));
    copy_.assign(kWindow, 0);
    Map();
    for (uint64_t at = 0; at < kWindow; at += kMostBytes) Submit(Opcode::DMA_FILL, at, kMostBytes);
    Drain();
  }
  void TearDown() override {
    ClosePhysical();
    buffers_.clear();
    Rung::TearDown();
  }

  void Soak(uint64_t operations) {
    for (uint64_t i = 0; i < operations && !HasFailure(); ++i) {
      if (random_() % 4096 == 0) Reset();
      if (pending_.size() == kUnderWay) Take();
      const uint64_t bytes = 1 + random_() % (random_() % 4 == 0 ? kMostBytes : 512);
      const uint64_t at = random_() % (kWindow - bytes) / 128 * 128;
      switch (random_() % 8) {
        case 0:
          Submit(Opcode::NOP, 0, 0);
          break;
        case 1:
          Submit(Opcode::FENCE, 0, 0);
          break;
        case 2:
          Submit(Opcode::DMA_FILL, at, (bytes + 127) / 128 * 128);
          break;
        case 3:
        case 4:
          Submit(Opcode::DMA_OUT, at, bytes);
          break;
        default:
          Submit(Opcode::DMA_IN, at, bytes);
      }
    }
    Drain();
    Report();
  }

 private:
  struct Pending {
    Opcode opcode{};
    uint64_t at = 0, bytes = 0;
    size_t buffer = 0;
    std::vector<uint8_t> expected;  // of a read
  };

  void Map() {
    driver::PhysicalFunction(Physical())
        .MapRange(base_, kWindow, kPermissionRead | kPermissionWrite);
  }
  // Functions forget what they had mapped, memory nothing.
  void Reset() {
    Drain();
    Physical().Reset();
    Map();
    ++resets_;
  }

  // All on one stream, so that they happen in this order.
  void Submit(Opcode opcode, uint64_t at, uint64_t bytes) {
    if (pending_.size() == kUnderWay) Take();
    Pending pending{opcode, at, std::min(bytes, kWindow - at), next_buffer_, {}};
    next_buffer_ = (next_buffer_ + 1) % kUnderWay;
    uint8_t* const host = buffers_[pending.buffer]->data();
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.device_address = base_ + at;
    block.size_bytes = pending.bytes;
    const auto first = copy_.begin() + static_cast<ptrdiff_t>(at);
    const auto last = first + static_cast<ptrdiff_t>(pending.bytes);
    if (opcode == Opcode::DMA_FILL) {
      block.value = random_();
      for (uint64_t i = 0; i < pending.bytes; i += 8)
        std::memcpy(&copy_[at + i], &block.value, std::min<uint64_t>(8, pending.bytes - i));
    } else if (opcode == Opcode::DMA_IN) {
      block.host_address = buffers_[pending.buffer]->io_address();
      for (uint64_t i = 0; i < pending.bytes; i += 8) {
        const uint64_t word = random_();
        std::memcpy(host + i, &word, std::min<uint64_t>(8, pending.bytes - i));
      }
      std::copy(host, host + pending.bytes, first);
    } else if (opcode == Opcode::DMA_OUT) {
      block.host_address = buffers_[pending.buffer]->io_address();
      pending.expected.assign(first, last);
    }
    driver::Entry entry = block;
    Physical().queue().Submit(entry);
    pending_.push_back(std::move(pending));
  }

  void Take() {
    const Response done = Physical().queue().Wait();
    const Pending pending = std::move(pending_.front());
    pending_.pop_front();
    ++operations_;
    bytes_ += pending.bytes;
    const uint64_t took = done.finished_ps - done.fetched_ps;
    longest_ps_ = std::max(longest_ps_, took);
    total_ps_ += took;
    ASSERT_EQ(done.status, static_cast<uint16_t>(Status::OK))
        << OpcodeName(pending.opcode) << ", operation " << operations_ << ", seed "
        << board().seed();
    if (pending.opcode != Opcode::DMA_OUT) return;
    const uint8_t* const host = buffers_[pending.buffer]->data();
    if (std::equal(host, host + pending.bytes, pending.expected.begin())) return;
    for (uint64_t i = 0; i < pending.bytes; ++i) {
      ASSERT_EQ(host[i], pending.expected[i])
          << "byte at " << base_ + pending.at + i << ", read by operation " << operations_
          << ", seed " << board().seed();
    }
  }
  void Drain() {
    while (!pending_.empty() && !HasFatalFailure()) Take();
  }

  void Report() {
    const auto operations = static_cast<double>(operations_);
    Measure("soak_operations", operations, "operations");
    Measure("soak_bytes", static_cast<double>(bytes_), "bytes");
    Measure("soak_resets", static_cast<double>(resets_), "function-level resets");
    Measure("soak_mean_time", static_cast<double>(total_ps_) / operations / 1000, "ns");
    Measure("soak_longest_time", static_cast<double>(longest_ps_) / 1000, "ns");
  }

  std::mt19937_64 random_;
  uint64_t base_ = 0;
  std::vector<uint8_t> copy_;
  std::vector<std::unique_ptr<driver::HostBuffer>> buffers_;
  size_t next_buffer_ = 0;
  std::deque<Pending> pending_;
  uint64_t operations_ = 0, bytes_ = 0, resets_ = 0, total_ps_ = 0, longest_ps_ = 0;
};

TEST_F(Rung12Soak, ThousandsOfRandomOperationsKeepMemoryAsTheHostKnowsIt) { Soak(4000); }

class Rung12SoakLevel2 : public Rung12Soak {};
TEST_F(Rung12SoakLevel2, HundredThousandRandomOperationsKeepMemoryAsTheHostKnowsIt) {
  Soak(100'000);
}

class Rung12SoakLevel3 : public Rung12Soak {};
TEST_F(Rung12SoakLevel3, MillionsOfRandomOperationsKeepMemoryAsTheHostKnowsIt) { Soak(10'000'000); }

class Rung12SoakLevel4 : public Rung12Soak {};
TEST_F(Rung12SoakLevel4, ABillionRandomOperationsKeepMemoryAsTheHostKnowsIt) {
  Soak(1'000'000'000);
}

}  // namespace

void LinkSoakRung() {}

}  // namespace spyre::bringup
