// SPDX-License-Identifier: Apache-2.0
#include "driver/queue_pair.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "driver/pci.h"
#include "model/contract/control_block.h"

namespace spyre::driver {
namespace {

constexpr size_t kEntryBytes = 128;
static_assert(sizeof(ControlBlock) == kEntryBytes && sizeof(Message) == kEntryBytes &&
              sizeof(Response) == kEntryBytes);

// Acquires: what was written before the phase is then seen.
uint32_t PhaseOf(const uint8_t* slot) {
  return __atomic_load_n(reinterpret_cast<const uint32_t*>(slot + offsetof(Response, phase)),
                         __ATOMIC_ACQUIRE);
}

uint32_t CheckedEntries(uint32_t entries, const char* ring) {
  if (entries < 2 || entries > 65536 || (entries & (entries - 1)) != 0) {
    throw BadInput("{} ring of {} entries: a power of two from 2 to 65536 is expected", ring,
                   entries)
        .Subject(fmt::format("{} ring", ring))
        .Value(entries)
        .Remedy("a power of two from 2 to 65536");
  }
  return entries;
}

}  // namespace

QueuePair::QueuePair(Transport& transport, FunctionId function, const DeviceOptions& options,
                     bool in_order)
    : transport_(transport),
      function_(function),
      registers_(Bar0{&transport, function}),
      options_(options),
      in_order_(in_order),
      submission_(transport, function,
                  kEntryBytes * CheckedEntries(options.submission_entries, "submission")),
      response_(transport, function,
                kEntryBytes * CheckedEntries(options.response_entries, "response")) {
  // The card's counts and sequence numbers start again, whatever used the queue before.
  registers_.WriteControl(1);
  registers_.WriteSqBase(submission_.io_address());
  registers_.WriteSqEntries(options_.submission_entries);
  registers_.WriteSqTail(0);
  registers_.WriteRqBase(response_.io_address());
  registers_.WriteRqEntries(options_.response_entries);
  registers_.WriteRqHead(0);
  registers_.WriteIntStatus(0xFFFFFFFF);  // causes left over from before
  registers_.WriteIntEnable(options_.interrupts ? regs::INT_STATUS_RESPONSE_MASK : 0);
  registers_.WriteQueueControl(regs::QUEUE_CONTROL_ENABLE_MASK);
  if (options_.recorder != nullptr) {
    track_ = options_.recorder->AddTrack("host", fmt::format("driver, function {}", function_));
    doorbell_name_ = options_.recorder->Intern("doorbell");
    wait_name_ = options_.recorder->Intern(options_.interrupts ? "wait for interrupt" : "poll");
    submit_name_ = options_.recorder->Intern("submit");
    response_name_ = options_.recorder->Intern("take response");
  }
}

QueuePair::~QueuePair() {
  try {
    registers_.WriteQueueControl(0);
    registers_.WriteIntEnable(0);
  } catch (const Error&) {
    // The card is gone: it will not touch the rings any more.
  }
}

void QueuePair::Charge(double ns) { transport_.Advance(PsFromNs(ns)); }

void QueuePair::ChargeFor(trace::NameId name, double ns, uint64_t correlation) {
  const uint64_t start = options_.recorder != nullptr ? transport_.NowPs() : 0;
  Charge(ns);
  if (options_.recorder == nullptr) return;
  options_.recorder->Slice(trace::kHost, track_, name, start, transport_.NowPs(), correlation);
}

bool QueuePair::HasRoom() {
  if (tail_ - known_head_ < options_.submission_entries) return true;
  ++statistics_.full;
  return false;
}

bool QueuePair::TrySubmit(Entry& entry) {
  if (std::holds_alternative<ControlBlock>(entry) != (function_ == 0)) {
    throw BadInput("function {}: {}", function_,
                   function_ == 0 ? "a physical function takes control blocks, not messages"
                                  : "a virtual function takes messages, not control blocks");
  }
  if (!HasRoom()) return false;
  ChargeFor(submit_name_, options_.costs.submit_ns,
            std::visit([](const auto& e) { return e.correlation; }, entry));
  std::visit(
      [&](auto& e) {
        e.sequence = next_sequence_;
        e.flags = static_cast<uint16_t>(e.flags & ~kFlagInterrupt);
        if (options_.interrupts) e.flags |= kFlagInterrupt;
        Seal(e);
        std::memcpy(submission_.data() + tail_ % options_.submission_entries * kEntryBytes, &e,
                    kEntryBytes);
      },
      entry);
  const auto opcode =
      std::visit([](const auto& e) { return static_cast<Opcode>(e.opcode); }, entry);
  outstanding_.push_back({next_sequence_, opcode == Opcode::EVENT_WAIT, false});
  ++next_sequence_;
  ++tail_;
  ++statistics_.submitted;
  return true;
}

void QueuePair::Submit(Entry& entry) {
  while (!TrySubmit(entry)) {
    RingDoorbell();
    if (auto response = TakeFromRing()) {
      kept_.push_back(*response);
    } else {
      WaitForRing();
    }
  }
}

void QueuePair::RingDoorbell() {
  if (rung_tail_ == tail_) return;
  const uint64_t start = transport_.NowPs();
  rung_tail_ = tail_;
  ++statistics_.submission_doorbells;
  std::atomic_thread_fence(std::memory_order_release);  // the entries, then the doorbell
  registers_.WriteSqTail(static_cast<uint32_t>(tail_));
  if (options_.recorder != nullptr) {
    options_.recorder->Slice(trace::kHost, track_, doorbell_name_, start, transport_.NowPs());
  }
}

std::optional<Response> QueuePair::Poll() {
  std::optional<Response> response;
  if (!kept_.empty()) {
    response = kept_.front();
    kept_.pop_front();
  } else {
    response = TakeFromRing();
  }
  if (!response) return std::nullopt;
  // Responses may come out of order between streams; the window moves over what is done.
  while (!outstanding_.empty() && outstanding_.front().done) outstanding_.pop_front();
  return response;
}

Response QueuePair::Wait() {
  if (outstanding_.empty() && kept_.empty()) {
    throw BadInput("function {}: waiting for a response, but nothing is outstanding", function_);
  }
  RingDoorbell();
  for (;;) {
    if (auto response = Poll()) return *response;
    WaitForRing();
  }
}

// The card may be writing the slot: every word is read once, the phase first. What is written after
// the phase, as the CRC may be, need not be there yet.
Response QueuePair::ReadSlot(uint64_t index) const {
  const uint8_t* slot = response_.data() + index * kEntryBytes;
  PhaseOf(slot);
  std::array<uint64_t, kEntryBytes / sizeof(uint64_t)> words;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = __atomic_load_n(reinterpret_cast<const uint64_t*>(slot) + i, __ATOMIC_RELAXED);
  }
  Response response;
  std::memcpy(static_cast<void*>(&response), words.data(), sizeof(response));
  return response;
}

