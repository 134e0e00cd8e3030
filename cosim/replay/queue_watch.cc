// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/queue_watch.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

// A control block and a message are the same in what is read here.
static_assert(offsetof(ControlBlock, opcode) == offsetof(Message, opcode) &&
              offsetof(ControlBlock, flags) == offsetof(Message, flags) &&
              offsetof(ControlBlock, sequence) == offsetof(Message, sequence) &&
              offsetof(ControlBlock, host_address) == offsetof(Message, host_address) &&
              offsetof(ControlBlock, size_bytes) == offsetof(Message, size_bytes));

constexpr uint32_t kMaxRingEntries = 65536;

void SetLow(uint64_t& pair, uint32_t value) { pair = (pair & ~0xFFFFFFFFull) | value; }
void SetHigh(uint64_t& pair, uint32_t value) {
  pair = (pair & 0xFFFFFFFFull) | static_cast<uint64_t>(value) << 32;
}

bool Overlap(const IoRange& a, const IoRange& b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

}  // namespace

bool QueueWatch::HostWrote(driver::FunctionId function, uint64_t offset, uint32_t value) {
  Queue& queue = queues_[function];
  switch (offset) {
    case regs::CONTROL:
      if ((value & regs::CONTROL_RESET_MASK) != 0) queue = {};
      return false;
    case regs::SQ_BASE_LO:
      SetLow(queue.submission_base, value);
      return false;
    case regs::SQ_BASE_HI:
      SetHigh(queue.submission_base, value);
      return false;
    case regs::RQ_BASE_LO:
      SetLow(queue.response_base, value);
      return false;
    case regs::RQ_BASE_HI:
      SetHigh(queue.response_base, value);
      return false;
    case regs::SQ_ENTRIES:
      queue.submission_entries = value;
      return false;
    case regs::RQ_ENTRIES:
      queue.response_entries = value;
      return false;
    case regs::SQ_TAIL:
      Submitted(function, queue, value);
      return true;
    case regs::QUEUE_CONTROL:
      return (value & regs::QUEUE_CONTROL_ENABLE_MASK) != 0;
    default:
      return false;
  }
}

void QueueWatch::Submitted(driver::FunctionId function, Queue& queue, uint32_t tail) {
  // A ring beyond the limit, or more than a ring full, is an error that the card will tell.
  const uint32_t entries = std::min(queue.submission_entries, kMaxRingEntries);
  const uint32_t count = std::min(tail - queue.tail, entries);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slot = (queue.tail + i) % entries;
    const uint8_t* host =
        mappings_.Find(function, queue.submission_base + uint64_t{slot} * kEntryBytes, kEntryBytes);
    if (host == nullptr) continue;
    ControlBlock entry;
    std::memcpy(&entry, host, sizeof entry);
    Transfer transfer;
    const auto opcode = static_cast<Opcode>(entry.opcode);
    const bool moves = (entry.flags & kFlagTimingOnly) == 0;
    if (moves && (opcode == Opcode::DMA_IN || opcode == Opcode::DMA_OUT) &&
        mappings_.Find(function, entry.host_address, entry.size_bytes) != nullptr) {
      transfer = {opcode == Opcode::DMA_OUT, {entry.host_address, entry.size_bytes}};
    }
    queue.outstanding[entry.sequence] = transfer;
  }
  queue.tail = tail;
}

std::vector<IoRange> QueueWatch::Readable(driver::FunctionId function) const {
  const auto found = queues_.find(function);
  if (found == queues_.end()) return {};
  const Queue& queue = found->second;
  std::vector<IoRange> ranges{
      {queue.submission_base, uint64_t{queue.submission_entries} * kEntryBytes}};
  for (const auto& [sequence, transfer] : queue.outstanding) {
    if (!transfer.to_host && transfer.range.bytes > 0) ranges.push_back(transfer.range);
  }
  return ranges;
}

std::vector<CardResponse> QueueWatch::CardWrote(driver::FunctionId function,
                                                driver::IoAddress address, uint64_t bytes) {
  const auto found = queues_.find(function);
  if (found == queues_.end()) return {};
  const IoRange ring{found->second.response_base,
                     uint64_t{found->second.response_entries} * kEntryBytes};
  if (!Overlap(ring, {address, bytes})) return {};
  // An entry is complete with its last byte, however many packets it takes.
  std::vector<CardResponse> responses;
  const uint64_t begin = std::max(address, ring.address) - ring.address;
  const uint64_t end = std::min(address + bytes, ring.address + ring.bytes) - ring.address;
  for (uint64_t slot = begin / kEntryBytes; slot < end / kEntryBytes; ++slot)
    responses.push_back(Answered(function, ring.address + slot * kEntryBytes));
  return responses;
}

CardResponse QueueWatch::Answered(driver::FunctionId function, driver::IoAddress slot) {
  CardResponse result{function, slot, {}, false, {}};
  const uint8_t* host = mappings_.Find(function, slot, sizeof(Response));
  if (host == nullptr) return result;
  std::memcpy(&result.response, host, sizeof(Response));
  auto& outstanding = queues_[function].outstanding;
  const auto found = outstanding.find(result.response.sequence);
  if (found == outstanding.end()) return result;
  result.outstanding = true;
  const Transfer transfer = found->second;
  outstanding.erase(found);
  const bool done = result.response.status == static_cast<uint16_t>(Status::OK);
  if (done && transfer.to_host && transfer.range.bytes > 0 &&
      mappings_.Find(function, transfer.range.address, transfer.range.bytes) != nullptr &&
      !Overlapped(function, transfer.range)) {
    result.output = transfer.range;
  }
  return result;
}

bool QueueWatch::Overlapped(driver::FunctionId function, const IoRange& range) const {
  const auto& outstanding = queues_.at(function).outstanding;
  return AnyFits(outstanding, [&](const auto& operation) {
    return operation.second.to_host && Overlap(operation.second.range, range);
  });
}

}  // namespace spyre::cosim
