#include "model/rtl/control/control_rtl.h"

#include <verilated.h>

#include <cstring>
#include <tuple>

#include "Vcontrol.h"
#include "model/rtl/verilated_block.h"
#include "model/rtl/waves.h"

namespace spyre::model {

namespace {

static_assert(sizeof(ControlBlock) == sizeof(VlWide<32>), "an entry is 1024 bits");

// Width of a slot number in a node: function, then slot.
constexpr unsigned SlotBits() {
  unsigned bits = 0;
  while ((1u << bits) < kHeldOperations) ++bits;
  return bits;
}

ControlRtl::Node NodeOf(uint32_t bits) {
  return {bits >> SlotBits(), bits & ((1u << SlotBits()) - 1)};
}

}  // namespace

struct ControlRtl::Model {
  void Edge(uint64_t now_ps) {
    top.now_ps = now_ps;
    top.clk = 1;
    top.eval();
    if (waves != nullptr) waves->Dump(now_ps);
    top.clk = 0;
    top.eval();
    if (waves != nullptr) waves->Dump(now_ps + half_period_ps);
  }

  VerilatedBlock<Vcontrol> block{"control"};
  Vcontrol& top = block.top;
  Waves* waves = nullptr;
  uint64_t half_period_ps = 0;
};

ControlRtl::ControlRtl(const Settings& settings) : model_(std::make_unique<Model>()) {
  Vcontrol& top = model_->top;
  top.serial = settings.serial;
  top.fetch_batch = settings.fetch_batch;
  top.decode_ps = settings.decode_ps;
  top.dispatch_ps = settings.dispatch_ps;
  top.respond_ps = settings.respond_ps;
  top.clk = 0;
  top.rst = 1;
  top.reset = 1;
  top.eval();
  for (unsigned function = 0; function < kMaxFunctions; ++function) {
    top.command_function = static_cast<uint8_t>(function);
    model_->Edge(0);
  }
  top.rst = top.reset = 0;
}

ControlRtl::~ControlRtl() = default;

void ControlRtl::Clock(uint64_t now_ps) {
  Vcontrol& top = model_->top;
  model_->Edge(now_ps);
  top.set_queue = top.doorbell = top.cancel_doorbell = top.consumed = 0;
  top.clear_error = top.reset = 0;
  top.read_failed = top.write_done = top.message_done = 0;
  top.done = 0;
}

bool ControlRtl::idle() const { return model_->top.idle != 0; }
uint64_t ControlRtl::wake_ps() const { return model_->top.wake_ps; }

bool ControlRtl::Ring::operator==(const Ring& other) const {
  const auto fields = [](const Ring& ring) {
    return std::tie(ring.submission_base, ring.submission_entries, ring.response_base,
                    ring.response_entries, ring.enabled);
  };
  return fields(*this) == fields(other);
}

void ControlRtl::SetRing(unsigned function, const Ring& ring) {
  Vcontrol& top = model_->top;
  top.set_queue = 1;
  top.command_function = static_cast<uint8_t>(function);
  top.submission_base = ring.submission_base;
  top.submission_entries = ring.submission_entries;
  top.response_base = ring.response_base;
  top.response_entries = ring.response_entries;
  top.enabled = ring.enabled;
}

void ControlRtl::Doorbell(unsigned function, uint32_t tail, uint64_t arrival_ps) {
  Vcontrol& top = model_->top;
  top.doorbell = 1;
  top.command_function = static_cast<uint8_t>(function);
  top.index = tail;
  top.doorbell_ps = arrival_ps;
}

void ControlRtl::CancelDoorbell(unsigned function) {
  model_->top.cancel_doorbell = 1;
  model_->top.command_function = static_cast<uint8_t>(function);
}

void ControlRtl::ResponsesConsumed(unsigned function, uint32_t head) {
  model_->top.consumed = 1;
  model_->top.command_function = static_cast<uint8_t>(function);
  model_->top.index = head;
}

void ControlRtl::ClearError(unsigned function) {
  model_->top.clear_error = 1;
  model_->top.command_function = static_cast<uint8_t>(function);
}

void ControlRtl::Reset(unsigned function) {
  model_->top.reset = 1;
  model_->top.command_function = static_cast<uint8_t>(function);
}

bool ControlRtl::doorbell_ready(unsigned function) const {
  return (model_->top.doorbell_ready >> function & 1) != 0;
}
uint32_t ControlRtl::submission_head(unsigned function) const {
  return model_->top.submission_head[function];
}
uint32_t ControlRtl::response_tail(unsigned function) const {
  return model_->top.response_tail[function];
}
Status ControlRtl::error(unsigned function) const {
  return static_cast<Status>(model_->top.error[function]);
}
uint32_t ControlRtl::errors_raised() const { return model_->top.error_raised; }
uint32_t ControlRtl::responses_raised() const { return model_->top.response_raised; }

bool ControlRtl::TakeRead(Read* read) const {
  const Vcontrol& top = model_->top;
  if (top.read_valid != 0) *read = {top.read_function, top.read_address, top.read_entries};
  return top.read_valid != 0;
}

void ControlRtl::PresentEntry(const void* entry) {
  Vcontrol& top = model_->top;
  top.entry_valid = entry != nullptr;
  if (entry != nullptr) std::memcpy(&top.entry, entry, sizeof(top.entry));
}

void ControlRtl::FailRead() { model_->top.read_failed = 1; }
bool ControlRtl::entry_next() const { return model_->top.entry_next != 0; }
bool ControlRtl::entries_drop() const { return model_->top.entries_drop != 0; }

bool ControlRtl::TakeWrite(Write* write) const {
  const Vcontrol& top = model_->top;
  if (top.write_valid == 0) return false;
  write->function = top.write_function;
  write->address = top.write_address;
  std::memcpy(static_cast<void*>(&write->response), &top.write_response, sizeof(Response));
  return true;
}

void ControlRtl::EndWrite(bool accepted) {
  model_->top.write_done = 1;
  model_->top.write_ok = accepted;
}

bool ControlRtl::message() const { return model_->top.message_valid != 0; }

void ControlRtl::AnswerMessage(Status status, uint64_t fault, const ControlBlock& block) {
  Vcontrol& top = model_->top;
  top.message_done = 1;
  top.message_status = static_cast<uint16_t>(status);
  top.message_fault = fault;
  std::memcpy(&top.message_block, &block, sizeof(block));
}

bool ControlRtl::TakeOperation(Taken* taken) const {
  const Vcontrol& top = model_->top;
  if (top.taken == 0) return false;
  taken->node = NodeOf(top.taken_node);
  taken->engine = 0;
  while (taken->engine < kEngines && (top.taken_by >> taken->engine & 1) == 0) ++taken->engine;
  std::memcpy(static_cast<void*>(&taken->block), &top.taken_block, sizeof(ControlBlock));
  return true;
}

bool ControlRtl::started(unsigned engine) const { return (model_->top.start >> engine & 1) != 0; }
bool ControlRtl::started_aborted(unsigned engine) const {
  return (model_->top.start_aborted >> engine & 1) != 0;
}

void ControlRtl::EndOperation(unsigned engine, const Response& outcome) {
  Vcontrol& top = model_->top;
  top.done = static_cast<uint8_t>(top.done | 1u << engine);
  top.done_status[engine] = outcome.status;
  top.done_fault_address[engine] = outcome.fault_address;
  top.done_fault_core[engine] = outcome.fault_core;
  top.done_bytes_read[engine] = outcome.device_bytes_read;
  top.done_bytes_written[engine] = outcome.device_bytes_written;
  top.done_macs[engine] = outcome.macs;
}

bool ControlRtl::accepted(Node* node) const {
  *node = NodeOf(model_->top.accepted_node);
  return model_->top.accepted != 0;
}

void ControlRtl::SetWaves(Waves* waves, uint64_t period_ps) {
  if (waves != nullptr) waves->Attach(model_->top);
  model_->waves = waves;
  model_->half_period_ps = period_ps / 2;
}

}  // namespace spyre::model
