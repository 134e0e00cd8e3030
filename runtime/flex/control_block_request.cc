// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/control_block_request.h"

#include "base/error.h"
#include "model/contract/control_block.h"

namespace spyre::flex {
namespace {

uint64_t Physical(const DeviceHandle& handle, const ControlBlockRequest& request) {
  if (const auto* pf = std::get_if<PFDeviceHandle>(&handle)) return pf->physical_address;
  throw BadInput("{}: {} is a VF location, and this device is a physical function",
                 OpcodeName(request.opcode), ToString(handle));
}

const VFDeviceHandle& Regional(const DeviceHandle& handle, const ControlBlockRequest& request) {
  if (const auto* vf = std::get_if<VFDeviceHandle>(&handle)) return *vf;
  throw BadInput("{}: {} is a PF location, and this device is a virtual function",
                 OpcodeName(request.opcode), ToString(handle));
}

bool IsDma(Opcode opcode) {
  return opcode == Opcode::DMA_IN || opcode == Opcode::DMA_OUT || opcode == Opcode::DMA_FILL;
}

ControlBlock MakeControlBlock(const ControlBlockRequest& request, uint32_t stream_index) {
  ControlBlock block{};
  block.opcode = static_cast<uint8_t>(request.opcode);
  block.flags = request.flags;
  block.stream = stream_index;
  block.value = request.value;
  block.correlation = request.correlation;
  if (IsDma(request.opcode)) {
    block.host_address = request.host_address;
    block.device_address = Physical(request.location, request);
    block.size_bytes = request.size_bytes;
  } else if (request.opcode == Opcode::COMPUTE) {
    block.device_address = request.program_offset;
    block.program_base = Physical(request.program, request);
    block.program_bytes = request.program_bytes;
  }
  return block;
}

Message MakeMessage(const ControlBlockRequest& request, uint32_t stream_index) {
  Message message{};
  message.opcode = static_cast<uint8_t>(request.opcode);
  message.flags = request.flags;
  message.stream = stream_index;
  message.value = request.value;
  message.correlation = request.correlation;
  if (IsDma(request.opcode)) {
    const VFDeviceHandle& location = Regional(request.location, request);
    message.host_address = request.host_address;
    message.device_region = location.region_id;
    message.device_offset = location.vf_offset;
    message.size_bytes = request.size_bytes;
  } else if (request.opcode == Opcode::COMPUTE) {
    const VFDeviceHandle& program = Regional(request.program, request);
    message.device_offset = request.program_offset;
    message.program_region = program.region_id;
    message.program_offset = program.vf_offset;
    message.program_bytes = request.program_bytes;
  }
  return message;
}

}  // namespace

driver::Entry MakeEntry(const ControlBlockRequest& request, uint32_t stream_index, bool physical) {
  if (physical) return MakeControlBlock(request, stream_index);
  return MakeMessage(request, stream_index);
}

void CheckMode(const ControlBlockRequest& request, bool physical) {
  const bool compute = request.opcode == Opcode::COMPUTE;
  if (!compute && !IsDma(request.opcode)) return;
  const DeviceHandle& handle = compute ? request.program : request.location;
  if (IsPhysical(handle) == physical) return;
  if (physical) {
    Physical(handle, request);
  } else {
    Regional(handle, request);
  }
}

std::string Describe(const ControlBlockRequest& request) {
  std::string text = request.callback ? "host callback" : OpcodeName(request.opcode);
  if (!request.name.empty()) text += fmt::format(" '{}'", request.name);
  if (!request.label.empty()) text += fmt::format(" ({})", request.label);
  if (IsDma(request.opcode)) {
    text += fmt::format(" of {} bytes at {}", request.size_bytes, ToString(request.location));
  } else if (request.opcode == Opcode::COMPUTE) {
    text += fmt::format(" of the binary at offset 0x{:x} of the {}-byte program at {}",
                        request.program_offset, request.program_bytes, ToString(request.program));
  }
  return text;
}

}  // namespace spyre::flex
