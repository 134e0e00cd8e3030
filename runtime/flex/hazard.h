// SPDX-License-Identifier: Apache-2.0
// What the hazard tracker is told and what it finds: accesses to device memory, and pairs of
// operations of different streams that touch the same bytes in no order.
//
// Plain data, any thread. Sizes in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/flex/device_handle.h"

namespace spyre::flex {

// Bytes of device memory that an operation reads or writes.
struct Access {
  DeviceHandle handle;
  uint64_t size = 0;
  bool write = false;
};

// What an operation says of itself: the tensor memory it touches, beside what its opcode tells, and
// the launch that it begins (OperationInfo::accesses and launch).
struct TouchedMemory {
  std::vector<Access> accesses;
  std::string launch;
};

enum class HazardMode {
  kOff,      // nothing is tracked
  kError,    // the later operation is refused
  kWarning,  // both run, and the pair is listed
  kEvent,    // the later operation waits for an event after the earlier one
};
// "off", "error", "warning", "event".
std::vector<std::string> HazardModeNames();
HazardMode HazardModeFromName(const std::string& name);  // BadInput for an unknown one
const char* Name(HazardMode mode);

enum class HazardKind { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
const char* Name(HazardKind kind);  // "RAW", "WAR", "WAW"

// One side of a pair: an operation of a stream, or a launch with the steps joined to it.
struct HazardOperation {
  uint32_t stream = 0;
  uint64_t correlation = 0;       // CompletedOperation::correlation; of a launch: its first step's
  uint64_t last_correlation = 0;  // its last step's, as far as that is enqueued
  std::string name;
  std::string label;
  uint64_t tag = 0;
};
// "stream 1, launch of matmul, tile 3 of 4", "stream 2, CopyToDevice (weights)".
std::string ToString(const HazardOperation& operation);

// earlier was enqueued first; if it waited for an event that was not recorded yet, what counts is
// when that was recorded.
struct Hazard {
  HazardKind kind{};
  HazardOperation earlier;
  HazardOperation later;
  DeviceHandle handle;        // the first bytes in a row that they share
  uint64_t size = 0;          // how many
  uint64_t shared_bytes = 0;  // in all places together
};
// Both operations, the kind and the range, in one line.
std::string ToString(const Hazard& hazard);

struct HazardReport {
  HazardMode mode{};
  uint64_t checked = 0;         // operations with known accesses; a launch with its steps is one
  uint64_t unknown = 0;         // launches whose accesses to tensors were not stated
  uint64_t found = 0;           // hazards
  uint64_t events = 0;          // recorded automatically, kEvent
  uint64_t waits = 0;           // inserted, kEvent
  std::vector<Hazard> hazards;  // the first kListed of those found
  static constexpr size_t kListed = 1000;
};

}  // namespace spyre::flex
