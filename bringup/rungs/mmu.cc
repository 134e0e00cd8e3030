// SPDX-License-Identifier: Apache-2.0
// Rung 5: protection. What a function may touch, where its memory ends, and that virtual functions
// cannot reach each other's device memory, host memory or rings.
#include <functional>

#include "bringup/ladder/raw_queue.h"
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

constexpr uint8_t kReadWrite = kPermissionRead | kPermissionWrite;

class Rung5PhysicalMmu : public Rung {
 protected:
  Status Fill(uint64_t address, uint64_t size, Opcode opcode = Opcode::DMA_FILL) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.stream = next_stream_++;  // a failed stream stays failed
    block.device_address = address;
    block.size_bytes = size;
    block.host_address = opcode == Opcode::DMA_FILL ? 0 : Buffer();
    driver::Entry entry = block;
    Physical().queue().Submit(entry);
    return static_cast<Status>(Physical().queue().Wait().status);
  }
  uint32_t Map(uint64_t base, uint64_t length, uint8_t permission = kReadWrite) {
    auto registers = Registers(0);
    registers.WriteMapBase(base);
    registers.WriteMapLength(length);
    registers.WriteMapPermission(permission);
    registers.WriteMapCommand(1);
    return registers.ReadMapStatus();
  }
  driver::IoAddress Buffer() {
    if (buffer_.empty()) {
      buffer_.resize(8192);
      buffer_io_ = MapHost(0, buffer_.data(), buffer_.size());
    }
    return buffer_io_;
  }

 private:
  uint32_t next_stream_ = 0;
  std::vector<uint8_t> buffer_;
  driver::IoAddress buffer_io_ = 0;
};

TEST_F(Rung5PhysicalMmu, NothingIsReachableBeforeItIsMappedAndAfterItIsUnmapped) {
  driver::PhysicalFunction manager(Physical());
  EXPECT_EQ(Fill(0x10000, 128), Status::PAGE_FAULT);
  manager.MapRange(0x10000, 4096, kReadWrite);
  EXPECT_EQ(Fill(0x10000, 4096), Status::OK);
  manager.UnmapRange(0x10000);
  EXPECT_EQ(Fill(0x10000, 128), Status::PAGE_FAULT);
  manager.MapRange(0x10000, 4096, kReadWrite);
  manager.MapRange(0x20000, 4096, kReadWrite);
  manager.UnmapAll();
  EXPECT_EQ(Fill(0x10000, 128), Status::PAGE_FAULT);
  EXPECT_EQ(Fill(0x20000, 128), Status::PAGE_FAULT);
}

TEST_F(Rung5PhysicalMmu, AnAccessEndsExactlyWhereItsMappingEnds) {
  driver::PhysicalFunction manager(Physical());
  manager.MapRange(0x10000, 4096, kReadWrite);
  manager.MapRange(0x11000, 4096, kReadWrite);  // adjacent: still two ranges
  EXPECT_EQ(Fill(0x10F80, 128), Status::OK);
  EXPECT_EQ(Fill(0x10F80, 256), Status::PAGE_FAULT) << "one operation, one range";
  EXPECT_EQ(Fill(0x0FF80, 256), Status::PAGE_FAULT);
  EXPECT_EQ(Fill(0x12000, 128), Status::PAGE_FAULT);
}

TEST_F(Rung5PhysicalMmu, PermissionsAreKeptForEachDirection) {
  driver::PhysicalFunction manager(Physical());
  manager.MapRange(0x10000, 4096, kPermissionRead);
  manager.MapRange(0x20000, 4096, kPermissionWrite);
  EXPECT_EQ(Fill(0x10000, 128, Opcode::DMA_IN), Status::PERMISSION);
  EXPECT_EQ(Fill(0x10000, 128, Opcode::DMA_OUT), Status::OK);
  EXPECT_EQ(Fill(0x20000, 128, Opcode::DMA_IN), Status::OK);
  EXPECT_EQ(Fill(0x20000, 128, Opcode::DMA_OUT), Status::PERMISSION);
}

