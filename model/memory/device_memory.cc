// SPDX-License-Identifier: Apache-2.0
#include "model/memory/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/memory/unit_statistics.h"

namespace spyre::model {

DeviceMemory::DeviceMemory(const sc_core::sc_module_name& name, const CardConfig& config,
                           FunctionalQueue& functional, trace::Recorder* recorder, Folding folding)
    : sc_module(name),
      config_(config),
      functional_(functional),
      recorder_(recorder != nullptr && recorder->Wants(trace::kMemory) ? recorder : nullptr),
      map_(config.memory),
      timing_(config.memory),
      contents_(config.usable_bytes()),
      channels_(config.memory, folding),
      lookahead_ps_(config.memory.controller_ns * 1000 - (config.memory.controller_ns > 0 ? 1 : 0)),
      unloaded_read_ps_(
          config.memory.controller_ns * 1000 +
          timing_.UnloadedPs(static_cast<uint32_t>(timing_.burst_bytes.value()), false)),
      unloaded_write_ps_(config.memory.controller_ns * 1000) {
  if (recorder_ != nullptr) {
    for (size_t i = 0; i < channels_.size(); ++i)
      lanes_.push_back({recorder_->AddTrack("memory", fmt::format("channel {:02}", i)), {}});
    channels_.OnRuns([this](size_t channel, const std::vector<MemoryRun>& runs, bool at_rest) {
      TraceRuns(channel, runs, at_rest);
    });
  }
  socket.register_nb_transport_fw(this, &DeviceMemory::Begin);
  socket.register_b_transport(this, &DeviceMemory::Transport);
  socket.register_transport_dbg(this, &DeviceMemory::TransportDebug);
  socket.register_get_direct_mem_ptr(this, &DeviceMemory::GetDirect);
  SC_HAS_PROCESS(DeviceMemory);
  SC_METHOD(Decide);
  sensitive << decision_;
  dont_initialize();
}

bool DeviceMemory::MoveData(tlm::tlm_generic_payload& payload) {
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  if (!contents_.Contains(address, bytes)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return false;
  }
  const auto* transfer = payload.get_extension<Transfer>();
  if (transfer == nullptr || transfer->move_data) {
    uint8_t* const own = contents_.At(address);
    uint8_t* const other = payload.get_data_ptr();
    if (payload.get_byte_enable_ptr() != nullptr) {
      functional_.Join();
      CopyEnabledBytes(payload, own);
    } else if (transfer != nullptr && transfer->functional != nullptr) {
      if (direct_given_) RevokeDirect();
      const bool read = payload.is_read();
      transfer->pieces.ForEach(bytes, [&](uint64_t offset, uint64_t part) {
        uint8_t* const at = other + transfer->pieces.At(offset);
        const auto copy = [to = read ? at : own + offset, from = read ? own + offset : at, part] {
          std::memcpy(to, from, part);
        };
        if (read) {
          transfer->functional->Overwrite({at, part}, copy);
        } else {
          transfer->functional->Push({{at, part}}, copy);
        }
      });
    } else {
      functional_.Join();
      std::memcpy(payload.is_read() ? other : own, payload.is_read() ? own : other, bytes);
    }
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return true;
}

void DeviceMemory::SetFaults(const FaultPort& port) {
  faults_.emplace(port, config_.memory, [this](uint64_t address, uint8_t bits) {
    functional_.Join();
    *contents_.At(address) ^= bits;
  });
}

bool DeviceMemory::AccessData(tlm::tlm_generic_payload& payload, uint64_t* extra_ps) {
  if (faults_ && contents_.Contains(payload.get_address(), payload.get_data_length()) &&
      !faults_->Access(payload, extra_ps)) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return false;
  }
  return MoveData(payload);
}

uint64_t DeviceMemory::UnloadedPs(const tlm::tlm_generic_payload& payload) const {
  uint64_t done = 0;
  map_.ForEachPiece(payload.get_address(), payload.get_data_length(),
                    [&](const ChannelAddress&, uint32_t piece) {
                      done = std::max(done, timing_.UnloadedPs(piece, payload.is_write()));
                    });
  return config_.memory.controller_ns * 1000 + done;
}

tlm::tlm_sync_enum DeviceMemory::Begin(int id, tlm::tlm_generic_payload& payload,
                                       tlm::tlm_phase& /*phase*/, sc_core::sc_time& delay) {
  auto* const transfer = payload.get_extension<Transfer>();
  if (transfer == nullptr) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  uint64_t extra_ps = 0;
  if (!AccessData(payload, &extra_ps)) {
    if (payload.get_response_status() == tlm::TLM_GENERIC_ERROR_RESPONSE)
      delay += Ps(UnloadedPs(payload));  // it was read, and is wrong
    return tlm::TLM_COMPLETED;
  }
  if (counters_ != nullptr) counters_->CountMemory(transfer->function, payload.is_write());
  if (!config_.timed()) {
    delay += Ps(UnloadedPs(payload) + extra_ps);
    return tlm::TLM_COMPLETED;
  }
  if (free_accesses_.empty()) {
    free_accesses_.push_back(static_cast<uint32_t>(accesses_.size()));
    accesses_.emplace_back();
  }
  const uint32_t index = free_accesses_.back();
  free_accesses_.pop_back();
  accesses_[index] = {&payload, id, extra_ps};
  transfer->times.unloaded_ps = payload.is_write() ? unloaded_write_ps_ : unloaded_read_ps_;
  const uint64_t now = NowPs();
  const uint64_t arrival = now + delay.value() + config_.memory.controller_ns * 1000;
  // Sockets in the order in which they are bound, on each of them ring stops.
  const auto requester = static_cast<uint16_t>(id << 8 | transfer->stop);
  DecideAt(channels_.Submit({index, arrival, payload.get_address(), payload.get_data_length(),
                             payload.is_write(), requester}));
  return tlm::TLM_ACCEPTED;
}

void DeviceMemory::DecideAt(uint64_t ps) {
  if (ps >= decides_ps_) return;
  decides_ps_ = ps;
  const uint64_t now = NowPs();
  decision_.notify(Ps(std::max(ps, now) - now));
}

void DeviceMemory::Decide() {
  const uint64_t now = NowPs();
  decides_ps_ = 0;
  if (channels_.NextDecisionPs() <= now) channels_.Advance(now + lookahead_ps_, ended_);
  while (answered_ < ended_.size() && ended_[answered_].decided_ps <= now) {
    const MemoryCompletion end = ended_[answered_++];
    // Whoever hears of it may begin another access.
    Finish(static_cast<uint32_t>(end.id), end.done_ps);
  }
  if (answered_ > ended_.size() / 2) {  // those that wait are few to move
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(answered_));
    answered_ = 0;
  }
  decides_ps_ = UINT64_MAX;
  DecideAt(std::min(channels_.NextDecisionPs(),
                    answered_ < ended_.size() ? ended_[answered_].decided_ps : UINT64_MAX));
}

