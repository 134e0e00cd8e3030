// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/core/units.h"

namespace spyre::model {

LoadStoreUnit::LoadStoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core,
                             trace::Recorder* recorder)
    : CoreUnit(name, kind, core, recorder),
      is_store_(kind == Unit::kStore),
      windows_{Window<Slot>(is_store_ ? core.config().core.outstanding_stores
                                      : core.config().core.outstanding_loads),
               Window<Slot>(is_store_ ? 0 : core.config().core.outstanding_multicasts)} {
  for (Window<Slot>& window : windows_) {
    for (Slot& slot : window) {
      slot.unit = this;
      slot.window = &window;
      slot.payload.info.stop = static_cast<uint16_t>(core.index());
      slot.payload.info.client = &slot;
    }
  }
}

uint64_t LoadStoreUnit::Execute(const Instruction& in) {
  if (in.op != (is_store_ ? Op::kStore : Op::kLoad))
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, 0};
  const uint64_t lx = reg(in, 0);
  const uint64_t device = reg(in, 1);
  uint64_t row_bytes = Count(in, 2);
  uint64_t rows = Count(in, 3);
  const uint64_t device_row_stride = Count(in, 4, kSegmentBytes);
  const uint64_t lx_row_stride = Count(in, 5, kLxBytes);
  uint64_t planes = Count(in, 6);
  const uint64_t device_plane_stride = Count(in, 7, kSegmentBytes);
  const uint64_t lx_plane_stride = Count(in, 8, kLxBytes);
  const uint32_t group = is_store_ ? 0 : static_cast<uint32_t>(reg(in, 9));
  if (!IsStickAligned(device | device_row_stride | device_plane_stride | row_bytes)) {
    throw UnitFault{Status::MISALIGNED, device};
  }
  const uint64_t start = local_ps();
  if (row_bytes == 0 || rows == 0 || planes == 0) {
    moves_.push_back({&in, start, 0, start, 0, true});  // ends behind those before it
    EndMoves();
    return kLater;
  }
  const uint64_t total = row_bytes * rows * planes;
  if (total / planes / rows != row_bytes) throw UnitFault{Status::LX_OVERFLOW, lx};
  // Rows and planes that follow each other on both sides are one run.
  if (device_row_stride == row_bytes && lx_row_stride == row_bytes) {
    row_bytes *= rows;
    rows = 1;
  }
  if (rows == 1 && device_plane_stride == row_bytes && lx_plane_stride == row_bytes) {
    row_bytes *= planes;
    planes = 1;
  }
  const uint32_t self = 1u << core_.index();
  const uint32_t members = group == self ? 0 : group;
  if (members != 0 && ((group & self) == 0 || core_.role() == CoreRole::kService))
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, device};
  // A multicast counts once, for its lowest member.
  if (is_store_) {
    job().bytes_written += total;
  } else if (members == 0 || (members & (self - 1)) == 0) {
    job().bytes_read += total;
  }
  job().Progress();
  Move& move = moves_.emplace_back(Move{&in, start, total, start, 0, false});
  for (uint64_t plane = 0; plane < planes; ++plane) {
    for (uint64_t row = 0; row < rows; ++row) {
      SendRun(move, device + plane * device_plane_stride + row * device_row_stride,
              lx + plane * lx_plane_stride + row * lx_row_stride, row_bytes, members);
    }
  }
  move.issued = true;
  EndMoves();
  return kLater;
}