TEST_F(Rung5PhysicalMmu, EveryBadMappingIsRefusedWithItsReason) {
  Physical();
  EXPECT_EQ(Map(0x10000, 4096), 0u);
  EXPECT_EQ(Map(0x10F80, 128), 1u) << "overlap";
  EXPECT_EQ(Map(0x0FF80, 256), 1u) << "overlap from below";
  EXPECT_EQ(Map(0, 1ull << 40), 2u) << "larger than memory";
  EXPECT_EQ(Map(memory_bytes(), 128), 2u) << "beyond memory";
  EXPECT_EQ(Map(~0ull - 127, 256), 2u) << "wraps";
  EXPECT_EQ(Map(0x20040, 128), 2u) << "misaligned";
  EXPECT_EQ(Map(0x20000, 100), 2u) << "not whole sticks";
  EXPECT_EQ(Map(0x20000, 0), 2u) << "empty";
  auto registers = Registers(0);
  registers.WriteMapBase(0x50000);
  registers.WriteMapCommand(2);
  EXPECT_EQ(registers.ReadMapStatus(), 3u) << "no such mapping";
}

TEST_F(Rung5PhysicalMmu, AResetOfTheFunctionForgetsItsMappings) {
  driver::PhysicalFunction(Physical()).MapRange(0x10000, 4096, kReadWrite);
  Physical().Reset();
  EXPECT_EQ(Fill(0x10000, 128), Status::PAGE_FAULT);
}

class Rung5VirtualFunctions : public Rung {
 protected:
  static constexpr uint64_t kRegion = 1 << 20;
  static constexpr int kLooks = 100;

  void SetUp() override {
    EnableVfs(kRegion, 2);
    for (driver::FunctionId vf : {1, 2}) {
      EnableBars(vf);
      queues_.push_back(std::make_unique<RawQueue>(card(), vf, 64, 64));
    }
  }
  RawQueue& Queue(driver::FunctionId vf) { return *queues_[vf - 1u]; }
  Status Run(driver::FunctionId vf, Opcode opcode, uint32_t region, uint64_t offset, uint64_t size,
             driver::IoAddress host = 0, uint64_t value = 0) {
    Message message = Queue(vf).Make<Message>(opcode, next_stream_++);
    message.device_region = region;
    message.device_offset = offset;
    message.size_bytes = size;
    message.host_address = host;
    message.value = value;
    Queue(vf).Put(message);
    Queue(vf).Ring();
    // A card in another process answers when that process has had its turn.
    std::map<uint64_t, Status> result;
    for (int look = 0; look < kLooks && result.empty(); ++look) result = Queue(vf).Settle();
    EXPECT_EQ(result.size(), 1u) << "answers";
    return result.empty() ? Status::ABORTED : result.begin()->second;
  }
  // Memory of function 2, at an address that function 1 has not mapped: each has addresses of its
  // own, which may be the same.
  driver::IoAddress MapForeign() {
    spacer_ = std::make_unique<driver::HostBuffer>(card(), 2, 1 << 20);
    foreign_ = std::make_unique<driver::HostBuffer>(card(), 2, 8192);
    std::memset(foreign_->data(), 0x5A, foreign_->size());
    return foreign_->io_address();
  }
  void ExpectForeignUntouched() {
    for (size_t i = 0; i < foreign_->size(); ++i)
      ASSERT_EQ(foreign_->data()[i], 0x5A) << "byte " << i << " of the host memory of function 2";
  }
  uint32_t Peek(uint64_t address) {
    return driver::PhysicalFunction(Physical()).PeekMemory(address);
  }

  std::vector<std::unique_ptr<RawQueue>> queues_;
  std::unique_ptr<driver::HostBuffer> foreign_, spacer_;
  uint32_t next_stream_ = 0;
};

TEST_F(Rung5VirtualFunctions, RegionAndOffsetReachTheFunctionsOwnMemory) {
  driver::PhysicalFunction(Physical()).PokeMemory(RegionBase(1, 1) + 252, 0x5A5A5A5A);
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 1, 256, 128, 0, 0x0101010101010101), Status::OK);
  EXPECT_EQ(Run(2, Opcode::DMA_FILL, 1, 256, 128, 0, 0x0202020202020202), Status::OK);
  EXPECT_EQ(Peek(RegionBase(1, 1) + 256), 0x01010101u);
  EXPECT_EQ(Peek(RegionBase(2, 1) + 256), 0x02020202u);
  EXPECT_EQ(Peek(RegionBase(1, 1) + 252), 0x5A5A5A5Au) << "the word before";
}

TEST_F(Rung5VirtualFunctions, ARegionEndsWhereItEnds) {
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0, kRegion - 128, 128), Status::OK);
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0, kRegion - 128, 256), Status::PAGE_FAULT);
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0, kRegion, 128), Status::PAGE_FAULT);
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0, ~0ull - 127, 256), Status::PAGE_FAULT) << "wraps";
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0, 128, ~0ull - 63), Status::PAGE_FAULT) << "wraps";
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 2, 0, 128), Status::PAGE_FAULT) << "not assigned";
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 8, 0, 128), Status::BAD_FIELD) << "no such region";
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0xFFFFFFFF, 0, 128), Status::BAD_FIELD);
}

