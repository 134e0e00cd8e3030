// SPDX-License-Identifier: Apache-2.0
/* Messages of virtual functions: check every field, translate region and offset, build the control
 * block. The order of the checks is part of the contract: software sees which one failed. */
#include <stddef.h>

#include "firmware/bus.h"
#include "firmware/state.h"

#define ENTRY_WORDS (SPYRE_ENTRY_BYTES / 4)
#define CRC_WORD (ENTRY_WORDS - 1) /* the last of an entry */
#define DEFINED_FLAGS \
  (SPYRE_FLAG_INTERRUPT | SPYRE_FLAG_BARRIER | SPYRE_FLAG_TIMING_ONLY | SPYRE_FLAG_PREPARE)

union message_words {
  uint32_t words[ENTRY_WORDS];
  struct spyre_message fields;
};
union block_words {
  uint32_t words[ENTRY_WORDS];
  struct spyre_control_block fields;
};

static enum spyre_status bad_field(uint64_t *fault, size_t offset) {
  *fault = offset;
  return SPYRE_STATUS_BAD_FIELD;
}

static enum spyre_status check(const struct fw *fw, const union message_words *message,
                               uint64_t *fault) {
  const struct spyre_message *fields = &message->fields;
  if (fields->magic != SPYRE_MESSAGE_MAGIC || fields->version != SPYRE_LAYOUT_VERSION)
    return SPYRE_STATUS_BAD_VERSION;
  if (fields->crc != fw_read(fw, SPYRE_REG_MC_MESSAGE_CRC)) return SPYRE_STATUS_BAD_CRC;
  /* Opcodes count up from 0 without a gap. */
  if (fields->opcode > SPYRE_OPCODE_TIMESTAMP) return SPYRE_STATUS_BAD_OPCODE;
  if (fields->reserved0 != 0) return bad_field(fault, offsetof(struct spyre_message, reserved0));
  if ((fields->flags & ~DEFINED_FLAGS) != 0)
    return bad_field(fault, offsetof(struct spyre_message, flags));
  if (fields->reserved1 != 0) return bad_field(fault, offsetof(struct spyre_message, reserved1));
  for (size_t i = 0; i < sizeof(fields->reserved2) / sizeof(uint32_t); ++i) {
    if (fields->reserved2[i] != 0)
      return bad_field(fault, offsetof(struct spyre_message, reserved2) + i * sizeof(uint32_t));
  }
  return SPYRE_STATUS_OK;
}

/* A location and `bytes` bytes from it. Of a location that can be named, *fault is its device
 * virtual address, whatever comes out. */
static enum spyre_status translate(const struct fw_function *function, uint32_t region,
                                   size_t region_field, uint64_t offset, uint64_t bytes,
                                   uint64_t *physical, uint64_t *fault) {
  if (region >= SPYRE_FUNCTION_REGIONS) return bad_field(fault, region_field);
  *fault = (uint64_t)region << SPYRE_SEGMENT_BITS | offset;
  if (offset % SPYRE_ENTRY_BYTES != 0) return SPYRE_STATUS_MISALIGNED;
  const struct fw_region *place = &function->regions[region];
  const bool active = place->state == FW_REGION_ACTIVE;
  const uint64_t length = active ? place->length : 0;
  if (offset > length || bytes > length - offset) return SPYRE_STATUS_PAGE_FAULT;
  *physical = (active ? place->base : 0) + offset;
  return SPYRE_STATUS_OK;
}

static bool is_transfer(uint8_t opcode) {
  return opcode == SPYRE_OPCODE_DMA_IN || opcode == SPYRE_OPCODE_DMA_OUT ||
         opcode == SPYRE_OPCODE_DMA_FILL;
}

/* Fills in what depends on the opcode. */
static enum spyre_status place(const struct fw_function *function,
                               const struct spyre_message *message,
                               struct spyre_control_block *block, uint64_t *fault) {
  if (is_transfer(message->opcode)) {
    const enum spyre_status status =
        translate(function, message->device_region, offsetof(struct spyre_message, device_region),
                  message->device_offset, message->size_bytes, &block->device_address, fault);
    if (status == SPYRE_STATUS_OK && function->transfer_quota != 0 &&
        message->size_bytes > function->transfer_quota)
      return bad_field(fault, offsetof(struct spyre_message, size_bytes));
    return status;
  }
  if (message->opcode == SPYRE_OPCODE_COMPUTE) {
    block->program_bytes = message->program_bytes;
    block->device_address = message->device_offset;
    return translate(function, message->program_region,
                     offsetof(struct spyre_message, program_region), message->program_offset,
                     message->program_bytes, &block->program_base, fault);
  }
  return SPYRE_STATUS_OK;
}

static enum spyre_status build(const struct fw *fw, const struct fw_function *function, uint32_t vf,
                               const union message_words *message, union block_words *block,
                               uint64_t *fault) {
  if (function == NULL || function->disabled) return SPYRE_STATUS_PERMISSION;
  enum spyre_status status = check(fw, message, fault);
  if (status != SPYRE_STATUS_OK) return status;
  const struct spyre_message *from = &message->fields;
  block->fields = (struct spyre_control_block){
      .magic = SPYRE_CONTROL_BLOCK_MAGIC,
      .version = SPYRE_LAYOUT_VERSION,
      .opcode = from->opcode,
      .function = (uint16_t)vf,
      .flags = from->flags,
      .stream = from->stream,
      .sequence = from->sequence,
      .host_address = from->host_address,
      .size_bytes = from->size_bytes,
      .value = from->value,
      .correlation = from->correlation,
  };
  return place(function, from, &block->fields, fault);
}

void fw_serve_message(struct fw *fw) {
  union message_words message;
  union block_words block;
  const uint32_t vf = fw_read(fw, SPYRE_REG_MC_MESSAGE_FUNCTION);
  for (uint32_t i = 0; i < ENTRY_WORDS; ++i)
    message.words[i] = fw_read(fw, SPYRE_REG_MC_MESSAGE_IN + 4 * i);

  uint64_t fault = 0;
  const enum spyre_status status =
      build(fw, fw_virtual_function(fw, vf), vf, &message, &block, &fault);
  fw_count(fw, vf, SPYRE_COUNTER_MESSAGES, 1);
  if (status == SPYRE_STATUS_OK) {
    for (uint32_t i = 0; i < CRC_WORD; ++i)
      fw_write(fw, SPYRE_REG_MC_BLOCK_OUT + 4 * i, block.words[i]);
    fw_write(fw, SPYRE_REG_MC_BLOCK_OUT + 4 * CRC_WORD, fw_read(fw, SPYRE_REG_MC_BLOCK_CRC));
    if (is_transfer(message.fields.opcode))
      fw_count(fw, vf, SPYRE_COUNTER_BYTES, message.fields.size_bytes);
  } else {
    fw_count(fw, vf, SPYRE_COUNTER_REFUSED, 1);
    fw_ras_add(fw, FW_RAS(MESSAGE_REFUSED, NON_FATAL, REFUSED), vf, true, status,
               (uint32_t)message.fields.sequence);
  }
  fw_write(fw, SPYRE_REG_MC_MESSAGE_STATUS, status);
  fw_write_pair(fw, SPYRE_REG_MC_MESSAGE_FAULT_LO, fault);
  fw_write(fw, SPYRE_REG_MC_MESSAGE_DONE, 1);
}
