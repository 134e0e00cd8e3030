// SPDX-License-Identifier: Apache-2.0
// One operation as FlexStream describes it, before it becomes a queue entry. It names locations by
// DeviceHandle, so it is the same in PF and VF mode; MakeEntry is the one place where the modes
// differ.
//
// Made by FlexStream, owned by the Scheduler until the operation has completed.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/queue_pair.h"
#include "runtime/flex/device_handle.h"
#include "runtime/flex/event_state.h"
#include "runtime/flex/hazard.h"

namespace spyre::flex {

// What became of an operation, for the report. Times are device time in ps.
struct CompletedOperation {
  uint32_t stream = 0;
  Opcode opcode{};
  Status status{};
  bool executed = false;    // false: dropped because its stream or the device was in error
  std::string name;         // program name, or the kind of copy
  bool correction = false;  // launches: a program that prepares another one, no kernel itself
  std::string label;        // the caller's
  uint64_t tag = 0;         // the caller's
  uint64_t correlation = 0;
  uint64_t size_bytes = 0;  // copies
  DeviceHandle location;    // copies, fills: first byte; launches: start of the program allocation
  uint64_t queued_ps = 0;
  uint64_t fetched_ps = 0;
  uint64_t started_ps = 0;
  uint64_t finished_ps = 0;
  uint64_t posted_ps = 0;
  uint64_t device_bytes_read = 0;
  uint64_t device_bytes_written = 0;
  uint64_t macs = 0;
};

struct ControlBlockRequest {
  Opcode opcode{};
  uint16_t flags = 0;
  DeviceHandle location;               // copies and fills
  driver::IoAddress host_address = 0;  // copies
  uint64_t size_bytes = 0;             // copies and fills
  DeviceHandle program;                // launches: start of the program allocation
  uint64_t program_bytes = 0;          // launches: its length
  uint64_t program_offset = 0;         // launches: where the binary starts in it
  uint64_t value = 0;                  // fills: the pattern; events: given by the Scheduler
  uint64_t correlation = 0;            // given by the Scheduler

  std::string name;
  std::shared_ptr<const std::vector<std::string>> index_tensors;  // launches; null: not known
  bool correction = false;  // launches: a program that prepares another one
  std::string label;
  uint64_t tag = 0;
  // Non-zero: operations with the same key share something that only one stream may use at a time
  // (a program allocation, which correction patches). When another stream used it last and that
  // is not known to be complete, the card is told to finish it first (BARRIER).
  uint64_t exclusive_key = 0;
  // No operation of another stream may come between this one and the previous one of its stream.
  bool joined = false;
  std::vector<DeviceHandle> arguments;  // of a captured launch: memory that a replay needs
  // host_address was mapped for this copy, and is unmapped when it has completed or was dropped.
  bool unmap = false;
  std::shared_ptr<EventState> event;             // EVENT_SIGNAL and EVENT_WAIT: which
  std::shared_ptr<const TouchedMemory> touches;  // work, if hazards are tracked
  std::shared_ptr<const void> keep_alive;        // released after completion
  // Called once, without the runtime's lock, when the operation has completed with status OK.
  std::function<void()> then;
  // If set, this is a host callback: it is called in place of an operation of the card, when all
  // earlier operations of the stream have completed.
  std::function<void()> callback;
};

// A control block for the PF (stream_index, physical addresses), a message for a VF (region,
// offset). BadInput if the request's handles are of the other mode.
driver::Entry MakeEntry(const ControlBlockRequest& request, uint32_t stream_index, bool physical);

// Throws as MakeEntry would.
void CheckMode(const ControlBlockRequest& request, bool physical);

// "DMA_IN of 4096 bytes at region 2 + 0x80", for error messages.
std::string Describe(const ControlBlockRequest& request);

}  // namespace spyre::flex
