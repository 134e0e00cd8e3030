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
      bar0_(function == 0) {
  WireIdentity();
  WireQueue();
  WireInterrupt();
  WireCounters();
  if (function == 0) WirePhysicalFunction();
}

void FunctionRegisters::WriteBar0(uint32_t offset, uint32_t value, unsigned byte_enables,
                                  const sc_core::sc_time& arrival) {
  arrival_ = arrival;
  bar0_.Write(offset, value, byte_enables);
}

void FunctionRegisters::Reset() {
  bar0_.Reset();
  latched_time_ = 0;
  msi_count_ = 0;
  map_status_ = 0;
  if (function_ == 0) blocks_.endpoint.SetWindowBase(0);
}

void FunctionRegisters::Raise(uint32_t causes) {
  bar0_.int_status.Set(bar0_.int_status.value() | causes);
  if ((causes & regs::INT_STATUS_ERROR_MASK) != 0) {
    bar0_.error_code.Set(static_cast<uint32_t>(blocks_.control.error(function_)));
    bar0_.queue_control.Set(0);
  }
  const uint32_t wanted = causes & bar0_.int_enable.value();
  for (unsigned vector = 0; vector < 3; ++vector) {
    if ((wanted >> vector & 1) != 0 && blocks_.endpoint.SendMsi(function_, vector)) ++msi_count_;
  }
}

void FunctionRegisters::WireIdentity() {
  bar0_.function.OnRead([this] { return function_; });
  bar0_.capabilities.OnRead([this] {
    uint32_t regions = 0;
    for (unsigned i = 0; function_ != 0 && i < kRegions; ++i) {
      if (blocks_.mmu.region(function_, i).length != 0) ++regions;
    }
    return static_cast<uint32_t>(config_.cores) | regions << 8 |
           (config_.serial() ? 0 : regs::CAPABILITIES_PIPELINED_MASK) |
           static_cast<uint32_t>(config_.concurrent() ? config_.partitions : 0)
               << regs::CAPABILITIES_PARTITIONS_SHIFT;
  });
  bar0_.memory_mib.OnRead([this] {
    uint64_t bytes = function_ == 0 ? config_.usable_bytes() : 0;
    for (unsigned i = 0; function_ != 0 && i < kRegions; ++i)
      bytes += blocks_.mmu.region(function_, i).length;
    return static_cast<uint32_t>(bytes >> 20);
  });
  bar0_.status.OnRead([this] {
    const bool error = blocks_.control.error(function_) != Status::OK;
    const bool ready = !error && blocks_.management.accepting(function_);
    return (ready ? regs::STATUS_READY_MASK : 0) |
           (blocks_.control.busy(function_) ? regs::STATUS_BUSY_MASK : 0) |
           (error ? regs::STATUS_ERROR_MASK : 0);
  });
  bar0_.control.OnWrite([this](uint32_t value) {
    if ((value & 1) != 0) reset_();
  });
  bar0_.error_code.OnWrite([this](uint32_t) {
    if (bar0_.error_code.value() == 0) blocks_.control.ClearError(function_);
  });
  bar0_.time_lo.OnRead([] { return static_cast<uint32_t>(NowPs()); });
  bar0_.time_lo.AfterRead([this](uint32_t) { latched_time_ = NowPs(); });
  bar0_.time_hi.OnRead([this] { return static_cast<uint32_t>(latched_time_ >> 32); });
  bar0_.region_length.OnRead([this]() -> uint64_t {
    const uint32_t region = bar0_.region_select.value();
    return region < kRegions ? blocks_.mmu.region(function_, region).length : 0;
  });
}

void FunctionRegisters::UpdateQueue() {
  QueueRegisters queue;
  queue.submission_base = bar0_.sq_base.value();
  queue.submission_entries = bar0_.sq_entries.value();
  queue.submission_tail = bar0_.sq_tail.value();
  queue.response_base = bar0_.rq_base.value();
  queue.response_entries = bar0_.rq_entries.value();
  queue.response_head = bar0_.rq_head.value();
  queue.enabled = (bar0_.queue_control.value() & 1) != 0;
  blocks_.control.SetQueue(function_, queue);
}

void FunctionRegisters::WireQueue() {
  const auto update = [this](uint32_t) { UpdateQueue(); };
  bar0_.sq_base.OnWrite(update);
  bar0_.sq_entries.OnWrite(update);
  bar0_.rq_base.OnWrite(update);
  bar0_.rq_entries.OnWrite(update);
  const auto ring = [this](uint32_t) {
    UpdateQueue();
    blocks_.control.Doorbell(function_, arrival_);
  };
  bar0_.sq_tail.OnWrite(ring);
  bar0_.queue_control.OnWrite(ring);
  bar0_.rq_head.OnWrite([this](uint32_t) {
    UpdateQueue();
    blocks_.control.ResponsesConsumed(function_, arrival_);
  });
  bar0_.sq_head.OnRead([this] { return blocks_.control.submission_head(function_); });
  bar0_.rq_tail.OnRead([this] { return blocks_.control.response_tail(function_); });
}

