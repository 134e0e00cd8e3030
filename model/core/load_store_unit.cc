// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/core/units.h"

namespace spyre::model {

LoadStoreUnit::LoadStoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core,
                             trace::Recorder* recorder)
    : CoreUnit(name, kind, core, recorder),
      is_store_(kind == Unit::kStore),
      unicasts_((is_store_ ? core.config().core.outstanding_stores
                           : core.config().core.outstanding_loads) *
                kMaxBurstBytes),
      multicasts_(core.config().core.outstanding_multicasts * kMaxBurstBytes),
      issue_(core.clock()) {
  transfer_.stop = static_cast<uint16_t>(core.index());
}

uint64_t LoadStoreUnit::Execute(const Instruction& in) {
  if (!Begin(in, local_ps())) return kLater;
  SendBursts();
  while (sending_) WaitForProgress();
  AdvanceTo(box_.local_ps);
  CheckFailed();
  return kLater;
}

bool LoadStoreUnit::Begin(const Instruction& in, uint64_t start_ps) {
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
  // Cores of the card. A program cannot name those of another one.
  const uint64_t named = is_store_ ? 0 : (reg(in, 9) & UINT32_MAX) << job().first_core;
  const auto group = static_cast<uint32_t>(named);
  if (!IsStickAligned(device | device_row_stride | device_plane_stride | row_bytes)) {
    throw UnitFault{Status::MISALIGNED, device};
  }
  if (row_bytes == 0 || rows == 0 || planes == 0) {
    // It ends behind those before it.
    Move& move = BeginMove({&in, start_ps, 0, start_ps, 0, true, {}});
    if (follows_paths()) move.path = path_;
    EndMoves();
    return false;
  }
  uint64_t total = 0;
  if (__builtin_mul_overflow(row_bytes, rows, &total) ||
      __builtin_mul_overflow(total, planes, &total))
    throw UnitFault{Status::LX_OVERFLOW, lx};
  // Rows and planes that follow each other on both sides are one run.
  if (device_row_stride == row_bytes && lx_row_stride == row_bytes) {
    row_bytes *= rows;
    rows = 1;
  }
  if (rows == 1 && device_plane_stride == row_bytes && lx_plane_stride == row_bytes) {
    row_bytes *= planes;
    planes = 1;
  }
  // In device memory alone: loads are in bursts as long as there, and the pieces go to their
  // places. Stores are a burst for each piece, as the card's scattered results are measured to be.
  Pieces pieces;
  if (!is_store_ && rows > 1 && rows <= kLxBytes / kStickBytes && device_row_stride == row_bytes &&
      kMaxBurstBytes % row_bytes == 0) {
    pieces = {row_bytes, lx_row_stride};
    row_bytes *= rows;
    rows = 1;
  }
  const uint32_t self = 1u << core_.index();
  const uint32_t members = group == self ? 0 : group;
  if (members != 0 && ((group & self) == 0 || (named & ~uint64_t{job().cores}) != 0))
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, device};
  // A multicast counts once, for its lowest member.
  if (is_store_) {
    job().bytes_written += total;
  } else if (members == 0 || (members & (self - 1)) == 0) {
    job().bytes_read += total;
  }
  job().Progress();
  transfer_.function = job().function;
  transfer_.flow = job().flow;
  transfer_.functional = job().functional;
  transfer_.move_data = transfer_.functional != nullptr;
  transfer_.group = members;
  transfer_.takes_turn = group == self;
  // Stores take the LX port before the ring, which streams of this time share with them.
  if (is_store_) Sync();
  box_.move = &BeginMove({&in, start_ps, total, start_ps, 0, false, {}});
  if (follows_paths()) box_.move->path = path_;
  box_.device = {device, device_row_stride, device_plane_stride};
  box_.lx = {lx, lx_row_stride, lx_plane_stride};
  box_.run_bytes = row_bytes;
  box_.pieces = transfer_.pieces = pieces;
  transfer_.spacing = rows > 1 ? device_row_stride : 0;
  box_.rows = rows;
  box_.planes = planes;
  box_.plane = box_.row = 0;
  box_.local_ps = start_ps;
  box_.run = {};
  Translate();
  sending_ = true;
  return true;
}

