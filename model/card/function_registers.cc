// SPDX-License-Identifier: Apache-2.0
#include "model/card/function_registers.h"

#include "model/contract/memory_map.h"

namespace spyre::model {

FunctionRegisters::FunctionRegisters(unsigned function, const CardConfig& config, Blocks blocks,
                                     std::function<void()> reset)
    : function_(function),
      config_(config),
      blocks_(blocks),
      reset_(std::move(reset)),
      registers_(function == 0) {
  WireIdentity();
  WireQueue();
  WireInterrupt();
  WireCounters();
  if (function == 0) WirePhysicalFunction();
}

void FunctionRegisters::WriteBar0(uint32_t offset, uint32_t value, unsigned byte_enables,
                                  const sc_core::sc_time& arrival) {
  arrival_ = arrival;
  registers_.Write(offset, value, byte_enables);
}

void FunctionRegisters::Reset() {
  registers_.Reset();
  latched_time_ = 0;
  msi_count_ = 0;
  map_status_ = 0;
  if (function_ == 0) blocks_.endpoint.SetWindowBase(0);
}

uint64_t FunctionRegisters::Pair(uint32_t low_offset) const {
  return registers_.Peek(low_offset) | static_cast<uint64_t>(registers_.Peek(low_offset + 4)) << 32;
}

void FunctionRegisters::Raise(uint32_t causes) {
  registers_.Poke(regs::INT_STATUS, registers_.Peek(regs::INT_STATUS) | causes);
  if ((causes & regs::INT_STATUS_ERROR_MASK) != 0) {
    registers_.Poke(regs::ERROR_CODE, static_cast<uint32_t>(blocks_.control.error(function_)));
    registers_.Poke(regs::QUEUE_CONTROL, 0);
  }
  const uint32_t wanted = causes & registers_.Peek(regs::INT_ENABLE);
  for (unsigned vector = 0; vector < 3; ++vector) {
    if ((wanted >> vector & 1) != 0 && blocks_.endpoint.SendMsi(function_, vector)) ++msi_count_;
  }
}

void FunctionRegisters::WireIdentity() {
  registers_.OnRead(regs::FUNCTION, [this] { return function_; });
  registers_.OnRead(regs::CAPABILITIES, [this] {
    uint32_t regions = 0;
    for (unsigned i = 0; function_ != 0 && i < kRegions; ++i) {
      if (blocks_.mmu.region(function_, i).length != 0) ++regions;
    }
    return static_cast<uint32_t>(config_.cores) | regions << 8 |
           (config_.serial() ? 0 : regs::CAPABILITIES_PIPELINED_MASK) |
           static_cast<uint32_t>(config_.concurrent() ? config_.partitions : 0)
               << regs::CAPABILITIES_PARTITIONS_SHIFT;
  });
  registers_.OnRead(regs::MEMORY_MIB, [this] {
    uint64_t bytes = function_ == 0 ? config_.usable_bytes() : 0;
    for (unsigned i = 0; function_ != 0 && i < kRegions; ++i)
      bytes += blocks_.mmu.region(function_, i).length;
    return static_cast<uint32_t>(bytes >> 20);
  });
  registers_.OnRead(regs::STATUS, [this] {
    const bool error = blocks_.control.error(function_) != Status::OK;
    const bool ready = !error && blocks_.management.accepting(function_);
    return (ready ? regs::STATUS_READY_MASK : 0) |
           (blocks_.control.busy(function_) ? regs::STATUS_BUSY_MASK : 0) |
           (error ? regs::STATUS_ERROR_MASK : 0);
  });
  registers_.OnWrite(regs::CONTROL, [this](uint32_t value) {
    if ((value & 1) != 0) reset_();
  });
  registers_.OnWrite(regs::ERROR_CODE, [this](uint32_t) {
    if (registers_.Peek(regs::ERROR_CODE) == 0) blocks_.control.ClearError(function_);
  });
  registers_.OnRead(regs::TIME_LO, [] { return static_cast<uint32_t>(NowPs()); });
  registers_.AfterRead(regs::TIME_LO, [this](uint32_t) { latched_time_ = NowPs(); });
  registers_.OnRead(regs::TIME_HI, [this] { return static_cast<uint32_t>(latched_time_ >> 32); });
  registers_.OnRead(regs::REGION_LENGTH_LO, [this] {
    const uint32_t region = registers_.Peek(regs::REGION_SELECT);
    return static_cast<uint32_t>(region < kRegions ? blocks_.mmu.region(function_, region).length
                                                   : 0);
  });
  registers_.OnRead(regs::REGION_LENGTH_HI, [this] {
    const uint32_t region = registers_.Peek(regs::REGION_SELECT);
    return static_cast<uint32_t>(
        (region < kRegions ? blocks_.mmu.region(function_, region).length : 0) >> 32);
  });
}

void FunctionRegisters::UpdateQueue() {
  QueueRegisters queue;
  queue.submission_base = Pair(regs::SQ_BASE_LO);
  queue.submission_entries = registers_.Peek(regs::SQ_ENTRIES);
  queue.submission_tail = registers_.Peek(regs::SQ_TAIL);
  queue.response_base = Pair(regs::RQ_BASE_LO);
  queue.response_entries = registers_.Peek(regs::RQ_ENTRIES);
  queue.response_head = registers_.Peek(regs::RQ_HEAD);
  queue.enabled = (registers_.Peek(regs::QUEUE_CONTROL) & 1) != 0;
  blocks_.control.SetQueue(function_, queue);
}

void FunctionRegisters::WireQueue() {
  for (const uint32_t offset : {regs::SQ_BASE_LO, regs::SQ_BASE_HI, regs::SQ_ENTRIES,
                                regs::RQ_BASE_LO, regs::RQ_BASE_HI, regs::RQ_ENTRIES}) {
    registers_.OnWrite(offset, [this](uint32_t) { UpdateQueue(); });
  }
  for (const uint32_t offset : {regs::SQ_TAIL, regs::QUEUE_CONTROL}) {
    registers_.OnWrite(offset, [this](uint32_t) {
      UpdateQueue();
      blocks_.control.Doorbell(function_, arrival_);
    });
  }
  registers_.OnWrite(regs::RQ_HEAD, [this](uint32_t) {
    UpdateQueue();
    blocks_.control.ResponsesConsumed(function_, arrival_);
  });
  registers_.OnRead(regs::SQ_HEAD, [this] { return blocks_.control.submission_head(function_); });
  registers_.OnRead(regs::RQ_TAIL, [this] { return blocks_.control.response_tail(function_); });
}

void FunctionRegisters::WireInterrupt() {
  registers_.OnRead(regs::INT_COUNT, [this] { return msi_count_; });
  registers_.AfterRead(regs::INT_COUNT, [this](uint32_t) { msi_count_ = 0; });
}

void FunctionRegisters::WirePhysicalFunction() {
  registers_.OnWrite(regs::MAP_COMMAND, [this](uint32_t command) {
    const PhysicalRange range{Pair(regs::MAP_BASE_LO), Pair(regs::MAP_LENGTH_LO),
                              static_cast<uint8_t>(registers_.Peek(regs::MAP_PERMISSION) & 7)};
    Mmu::MapResult result = Mmu::MapResult::kNoMapping;
    if (command == 1) result = blocks_.mmu.Map(range);
    if (command == 2) result = blocks_.mmu.Unmap(range.base);
    if (command == 3) {
      blocks_.mmu.UnmapAll();
      result = Mmu::MapResult::kDone;
    }
    map_status_ = static_cast<uint32_t>(result);
    // What the PF may write is its own to hide from functions that get it later.
    if (command == 1 && result == Mmu::MapResult::kDone)
      blocks_.management.scrubber().Give(range.base, range.length);
  });
  registers_.OnRead(regs::MAP_STATUS, [this] { return map_status_; });
  for (const uint32_t offset : {regs::WINDOW_BASE_LO, regs::WINDOW_BASE_HI}) {
    registers_.OnWrite(
        offset, [this](uint32_t) { blocks_.endpoint.SetWindowBase(Pair(regs::WINDOW_BASE_LO)); });
  }
  WireManagement();
  WireFirmware();
  WireCardTelemetry();
}

void FunctionRegisters::WireManagement() {
  ManagementController& management = blocks_.management;
  registers_.OnWrite(regs::ADMIN_COMMAND, [this, &management](uint32_t command) {
    management.Request(
        {command, registers_.Peek(regs::ADMIN_VF), registers_.Peek(regs::ADMIN_REGION),
         Pair(regs::ADMIN_BASE_LO), Pair(regs::ADMIN_LENGTH_LO)},
        arrival_);
  });
  registers_.OnRead(regs::ADMIN_STATUS, [&management] { return management.admin_status(); });
  registers_.OnWrite(regs::MBOX_COMMAND, [this, &management](uint32_t command) {
    management.Post({command, registers_.Peek(regs::MBOX_ARG0), registers_.Peek(regs::MBOX_ARG1)},
                    arrival_);
  });
  registers_.OnRead(regs::MBOX_STATUS, [&management] { return management.mailbox_status(); });
  for (unsigned i = 0; i < 4; ++i) {
    registers_.OnRead(regs::MBOX_RESULT0 + 4 * i,
                      [&management, i] { return management.mailbox_result(i); });
  }
  registers_.OnRead(regs::MGMT_STATE,
                    [&management] { return static_cast<uint32_t>(management.state()); });
  registers_.OnRead(regs::MGMT_VERSION, [&management] { return management.version(); });
  registers_.OnRead(regs::MGMT_CAPABILITIES, [&management] { return management.capabilities(); });
  registers_.OnRead(regs::MGMT_HEARTBEAT, [&management] { return management.heartbeat(); });
}

void FunctionRegisters::WireFirmware() {
  BootLogic& boot = blocks_.management.boot();
  registers_.OnWrite(regs::FW_COMMAND, [this, &boot](uint32_t command) {
    boot.Command(command, registers_.Peek(regs::FW_SLOT), registers_.Peek(regs::FW_BYTES),
                 arrival_);
  });
  registers_.OnRead(regs::FW_STATUS, [&boot] { return boot.status(); });
  registers_.OnRead(regs::FW_PROGRESS, [&boot] { return boot.progress(); });
  registers_.OnRead(regs::FW_BOOT, [&boot] { return boot.boot(); });
  registers_.OnRead(regs::FW_FAILURE, [&boot] { return boot.failure(); });
  registers_.OnRead(regs::FW_FAILURE_DETAIL, [&boot] { return boot.failure_detail(); });
  registers_.OnRead(regs::FW_SLOT_STATE, [this, &boot] {
    return static_cast<uint32_t>(boot.SlotInfo(registers_.Peek(regs::FW_SLOT), nullptr));
  });
  const auto of_slot = [this, &boot](uint32_t offset, uint32_t (*value)(const FirmwareHeader&)) {
    registers_.OnRead(offset, [this, &boot, value] {
      FirmwareHeader header;
      const UpdateStatus status = boot.SlotInfo(registers_.Peek(regs::FW_SLOT), &header);
      return status == UpdateStatus::DONE ? value(header) : 0;
    });
  };
  of_slot(regs::FW_SLOT_VERSION, [](const FirmwareHeader& h) {
    return uint32_t{h.version_major} << regs::FW_SLOT_VERSION_MAJOR_SHIFT |
           uint32_t{h.version_minor} << regs::FW_SLOT_VERSION_MINOR_SHIFT |
           uint32_t{h.version_patch};
  });
  of_slot(regs::FW_SLOT_BYTES, [](const FirmwareHeader& h) {
    return static_cast<uint32_t>(sizeof(h) + h.payload_bytes);
  });
  of_slot(regs::FW_SLOT_BUILD_LO,
          [](const FirmwareHeader& h) { return static_cast<uint32_t>(h.build_id); });
  of_slot(regs::FW_SLOT_BUILD_HI,
          [](const FirmwareHeader& h) { return static_cast<uint32_t>(h.build_id >> 32); });
}

}  // namespace spyre::model
