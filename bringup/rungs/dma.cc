// SPDX-License-Identifier: Apache-2.0
// Rung 4: DMA both ways and fill, by the physical function: every awkward size and host address.
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

class Rung4Dma : public Rung {
 protected:
  static constexpr driver::IoAddress kNeverMapped = 0x100;  // transports give no page 0 away

  void SetUp() override {
    const uint64_t mapped = std::min<uint64_t>(128ull << 20, memory_bytes());
    driver::PhysicalFunction(Physical()).MapRange(0, mapped, kPermissionRead | kPermissionWrite);
  }
  Response Run(Opcode opcode, driver::IoAddress host, uint64_t device, uint64_t size,
               uint64_t value = 0) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.host_address = host;
    block.device_address = device;
    block.size_bytes = size;
    block.value = value;
    driver::Entry entry = block;
    Physical().queue().Submit(entry);
    return Physical().queue().Wait();
  }
  Status StatusOf(Opcode opcode, driver::IoAddress host, uint64_t device, uint64_t size) {
    const Response response = Run(opcode, host, device, size);
    if (response.status != static_cast<uint16_t>(Status::OK)) Recover();
    return static_cast<Status>(response.status);
  }
  void Recover() {  // a failed stream stays failed until a reset
    Physical().Reset();
    SetUp();
  }
  void CopyIn(const std::vector<uint8_t>& data, uint64_t device) {
    std::vector<uint8_t> host = data;
    const ReachedMemory reached(card(), 0, host.data(), host.size());
    const driver::IoAddress io = reached.address();
    ASSERT_EQ(Run(Opcode::DMA_IN, io, device, host.size()).status, 0u);
  }
  std::vector<uint8_t> CopyOut(uint64_t device, uint64_t size) {
    std::vector<uint8_t> host(size);
    const ReachedMemory reached(card(), 0, host.data(), size);
    const driver::IoAddress io = reached.address();
    EXPECT_EQ(Run(Opcode::DMA_OUT, io, device, size).status, 0u);
    return host;
  }
};

TEST_F(Rung4Dma, EveryOfManyCopiesTakesTheSameTime) {
  constexpr uint64_t kBytes = 4096;
  std::vector<uint8_t> host(kBytes);
  const ReachedMemory reached(card(), 0, host.data(), host.size());
  const driver::IoAddress io = reached.address();
  for (const Opcode opcode : {Opcode::DMA_IN, Opcode::DMA_OUT}) {
    std::vector<double> card_ns;
    for (int i = 0; i < 32; ++i) {
      const Response done = Run(opcode, io, 0, kBytes);
      ExpectOk(done);
      if (HasFailure()) return;
      card_ns.push_back(static_cast<double>(done.finished_ps - done.started_ps) / 1000);
    }
    ExpectEven(fmt::format("{} of 4 KiB", OpcodeName(opcode)), card_ns);
  }
}

TEST_F(Rung4Dma, EverySizeAroundEveryBoundaryArrivesWholeAndTouchesNothingElse) {
  const std::vector<uint8_t> data = RandomBytes(8192, 4);
  for (const uint64_t size :
       {1, 2, 3, 63, 127, 128, 129, 255, 256, 511, 512, 513, 1000, 2048, 4095, 4096, 4097, 8191}) {
    ASSERT_EQ(Run(Opcode::DMA_FILL, 0, 0, 16384, 0xEEEEEEEEEEEEEEEE).status, 0u);
    CopyIn({data.begin(), data.begin() + static_cast<ptrdiff_t>(size)}, 4096);
    const std::vector<uint8_t> out = CopyOut(0, 16384);
    for (size_t i = 0; i < out.size(); ++i) {
      const bool inside = i >= 4096 && i < 4096 + size;
      ASSERT_EQ(out[i], inside ? data[i - 4096] : 0xEE) << "size " << size << ", byte " << i;
    }
  }
}

TEST_F(Rung4Dma, EveryHostAlignmentWorksBothWays) {
  std::vector<uint8_t> host = RandomBytes(16384, 5);
  const std::vector<uint8_t> original = host;
  const ReachedMemory reached(card(), 0, host.data(), host.size());
  const driver::IoAddress io = reached.address();
  for (const uint64_t offset : {0, 1, 2, 3, 4, 5, 7, 63, 127, 4093, 4095}) {
    ASSERT_EQ(Run(Opcode::DMA_IN, io + offset, 0, 5001).status, 0u);
    std::fill(host.begin(), host.end(), uint8_t{0x77});
    ASSERT_EQ(Run(Opcode::DMA_OUT, io + offset + 1, 0, 5001).status, 0u);
    for (size_t i = 0; i < host.size(); ++i) {
      const bool inside = i > offset && i <= offset + 5001;
      ASSERT_EQ(host[i], inside ? original[i - 1] : 0x77) << "offset " << offset << ", byte " << i;
    }
    host = original;
    std::memcpy(host.data(), original.data(), host.size());
  }
}