// The next load, in place of the process, which sleeps. False: the process has to go on.
bool LoadStoreUnit::BeginNext() {
  if (is_store_ || failed_ || job().aborted) return false;  // stores wait for the kernel
  try {
    const Instruction* const next = GoOnAsleep(&box_.local_ps);
    return next != nullptr && Begin(*next, box_.local_ps);
  } catch (const UnitFault& fault) {
    Fail(fault);
    return false;
  }
}

uint64_t LoadStoreUnit::LxBytesOfRun() const {
  const Pieces& pieces = box_.pieces;
  if (pieces.bytes == 0) return box_.run_bytes;
  return pieces.At(box_.run_bytes - pieces.bytes) + pieces.bytes;
}

// One translation for the whole box, as far as that is possible.
void LoadStoreUnit::Translate() {
  Box& box = box_;
  box.translated = false;
  const auto fits = [](uint64_t count, uint64_t stride) {
    return stride == 0 || count - 1 <= kSegmentBytes / stride;
  };
  if (!fits(box.rows, box.device.row_stride) || !fits(box.planes, box.device.plane_stride)) return;
  const uint64_t lx_bytes =
      box.lx.At(box.planes - 1, box.rows - 1) - box.lx.address + LxBytesOfRun();
  if (box.lx.address + lx_bytes > config_.lx_usable_bytes() || box.lx.address > kLxBytes) return;
  const Translation translation = core_.mmu().Translate(
      job().function, job().segments, box.device.address,
      box.device.At(box.planes - 1, box.rows - 1) - box.device.address + box.run_bytes,
      is_store_ ? kPermissionWrite : kPermissionRead);
  if (translation.status != Status::OK) return;
  box.translated = true;
  box.grant = translation.grant;
  box.data = core_.Lx(box.lx.address, lx_bytes);
}

bool LoadStoreUnit::BeginRun() {
  Box& box = box_;
  const uint64_t device = box.device.At(box.plane, box.row);
  const uint64_t lx = box.lx.At(box.plane, box.row);
  box.run_device = device;
  if (box.translated && !box.grant.stands()) Translate();
  if (box.translated) {
    box.run = box.grant.Part(device - box.device.address, box.run_bytes);
    box.run_data = box.data + (lx - box.lx.address);
  } else {
    const Translation translation =
        core_.mmu().Translate(job().function, job().segments, device, box.run_bytes,
                              is_store_ ? kPermissionWrite : kPermissionRead);
    try {
      if (translation.status != Status::OK) throw UnitFault{translation.status, device};
      box.run = translation.grant;
      box.run_data = core_.Lx(lx, LxBytesOfRun());
    } catch (const UnitFault& fault) {
      Fail(fault);
      return false;
    }
  }
  issue_.MoveBehind(box.local_ps, config_.mmu.translate_cycles);
  box.local_ps = issue_.ps();
  if (++box.row == box.rows) {
    box.row = 0;
    ++box.plane;
  }
  return true;
}

// The PF may take a region away in the middle of an instruction.
bool LoadStoreUnit::RenewRun() {
  Box& box = box_;
  const Translation translation =
      core_.mmu().Translate(job().function, job().segments, box.run_device, box.run.bytes(),
                            is_store_ ? kPermissionWrite : kPermissionRead);
  if (translation.status != Status::OK) {
    Fail({translation.status, box.run_device});
    return false;
  }
  box.run = translation.grant;
  return true;
}

// Sends as many bursts as there are free slots. Called again when a slot becomes free.
void LoadStoreUnit::SendBursts() {
  if (in_send_) return;  // the loop below goes on with it
  in_send_ = true;
  while (SendBox()) {
    sending_ = false;
    if (!failed_ && !job().aborted) {
      box_.move->issued = true;
      EndMoves();
    }
    if (!waiting_) break;
    if (BeginNext()) continue;
    progress_.notify();
    break;
  }
  in_send_ = false;
}