void LoadStoreUnit::SendRun(Move& move, uint64_t device_address, uint64_t lx_address,
                            uint64_t bytes, uint32_t group) {
  const Translation translation =
      core_.mmu().Translate(job().function, job().segments, device_address, bytes,
                            is_store_ ? kPermissionWrite : kPermissionRead);
  if (translation.status != Status::OK) throw UnitFault{translation.status, device_address};
  uint8_t* const data = core_.Lx(lx_address, bytes);
  Advance(config_.mmu.translate_cycles);
  Window<Slot>& window = windows_[group == 0 ? 0 : 1];
  for (uint64_t offset = 0; offset < bytes; offset += kMaxBurstBytes) {
    const uint64_t burst = std::min(kMaxBurstBytes, bytes - offset);
    Slot& slot = window.Next();
    Await(slot);
    if (failed_) throw failure_;
    Sync();
    Transfer& info = slot.payload.info;
    info.function = job().function;
    info.flow = job().flow;
    info.functional = job().functional;
    info.move_data = info.functional != nullptr;
    info.group = group;
    slot.move = &move;
    slot.device_address = device_address + offset;
    slot.sent_ps = NowPs();
    info.joined_ps = 0;
    slot.waiting = true;
    ++move.bursts;
    uint64_t ready = NowPs();
    if (is_store_) ready = core_.lx_port().Burst(ready, burst);
    auto& payload = slot.payload.Prepare(is_store_ ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                         translation.physical + offset, data + offset, burst);
    core_.ring_socket.Send(payload, Ps(ready - NowPs()));
    Advance(1);
  }
}

void LoadStoreUnit::Slot::Complete(tlm::tlm_generic_payload& ended, uint64_t end_ps) {
  unit->BurstDone(*this, ended.get_response_status(), end_ps);
}

void LoadStoreUnit::BurstDone(Slot& slot, tlm::tlm_response_status status, uint64_t done_ps) {
  slot.waiting = false;
  slot.done_ps = done_ps;
  const Transfer& info = slot.payload.info;
  if (info.joined_ps > slot.sent_ps) {
    // Bursts wait side by side: their common time counts once.
    AccountWait(Loss::kPartnerWait, std::max(slot.sent_ps, partners_until_ps_), info.joined_ps,
                core_.peer(info.last_stop)->load_track());
    partners_until_ps_ = std::max(partners_until_ps_, info.joined_ps);
  }
  if (status == tlm::TLM_OK_RESPONSE && !is_store_) {
    slot.done_ps = core_.lx_port().BurstThrough(done_ps, slot.payload.Prepared().get_data_length());
  } else if (status != tlm::TLM_OK_RESPONSE && !failed_) {
    failed_ = true;
    failure_ = {status == tlm::TLM_ADDRESS_ERROR_RESPONSE   ? Status::PAGE_FAULT
                : status == tlm::TLM_COMMAND_ERROR_RESPONSE ? Status::ILLEGAL_INSTRUCTION
                                                            : Status::BUS_ERROR,
                slot.device_address};
  }
  Move& move = *slot.move;
  --move.bursts;
  move.done_ps = std::max(move.done_ps, slot.done_ps);
  EndMoves();
  slot.window->Wake(slot);
}

// Instructions of a unit finish in order, whatever way their bursts took.
void LoadStoreUnit::EndMoves() {
  while (!moves_.empty() && moves_.front().issued && moves_.front().bursts == 0) {
    const Move& move = moves_.front();
    last_done_ps_ = std::max(last_done_ps_, move.done_ps);
    Account(*move.in, move.start_ps, last_done_ps_, move.bytes);
    if (!failed_) GiveSignal(*move.in, last_done_ps_);
    moves_.pop_front();
  }
}

void LoadStoreUnit::Await(Slot& slot) {
  if (slot.waiting) {
    Sync();
    slot.window->Await(slot, [this](const sc_core::sc_event& event) { WaitWhileAhead(event); });
  }
  AdvanceTo(slot.done_ps);
}

void LoadStoreUnit::Drain() {
  for (Window<Slot>& window : windows_) {
    for (Slot& slot : window) Await(slot);
  }
  if (failed_) throw failure_;
  AdvanceTo(last_done_ps_);
}

void LoadStoreUnit::Abandon() {
  for (Window<Slot>& window : windows_) {
    for (const Slot& slot : window) {
      window.Await(slot, [this](const sc_core::sc_event& event) { wait(event); });
    }
  }
  moves_.clear();
  failed_ = false;
}

}  // namespace spyre::model