void FunctionRegisters::WireInterrupt() {
  bar0_.int_count.OnRead([this] { return msi_count_; });
  bar0_.int_count.AfterRead([this](uint32_t) { msi_count_ = 0; });
}

void FunctionRegisters::WirePhysicalFunction() {
  bar0_.map_command.OnWrite([this](uint32_t command) {
    const PhysicalRange range{bar0_.map_base.value(), bar0_.map_length.value(),
                              static_cast<uint8_t>(bar0_.map_permission.value() & 7)};
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
  bar0_.map_status.OnRead([this] { return map_status_; });
  bar0_.window_base.OnWrite(
      [this](uint32_t) { blocks_.endpoint.SetWindowBase(bar0_.window_base.value()); });
  WireManagement();
  WireFirmware();
  WireCardTelemetry();
}

void FunctionRegisters::WireManagement() {
  ManagementController& management = blocks_.management;
  bar0_.admin_command.OnWrite([this, &management](uint32_t command) {
    management.Request({command, bar0_.admin_vf.value(), bar0_.admin_region.value(),
                        bar0_.admin_base.value(), bar0_.admin_length.value()},
                       arrival_);
  });
  bar0_.admin_status.OnRead([&management] { return management.admin_status(); });
  bar0_.mbox_command.OnWrite([this, &management](uint32_t command) {
    management.Post({command, bar0_.mbox_arg0.value(), bar0_.mbox_arg1.value()}, arrival_);
  });
  bar0_.mbox_status.OnRead([&management] { return management.mailbox_status(); });
  bar0_.mbox_result0.OnRead([&management] { return management.mailbox_result(0); });
  bar0_.mbox_result1.OnRead([&management] { return management.mailbox_result(1); });
  bar0_.mbox_result2.OnRead([&management] { return management.mailbox_result(2); });
  bar0_.mbox_result3.OnRead([&management] { return management.mailbox_result(3); });
  bar0_.mgmt_state.OnRead([&management] { return static_cast<uint32_t>(management.state()); });
  bar0_.mgmt_version.OnRead([&management] { return management.version(); });
  bar0_.mgmt_capabilities.OnRead([&management] { return management.capabilities(); });
  bar0_.mgmt_heartbeat.OnRead([&management] { return management.heartbeat(); });
}

void FunctionRegisters::WireFirmware() {
  BootLogic& boot = blocks_.management.boot();
  bar0_.fw_command.OnWrite([this, &boot](uint32_t command) {
    boot.Command(command, bar0_.fw_slot.value(), bar0_.fw_bytes.value(), arrival_);
  });
  bar0_.fw_status.OnRead([&boot] { return boot.status(); });
  bar0_.fw_progress.OnRead([&boot] { return boot.progress(); });
  bar0_.fw_boot.OnRead([&boot] { return boot.boot(); });
  bar0_.fw_failure.OnRead([&boot] { return boot.failure(); });
  bar0_.fw_failure_detail.OnRead([&boot] { return boot.failure_detail(); });
  bar0_.fw_slot_state.OnRead([this, &boot] {
    return static_cast<uint32_t>(boot.SlotInfo(bar0_.fw_slot.value(), nullptr));
  });
  const auto of_slot = [this, &boot](auto value) {
    return [this, &boot, value]() -> decltype(value(FirmwareHeader())) {
      FirmwareHeader header;
      const UpdateStatus status = boot.SlotInfo(bar0_.fw_slot.value(), &header);
      return status == UpdateStatus::DONE ? value(header) : 0;
    };
  };
  bar0_.fw_slot_version.OnRead(of_slot([](const FirmwareHeader& h) {
    return uint32_t{h.version_major} << regs::FW_SLOT_VERSION_MAJOR_SHIFT |
           uint32_t{h.version_minor} << regs::FW_SLOT_VERSION_MINOR_SHIFT |
           uint32_t{h.version_patch};
  }));
  bar0_.fw_slot_bytes.OnRead(of_slot(
      [](const FirmwareHeader& h) { return static_cast<uint32_t>(sizeof(h) + h.payload_bytes); }));
  bar0_.fw_slot_build.OnRead(
      of_slot([](const FirmwareHeader& h) -> uint64_t { return h.build_id; }));
}

}  // namespace spyre::model