TEST_F(Rung5VirtualFunctions, OneCannotReachDeviceMemoryOfTheOther) {
  EXPECT_EQ(Run(2, Opcode::DMA_FILL, 0, 0, 128, 0, 0x2222222222222222), Status::OK);
  const uint64_t distance = RegionBase(2, 0) - RegionBase(1, 0);
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 0, distance, 128), Status::PAGE_FAULT);
  std::vector<uint8_t> stolen(128, 0x5A);
  const ReachedMemory reached(card(), 1, stolen.data(), stolen.size());
  const driver::IoAddress io = reached.address();
  EXPECT_EQ(Run(1, Opcode::DMA_OUT, 0, distance, 128, io), Status::PAGE_FAULT);
  EXPECT_EQ(stolen, std::vector<uint8_t>(128, 0x5A));
  EXPECT_EQ(Peek(RegionBase(2, 0)), 0x22222222u);
}

TEST_F(Rung5VirtualFunctions, OneCannotReachHostMemoryOfTheOther) {
  const driver::IoAddress io = MapForeign();
  driver::PhysicalFunction(Physical()).PokeMemory(RegionBase(1, 0), 0x5A5A5A5A);
  for (const uint64_t size : {4, 128, 4096}) {
    EXPECT_EQ(Run(1, Opcode::DMA_OUT, 0, 0, size, io), Status::HOST_FAULT);
    EXPECT_EQ(Run(1, Opcode::DMA_IN, 0, 0, size, io), Status::HOST_FAULT);
  }
  EXPECT_EQ(Run(2, Opcode::DMA_IN, 0, 0, 128, io), Status::OK) << "its owner can";
  ExpectForeignUntouched();
  EXPECT_EQ(Peek(RegionBase(1, 0)), 0x5A5A5A5Au);
}

TEST_F(Rung5VirtualFunctions, RingsInMemoryOfAnotherFunctionAreRefused) {
  const driver::IoAddress io = MapForeign();
  auto registers = Registers(1);
  registers.WriteQueueControl(0);
  registers.WriteControl(1);
  registers.WriteSqBase(io);
  registers.WriteSqEntries(2);
  registers.WriteRqBase(io);
  registers.WriteRqEntries(2);
  registers.WriteQueueControl(1);
  registers.WriteSqTail(1);
  card().Advance(100'000'000);
  EXPECT_EQ(registers.ReadErrorCode(), static_cast<uint32_t>(Status::HOST_FAULT));
  ExpectForeignUntouched();
}

TEST_F(Rung5VirtualFunctions, AReleasedRegionIsGoneAndAnotherMayGetItsMemory) {
  driver::PhysicalFunction manager(Physical());
  EXPECT_NE(FailureOf([&] { manager.AssignRegion(2, 5, RegionBase(1, 1), kRegion); }), "no error")
      << "it overlaps a region of VF 1";
  manager.ReleaseRegion(1, 1);
  EXPECT_EQ(Run(1, Opcode::DMA_FILL, 1, 0, 128), Status::PAGE_FAULT);
  manager.AssignRegion(2, 5, RegionBase(1, 1), kRegion);
  EXPECT_EQ(Run(2, Opcode::DMA_FILL, 5, 0, 128), Status::OK);
}

TEST_F(Rung5VirtualFunctions, EveryBadAssignmentIsRefused) {
  driver::PhysicalFunction manager(Physical());
  const auto no_such =
      static_cast<driver::FunctionId>(board().capabilities().virtual_functions + 1);
  for (const auto& assign : std::vector<std::function<void()>>{
           [&] { manager.AssignRegion(0, 0, 1ull << 34, kRegion); },              // the PF has none
           [&] { manager.AssignRegion(no_such, 0, 1ull << 34, kRegion); },        // no such VF
           [&] { manager.AssignRegion(1, 8, 1ull << 34, kRegion); },              // no such region
           [&] { manager.AssignRegion(1, 5, memory_bytes(), kRegion); },          // beyond memory
           [&] { manager.AssignRegion(1, 5, 1ull << 34, (16ull << 30) + 128); },  // too long
           [&] { manager.AssignRegion(1, 5, (1ull << 34) + 64, kRegion); },
           [&] { manager.AssignRegion(1, 5, ~0ull - 127, 256); }}) {
    EXPECT_NE(FailureOf(assign), "no error");
  }
}

}  // namespace

void LinkMmuRung() {}

}  // namespace spyre::bringup
