// SPDX-License-Identifier: Apache-2.0
#include "copy_driver.h"

#include <stdexcept>
#include <string>

namespace {
constexpr uint32_t kMagic = 0x52595053;  // "SPYR"
constexpr uint32_t kMillisecond_ps = 1'000'000'000;
constexpr uint32_t kMsiAddress = 0xFEE00000;  // the host's
constexpr uint32_t kMsiCapability = 0x05;
}  // namespace

CopyDriver::CopyDriver(spyre::driver::Transport& transport, uint64_t device_bytes)
    : transport_(transport), registers_(Bar0{transport}) {
  transport_.ConfigWrite(0, 0x04, 0x6);  // Command: memory, bus master
  EnableInterrupts();
  if (registers_.ReadMagic() != kMagic || registers_.ReadSpecVersion() != spyre::kSpecVersion)
    throw std::runtime_error("this card does not have the registers that this driver knows");
  while ((registers_.ReadStatus() & spyre::regs::STATUS_READY_MASK) == 0)
    transport_.Advance(10'000'000);  // its firmware starts
  registers_.WriteMapBase(0);
  registers_.WriteMapLength(device_bytes);
  registers_.WriteMapCommand(1);
  if (registers_.ReadMapStatus() != 0) throw std::runtime_error("memory could not be mapped");
  submission_address_ =
      transport_.MapHost(0, submission_.data(), kEntries * sizeof(spyre::ControlBlock));
  responses_address_ = transport_.MapHost(0, responses_.data(), kEntries * sizeof(spyre::Response));
  registers_.WriteSqBase(submission_address_);
  registers_.WriteSqEntries(kEntries);
  registers_.WriteRqBase(responses_address_);
  registers_.WriteRqEntries(kEntries);
  registers_.WriteIntEnable(spyre::regs::INT_STATUS_RESPONSE_MASK);
  registers_.WriteQueueControl(1);
}

CopyDriver::~CopyDriver() {
  registers_.WriteQueueControl(0);
  transport_.UnmapHost(0, submission_address_);
  transport_.UnmapHost(0, responses_address_);
}

void CopyDriver::EnableInterrupts() {
  uint32_t at = transport_.ConfigRead(0, 0x34) & 0xFC;
  while (at != 0 && (transport_.ConfigRead(0, at) & 0xFF) != kMsiCapability)
    at = transport_.ConfigRead(0, at) >> 8 & 0xFC;
  if (at == 0) throw std::runtime_error("the card has no MSI capability");
  transport_.ConfigWrite(0, at + 4, kMsiAddress);
  transport_.ConfigWrite(0, at + 8, 0);
  transport_.ConfigWrite(0, at + 12, 0x20);
  transport_.ConfigWrite(0, at, transport_.ConfigRead(0, at) | 1u << 16);
}

void CopyDriver::ToCard(const void* host, uint64_t device, size_t bytes) {
  Copy(spyre::Opcode::DMA_IN, const_cast<void*>(host), device, bytes);
}

void CopyDriver::FromCard(void* host, uint64_t device, size_t bytes) {
  Copy(spyre::Opcode::DMA_OUT, host, device, bytes);
}

void CopyDriver::Copy(spyre::Opcode opcode, void* host, uint64_t device, size_t bytes) {
  const spyre::driver::IoAddress io = transport_.MapHost(0, host, bytes);
  spyre::ControlBlock& block = submission_[count_ % kEntries];
  block = {};
  block.opcode = static_cast<uint8_t>(opcode);
  block.flags = spyre::kFlagInterrupt;
  block.sequence = count_ + 1;
  block.host_address = io;
  block.device_address = device;
  block.size_bytes = bytes;
  spyre::Seal(block);
  registers_.WriteSqTail(count_ + 1);
  const auto waited = transport_.WaitInterrupt(0, 0, transport_.NowPs() + kMillisecond_ps);
  transport_.UnmapHost(0, io);
  if (waited != spyre::driver::WaitResult::kInterrupt)
    throw std::runtime_error("no interrupt:\n" + transport_.Diagnose());
  const spyre::Response& response = responses_[count_ % kEntries];
  const uint32_t phase = count_ / kEntries % 2 == 0 ? 1 : 0;
  if (spyre::Check(response) != spyre::Status::OK || response.phase != phase)
    throw std::runtime_error("the response is not there, or damaged");
  registers_.WriteRqHead(++count_);
  registers_.WriteIntStatus(spyre::regs::INT_STATUS_RESPONSE_MASK);
  const auto status = static_cast<spyre::Status>(response.status);
  if (status != spyre::Status::OK) throw std::runtime_error(spyre::StatusName(status));
}