bool QueuePair::HasResponse() const {
  const uint8_t* slot = response_.data() + response_head_ % options_.response_entries * kEntryBytes;
  const uint32_t phase = PhaseOf(slot);
  const uint16_t magic = __atomic_load_n(
      reinterpret_cast<const uint16_t*>(slot + offsetof(Response, magic)), __ATOMIC_RELAXED);
  // Nothing was ever written here, or only in the pass before.
  return magic != 0 && phase == (response_head_ / options_.response_entries % 2 == 0);
}

std::optional<Response> QueuePair::TakeFromRing() {
  if (!HasResponse()) return std::nullopt;
  const uint64_t index = response_head_ % options_.response_entries;
  Response response = ReadSlot(index);
  Status status = Check(response);
  if (status != Status::OK) {
    ++statistics_.torn_responses;
    const uint64_t deadline = transport_.NowPs() + PsFromNs(options_.torn_wait_ns);
    while (status != Status::OK && transport_.NowPs() < deadline) {
      transport_.Advance(std::max<uint64_t>(1000, PsFromNs(options_.poll_interval_ns)));
      std::this_thread::yield();  // the writer may be a thread of this machine
      response = ReadSlot(index);
      status = Check(response);
    }
  }
  if (status != Status::OK) {
    Fail(fmt::format("corrupt response in slot {}: {} (magic 0x{:04x}, version {}, sequence {})",
                     index, StatusName(status), response.magic, response.version,
                     response.sequence));
  }
  ChargeFor(response_name_, options_.costs.completion_ns, response.correlation);
  CheckOrder(response);
  // The card reads entries in order, so it has read this one and all before.
  known_head_ = std::max(known_head_, response.sequence);
  ++response_head_;
  ++statistics_.completed;
  waited_ps_ = 0;
  // Telling the card in batches saves bus writes. Half the ring is always free for the card, so it
  // is never stopped while the responses it has posted are not read.
  if (response_head_ - published_head_ >= options_.response_entries / 2) PublishHead();
  return response;
}