bool LoadStoreUnit::SendBox() {
  Box& box = box_;
  while (!failed_ && !job().aborted && (box.run.bytes() > 0 || box.plane < box.planes)) {
    if (box.run.bytes() == 0) {
      BeginRun();
      continue;
    }
    if (!box.run.stands() && !RenewRun()) continue;
    const uint64_t bytes = std::min(kMaxBurstBytes, box.run.bytes());
    // Stores are counted, whatever their size.
    Burst* const burst = transfer_.group != 0 ? multicasts_.Take(bytes)
                                              : unicasts_.Take(is_store_ ? kMaxBurstBytes : bytes);
    if (burst == nullptr) return false;
    Send(*burst, bytes);
  }
  return true;
}

void LoadStoreUnit::Send(Burst& burst, uint64_t bytes) {
  Box& box = box_;
  const uint64_t sent = std::max(box.local_ps, burst.done_ps);
  // A place that was not free yet: the burst depends on the one that had it.
  if (follows_paths()) {
    if (burst.done_ps > box.local_ps) {
      path_ = PathOf(burst);
    } else {
      path_.Until(sent, Cause::kSequencer);
    }
  }
  burst.move = box.move;
  burst.device_address = box.run_device;
  burst.bytes = static_cast<uint32_t>(bytes);
  burst.sent_ps = sent;
  burst.done_ps = 0;
  burst.waiting = true;
  ++box.move->bursts;
  ++in_flight_;
  const Grant part = box.run.Take(bytes);
  uint8_t* const data = box.run_data;
  issue_.MoveBehind(sent, 1);
  box.local_ps = issue_.ps();
  box.run_device += bytes;
  box.run_data += box.pieces.At(bytes);
  if (transfer_.group != 0) {
    core_.multicast_port.Join(transfer_, &burst, sent, part, data,
                              follows_paths() ? &path_ : nullptr, *this);
    return;
  }
  auto& unicast = static_cast<Unicast&>(burst);
  unicast.unit = this;
  unicast.payload.info.Ask(transfer_, &unicast);
  const uint64_t ready = is_store_ ? core_.lx_port().Burst(sent, bytes) : sent;
  if (follows_paths()) {  // a multicast brings its own
    PathTime& path = PathOf(burst);
    path = path_;
    path.Until(ready, Cause::kLxPort);
  }
  core_.ring_socket.Send(unicast.payload,
                         is_store_ ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, part, data,
                         Ps(ready - NowPs()));
}

void LoadStoreUnit::Unicast::Complete(tlm::tlm_generic_payload& ended, uint64_t end_ps) {
  const BurstTimes& times = payload.info.times;
  if (!unit->is_store_) unit->CountLoad(sent_ps, times, end_ps);
  if (unit->follows_paths()) {
    PathTime& way = PathOf(*this);
    if (unit->is_store_) {
      SpendWrite(way, times, end_ps);
    } else {
      SpendToMemory(way, times);
      SpendFromMemory(way, times, end_ps);
    }
  }
  unit->BurstDone(*this, ended.get_response_status(), end_ps);
}

void LoadStoreUnit::MulticastEnded(void* place, const MulticastEnd& end) {
  Burst& burst = *static_cast<Burst*>(place);
  if (end.joined_ps > burst.sent_ps) PartnersWaited(burst, end);
  CountLoad(std::max(burst.sent_ps, end.joined_ps), end.times, end.done_ps);
  if (follows_paths()) {
    PathTime& path = PathOf(burst);
    path = end.path;
    SpendFromMemory(path, end.times, end.done_ps);
  }
  BurstDone(burst, end.status, end.done_ps);
}

void LoadStoreUnit::CountLoad(uint64_t asked_ps, const BurstTimes& times, uint64_t arrived_ps) {
  const uint64_t end_ps = std::max(asked_ps, arrived_ps);
  const uint64_t at_memory_ps = std::clamp(times.at_memory_ps, asked_ps, end_ps);
  const uint64_t memory_ps = std::clamp(times.memory_ps, at_memory_ps, end_ps);
  CountLoss(Loss::kLoadMemory, memory_ps - at_memory_ps);
  CountLoss(Loss::kLoadRing, at_memory_ps - asked_ps + end_ps - memory_ps);
}