// Runs of one direction without a gap are one slice. Two bank groups take slots in turn, so a run
// may begin before the slot of the one before it ends; its slice then begins at that end.
void DeviceMemory::TraceRuns(size_t channel, const std::vector<MemoryRun>& runs, bool at_rest) {
  Lane& lane = lanes_[channel];
  const auto record = [&] {
    if (lane.slice.bytes > 0) {
      std::optional<trace::NameId>& name = slice_names_[lane.slice.is_write ? 1 : 0];
      if (!name) name = recorder_->Intern(lane.slice.is_write ? "write" : "read");
      recorder_->Slice(trace::kMemory, lane.track, *name, lane.slice.begin_ps, lane.slice.end_ps, 0,
                       lane.slice.bytes);
    }
    lane.slice.bytes = 0;
  };
  for (const MemoryRun& run : runs) {
    const uint64_t before_ps = lane.slice.end_ps;
    if (run.begin_ps > before_ps || run.is_write != lane.slice.is_write) record();
    if (lane.slice.bytes == 0) {
      lane.slice.begin_ps = std::min(std::max(run.begin_ps, before_ps), run.end_ps);
      lane.slice.is_write = run.is_write;
    }
    lane.slice.end_ps = std::max(lane.slice.end_ps, run.end_ps);
    lane.slice.bytes += run.bytes;
  }
  if (at_rest) record();
}

void DeviceMemory::Finish(uint32_t index, uint64_t done_ps) {
  const Access access = accesses_[index];
  free_accesses_.push_back(index);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = Ps(done_ps - std::min(done_ps, NowPs()) + access.extra_ps);
  socket[access.initiator]->nb_transport_bw(*access.payload, phase, delay);
}

void DeviceMemory::Transport(int /*id*/, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
  uint64_t extra_ps = 0;
  if (AccessData(payload, &extra_ps)) delay += Ps(UnloadedPs(payload) + extra_ps);
}

unsigned DeviceMemory::TransportDebug(int /*id*/, tlm::tlm_generic_payload& payload) {
  return MoveData(payload) ? payload.get_data_length() : 0;
}

bool DeviceMemory::GetDirect(int /*id*/, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& direct) {
  // Accesses through a pointer would not meet injected faults.
  if (faults_ || !contents_.Contains(payload.get_address(), 1)) return false;
  functional_.Join();
  direct.set_dmi_ptr(contents_.At(0));
  direct.set_start_address(0);
  direct.set_end_address(contents_.size() - 1);
  direct.allow_read_write();
  direct_given_ = true;
  return true;
}

std::vector<uint8_t> DeviceMemory::Look(uint64_t base, uint64_t bytes) {
  functional_.Join();
  const uint8_t* const begin = contents_.At(base);
  return {begin, begin + bytes};
}

void DeviceMemory::Clear(uint64_t base, uint64_t bytes) {
  functional_.Join();
  if (direct_given_) RevokeDirect();
  contents_.Clear(base, bytes);
  if (faults_) faults_->Clear(base, bytes);
}

void DeviceMemory::RevokeDirect() {
  direct_given_ = false;
  for (unsigned i = 0; i < socket.size(); ++i)
    socket[static_cast<int>(i)]->invalidate_direct_mem_ptr(0, contents_.size() - 1);
}

std::vector<UnitStatistics> DeviceMemory::Statistics() const {
  std::vector<UnitStatistics> all;
  for (size_t i = 0; i < channels_.size(); ++i)
    all.push_back(UnitOf(fmt::format("memory.channel{:02}", i), channels_.statistics(i)));
  return all;
}

}  // namespace spyre::model