void QueuePair::CheckOrder(const Response& response) {
  bool in_order = in_order_;
  for (Pending& pending : outstanding_) {
    if (pending.done) continue;
    if (pending.sequence == response.sequence) {
      pending.done = true;
      return;
    }
    // A wait for an event may hold its stream for long; the others pass it. And what the card
    // refuses while decoding is answered before older work has completed.
    in_order = in_order && !pending.waits;
    if (in_order && response.status == static_cast<uint16_t>(Status::OK)) {
      Fail(fmt::format("response for sequence {} where {} is due: this card completes in order",
                       response.sequence, pending.sequence));
    }
  }
  Fail(fmt::format("response for sequence {}, which is not outstanding", response.sequence));
}

void QueuePair::PublishHead() {
  if (published_head_ == response_head_) return;
  published_head_ = response_head_;
  ++statistics_.response_doorbells;
  registers_.WriteRqHead(static_cast<uint32_t>(response_head_));
}

// Ends with an interrupt, with a response in the ring, or when the card stalls or `timeout_ps` is
// over.
WaitResult QueuePair::WaitForInterrupt(uint64_t timeout_ps) {
  const uint64_t end = transport_.NowPs() + timeout_ps;
  const uint64_t interval = std::max<uint64_t>(1, PsFromNs(options_.look_interval_ns));
  for (;;) {
    const uint64_t look = std::min(end, transport_.NowPs() + interval);
    const WaitResult result = transport_.WaitInterrupt(function_, kVectorResponse, look);
    if (result == WaitResult::kInterrupt) {
      ++statistics_.interrupts;
      // Cleared before the ring is read: a response after this raises the next interrupt.
      registers_.WriteIntStatus(regs::INT_STATUS_RESPONSE_MASK);
      return result;
    }
    if (HasResponse()) {
      // The interrupt was lost; as long as its bit is set the card raises no other.
      ++statistics_.missed_interrupts;
      registers_.WriteIntStatus(regs::INT_STATUS_RESPONSE_MASK);
      return WaitResult::kInterrupt;
    }
    if (result == WaitResult::kStalled || transport_.NowPs() >= end) return result;
  }
}

void QueuePair::WaitForRing() {
  const uint64_t timeout_ps = PsFromNs(options_.timeout_ns);
  const uint64_t start = transport_.NowPs();
  bool stalled = false;
  bool timed_out = false;
  if (options_.interrupts) {
    // Interrupts without a response do not start the time again.
    const uint64_t left = timeout_ps - std::min(timeout_ps, waited_ps_);
    const WaitResult result = WaitForInterrupt(left);
    stalled = result == WaitResult::kStalled;
    timed_out = result == WaitResult::kDeadline;
  } else {
    // Looks become rarer, by a thousandth of the time already waited, so that a hang is found in a
    // bounded number of them.
    ++statistics_.polls;
    transport_.Advance(std::max(PsFromNs(options_.poll_interval_ns), waited_ps_ / 1024));
  }
  waited_ps_ += transport_.NowPs() - start;
  timed_out = timed_out || (waited_ps_ >= timeout_ps && !HasResponse());
  if (options_.recorder != nullptr) {
    options_.recorder->Slice(trace::kHost, track_, wait_name_, start, transport_.NowPs());
  }
  if (stalled) Fail("the card has nothing left to do, but responses are due");
  if (timed_out) Fail(fmt::format("no response within {:.3f} ms", options_.timeout_ns / 1e6));
}

void QueuePair::Fail(const std::string& what) {
  std::string text = fmt::format("function {}: {}", function_, what);
  const uint32_t status = registers_.ReadStatus();
  if (status == 0xFFFFFFFF) {
    text += "; the card does not answer register reads";
  } else if (status & regs::STATUS_ERROR_MASK) {
    const auto code = static_cast<Status>(registers_.ReadErrorCode());
    text += fmt::format("; the card stopped the queue: {}", StatusName(code));
  }
  if (!outstanding_.empty()) {
    text += fmt::format("; {} operations outstanding, the oldest has sequence {}",
                        outstanding_.size(), outstanding_.front().sequence);
  }
  const std::string diagnosis = transport_.Diagnose();
  if (!diagnosis.empty()) text += "\n" + diagnosis;
  throw Error(ErrorKind::kDeviceFault, text)
      .Subject(fmt::format("function {}", function_))
      .Value(what);
}

}  // namespace spyre::driver