// Bursts wait side by side: in partner_wait, their common time counts once.
void LoadStoreUnit::PartnersWaited(const Burst& burst, const MulticastEnd& end) {
  CountLoss(Loss::kLoadPartners, end.joined_ps - burst.sent_ps);
  AccountWait(Loss::kPartnerWait, std::max(burst.sent_ps, partners_until_ps_), end.joined_ps,
              records() ? core_.peer(end.last_stop)->load_track() : 0);
  partners_until_ps_ = std::max(partners_until_ps_, end.joined_ps);
}

void LoadStoreUnit::BurstDone(Burst& burst, tlm::tlm_response_status status, uint64_t done_ps) {
  burst.waiting = false;
  burst.done_ps = done_ps;
  --in_flight_;
  if (status == tlm::TLM_OK_RESPONSE && !is_store_) {
    burst.done_ps = core_.lx_port().BurstThrough(done_ps, burst.bytes);
    CountLoss(Loss::kLoadLx, burst.done_ps - std::min(done_ps, burst.done_ps));
    if (follows_paths()) PathOf(burst).Until(burst.done_ps, Cause::kLxPort);
  } else if (status != tlm::TLM_OK_RESPONSE) {
    Fail({status == tlm::TLM_ADDRESS_ERROR_RESPONSE   ? Status::PAGE_FAULT
          : status == tlm::TLM_COMMAND_ERROR_RESPONSE ? Status::ILLEGAL_INSTRUCTION
          : status == tlm::TLM_BURST_ERROR_RESPONSE   ? Status::RING_FAULT
                                                      : Status::BUS_ERROR,
          burst.device_address});
  }
  Move& move = *burst.move;
  --move.bursts;
  if (burst.done_ps >= move.done_ps) {
    move.done_ps = burst.done_ps;
    // Paths are large: while bursts of a timed card are still to be sent, another one ends last.
    if (follows_paths() && (move.issued || !config_.timed())) move.path = PathOf(burst);
  }
  EndMoves();
  if (sending_) SendBursts();
  if (waiting_ && in_flight_ == 0) progress_.notify();
}

// The first failure is what the job hears of: from the unit's process, which may wait for a token
// that no unit gives any more.
void LoadStoreUnit::Fail(const UnitFault& fault) {
  if (failed_) return;
  failed_ = true;
  failure_ = fault;
  core_.WakeUnits();
}

void LoadStoreUnit::CheckFailed() {
  if (failed_) throw failure_;
}

LoadStoreUnit::Move& LoadStoreUnit::BeginMove(const Move& move) {
  if (ended_moves_.empty()) ended_moves_.emplace_back();
  moves_.splice(moves_.end(), ended_moves_, ended_moves_.begin());
  return moves_.back() = move;
}

// Instructions of a unit finish in order, whatever way their bursts took.
void LoadStoreUnit::EndMoves() {
  while (!moves_.empty() && moves_.front().issued && moves_.front().bursts == 0) {
    const Move& move = moves_.front();
    if (move.done_ps >= last_done_ps_) {
      last_done_ps_ = move.done_ps;
      if (move.path) {
        last_path_ = *move.path;
        last_path_.Until(last_done_ps_, Cause::kRing);
      }
    }
    Account(*move.in, move.start_ps, last_done_ps_, move.bytes);
    if (!failed_) GiveSignal(*move.in, last_done_ps_, last_path_);
    ended_moves_.splice(ended_moves_.begin(), moves_, moves_.begin());
  }
}

void LoadStoreUnit::Drain() {
  while (in_flight_ > 0) WaitForProgress();
  CheckFailed();
  if (follows_paths() && last_done_ps_ > local_ps()) path_ = last_path_;
  AdvanceTo(last_done_ps_);
}

void LoadStoreUnit::Abandon() {
  sending_ = false;
  waiting_ = true;
  while (in_flight_ > 0) wait(progress_);
  waiting_ = false;
  moves_.clear();
  failed_ = false;
}

}  // namespace spyre::model