TEST_F(Rung4Dma, PatternsThatToggleEveryLineComeBack) {
  for (const uint64_t pattern : {0ull, ~0ull, 0xAAAAAAAAAAAAAAAAull, 0x5555555555555555ull,
                                 0x00FF00FF00FF00FFull, 0x0123456789ABCDEFull}) {
    ASSERT_EQ(Run(Opcode::DMA_FILL, 0, 1 << 20, 65536, pattern).status, 0u);
    const std::vector<uint8_t> out = CopyOut(1 << 20, 65536);
    for (size_t i = 0; i < out.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, &out[i], 8);
      ASSERT_EQ(word, pattern) << "byte " << i;
    }
  }
}

TEST_F(Rung4Dma, WhatDmaWritesTheWindowShowsAndTheOtherWayRound) {
  CopyIn({1, 2, 3, 4, 5, 6, 7, 8}, 256);
  driver::PhysicalFunction manager(Physical());
  EXPECT_EQ(manager.PeekMemory(256), 0x04030201u);
  manager.PokeMemory(260, 0xAABBCCDD);
  EXPECT_EQ(CopyOut(256, 8), (std::vector<uint8_t>{1, 2, 3, 4, 0xDD, 0xCC, 0xBB, 0xAA}));
}

class Rung4DmaLevel2 : public Rung4Dma {};

TEST_F(Rung4DmaLevel2, SixtyFourMebibytesMakeTheRoundTrip) {
  const uint64_t size = 64 << 20;
  std::vector<uint8_t> host(size);
  std::vector<uint64_t> words(size / 8);
  std::iota(words.begin(), words.end(), 0x1122334455667788ull);
  std::memcpy(host.data(), words.data(), size);
  const ReachedMemory reached(card(), 0, host.data(), size);
  const driver::IoAddress io = reached.address();
  const Response in = Run(Opcode::DMA_IN, io, 0, size);
  std::fill(host.begin(), host.end(), uint8_t{0});
  const Response out = Run(Opcode::DMA_OUT, io, 0, size);
  EXPECT_EQ(in.device_bytes_written, size);
  EXPECT_EQ(out.device_bytes_read, size);
  EXPECT_EQ(std::memcmp(host.data(), words.data(), size), 0);
}

TEST_F(Rung4Dma, NothingIsMovedForSizeZero) {
  EXPECT_EQ(StatusOf(Opcode::DMA_IN, 0, 0, 0), Status::OK);
  EXPECT_EQ(StatusOf(Opcode::DMA_OUT, 0, 0, 0), Status::OK);
  EXPECT_EQ(StatusOf(Opcode::DMA_FILL, 0, 0, 0), Status::OK);
}

TEST_F(Rung4Dma, AHostAddressThatIsNotMappedIsAHostFaultThatNamesIt) {
  for (const Opcode opcode : {Opcode::DMA_IN, Opcode::DMA_OUT}) {
    const Response response = Run(opcode, kNeverMapped, 0, 256);
    EXPECT_EQ(response.status, static_cast<uint16_t>(Status::HOST_FAULT)) << OpcodeName(opcode);
    EXPECT_EQ(response.fault_address, kNeverMapped);
    Recover();
  }
}

TEST_F(Rung4Dma, OneByteBeyondAHostMappingIsAHostFault) {
  Physical();  // its rings are mapped before
  LonelyMemory host = MapLonely(0, 5000);
  const uint64_t bytes = host.end - host.begin;
  EXPECT_EQ(StatusOf(Opcode::DMA_IN, host.begin, 0, bytes), Status::OK);
  EXPECT_EQ(StatusOf(Opcode::DMA_IN, host.begin + 1, 0, bytes), Status::HOST_FAULT);
  EXPECT_EQ(StatusOf(Opcode::DMA_IN, host.begin - 1, 0, 16), Status::HOST_FAULT);
  host.buffer.reset();
  EXPECT_EQ(StatusOf(Opcode::DMA_IN, host.begin, 0, 16), Status::HOST_FAULT) << "after unmapping";
}

TEST_F(Rung4Dma, ACopyOntoTheInterruptAddressesIsRefusedAndInterruptsNobody) {
  for (const uint64_t size : {3ull, 128ull, 4096ull, 1ull << 20}) {
    EXPECT_EQ(StatusOf(Opcode::DMA_OUT, driver::kMsiAddressBase + 0x100, 0, size),
              Status::HOST_FAULT)
        << size;
  }
}

TEST_F(Rung4Dma, SizesAndAddressesThatOverflowAreRefused) {
  constexpr uint64_t kTop = 1ull << 63;
  EXPECT_EQ(StatusOf(Opcode::DMA_FILL, 0, 0, kTop), Status::PAGE_FAULT);
  EXPECT_EQ(StatusOf(Opcode::DMA_FILL, 0, 0, ~0ull), Status::PAGE_FAULT);
  EXPECT_EQ(StatusOf(Opcode::DMA_FILL, 0, ~0ull - 127, 256), Status::PAGE_FAULT);
  EXPECT_EQ(StatusOf(Opcode::DMA_FILL, 0, 64, 128), Status::MISALIGNED);
  EXPECT_EQ(StatusOf(Opcode::DMA_IN, ~0ull - 3, 0, 256), Status::HOST_FAULT);
}

}  // namespace

void LinkDmaRung() {}

}  // namespace spyre::bringup
