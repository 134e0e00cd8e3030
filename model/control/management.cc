#include "model/control/management.h"

#include <cstddef>
#include <systemc>

namespace spyre::model {

namespace {

// region + offset to physical, for `bytes` bytes inside the region.
Status TranslateLocation(const Mmu& mmu, unsigned function, uint32_t region, uint64_t offset,
                         uint64_t bytes, uint64_t* physical) {
  if (region >= kRegions) return Status::BAD_FIELD;
  if (!IsStickAligned(offset)) return Status::MISALIGNED;
  const PhysicalRange& range = mmu.region(function, region);
  if (offset > range.length || bytes > range.length - offset) return Status::PAGE_FAULT;
  *physical = range.base + offset;
  return Status::OK;
}

}  // namespace

Status BehaviouralManagement::TranslateMessage(unsigned function, const Message& message,
                                               ControlBlock* block, uint64_t* fault) {
  sc_core::wait(sc_core::sc_time::from_value(config_.management.message_ns * 1000));
  Status status = Check(message, fault);
  if (status != Status::OK) return status;
  *block = {};
  block->opcode = message.opcode;
  block->function = static_cast<uint16_t>(function);
  block->flags = message.flags;
  block->stream = message.stream;
  block->sequence = message.sequence;
  block->host_address = message.host_address;
  block->size_bytes = message.size_bytes;
  block->value = message.value;
  block->correlation = message.correlation;
  switch (static_cast<Opcode>(message.opcode)) {
    case Opcode::DMA_IN:
    case Opcode::DMA_OUT:
    case Opcode::DMA_FILL:
      status = TranslateLocation(mmu_, function, message.device_region, message.device_offset,
                                 message.size_bytes, &block->device_address);
      *fault = status == Status::BAD_FIELD
                   ? offsetof(Message, device_region)
                   : SegmentAddress(message.device_region, message.device_offset);
      break;
    case Opcode::COMPUTE:
      status = TranslateLocation(mmu_, function, message.program_region, message.program_offset,
                                 message.program_bytes, &block->program_base);
      *fault = status == Status::BAD_FIELD
                   ? offsetof(Message, program_region)
                   : SegmentAddress(message.program_region, message.program_offset);
      block->program_bytes = message.program_bytes;
      block->device_address = message.device_offset;
      break;
    default:
      break;
  }
  if (status == Status::OK) Seal(*block);
  return status;
}

}  // namespace spyre::model
