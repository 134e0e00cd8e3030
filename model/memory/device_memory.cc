#include "model/memory/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/memory/unit_statistics.h"

namespace spyre::model {

DeviceMemory::DeviceMemory(const sc_core::sc_module_name& name, const CardConfig& config,
                           FunctionalQueue& functional, trace::Recorder* recorder)
    : sc_module(name),
      config_(config),
      functional_(functional),
      recorder_(recorder != nullptr && recorder->Wants(trace::kMemory) ? recorder : nullptr),
      map_(config.memory),
      timing_(config.memory),
      contents_(config.usable_bytes()) {
  for (uint64_t i = 0; i < config.memory.channels; ++i) {
    channels_.emplace_back(config.memory);
    if (recorder_ != nullptr)
      lanes_.push_back({recorder_->AddTrack("memory", fmt::format("channel {:02}", i)), {}});
  }
  if (recorder_ != nullptr) {
    for (ChannelController& channel : channels_) channel.LogRuns(&runs_);
  }
  next_decision_ps_.assign(channels_.size(), UINT64_MAX);
  socket.register_nb_transport_fw(this, &DeviceMemory::Begin);
  socket.register_b_transport(this, &DeviceMemory::Transport);
  socket.register_transport_dbg(this, &DeviceMemory::TransportDebug);
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
    const auto copy = [to = payload.is_read() ? other : own, from = payload.is_read() ? own : other,
                       bytes] { std::memcpy(to, from, bytes); };
    if (transfer != nullptr && transfer->functional != nullptr) {
      transfer->functional->Push(copy);
    } else {
      functional_.Join();
      copy();
    }
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return true;
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
  if (!MoveData(payload)) return tlm::TLM_COMPLETED;
  if (!config_.timed()) {
    delay += Ps(UnloadedPs(payload));
    return tlm::TLM_COMPLETED;
  }
  if (free_accesses_.empty()) {
    free_accesses_.push_back(static_cast<uint32_t>(accesses_.size()));
    accesses_.emplace_back();
  }
  const uint32_t index = free_accesses_.back();
  free_accesses_.pop_back();
  Access& access = accesses_[index];
  access = {&payload, id, 0, 0};
  const uint64_t now = NowPs();
  const uint64_t arrival = now + delay.value() + config_.memory.controller_ns * 1000;
  uint64_t next = UINT64_MAX;
  map_.ForEachPiece(payload.get_address(), payload.get_data_length(),
                    [&](const ChannelAddress& at, uint32_t bytes) {
                      ChannelController& channel = channels_[at.channel];
                      channel.Submit({index, arrival, at.address, bytes, payload.is_write()});
                      next_decision_ps_[at.channel] = channel.NextDecisionPs();
                      next = std::min(next, next_decision_ps_[at.channel]);
                      ++access.pieces;
                    });
  decision_.notify(Ps(std::max(next, now) - now));  // an earlier pending notification stays
  return tlm::TLM_ACCEPTED;
}

void DeviceMemory::Decide() {
  const uint64_t now = NowPs();
  for (size_t i = 0; i < channels_.size(); ++i) {
    if (next_decision_ps_[i] > now) continue;
    completions_.clear();
    channels_[i].Advance(now, completions_);
    if (recorder_ != nullptr) TraceRuns(i);
    next_decision_ps_[i] = channels_[i].NextDecisionPs();
    for (const MemoryCompletion& completion : completions_) {
      const auto index = static_cast<uint32_t>(completion.id);
      Access& access = accesses_[index];
      access.done_ps = std::max(access.done_ps, completion.done_ps);
      if (--access.pieces == 0) finished_.push_back(index);
    }
  }
  // Whoever hears of an end may begin another access.
  for (size_t i = 0; i < finished_.size(); ++i) Finish(finished_[i]);
  finished_.clear();
  const uint64_t next = *std::min_element(next_decision_ps_.begin(), next_decision_ps_.end());
  if (next != UINT64_MAX) decision_.notify(Ps(std::max(next, now) - now));
}

void DeviceMemory::TraceRuns(size_t channel) {
  Lane& lane = lanes_[channel];
  const auto record = [&] {
    if (lane.slice.bytes > 0) {
      recorder_->Slice(trace::kMemory, lane.track, recorder_->Intern("burst"), lane.slice.begin_ps,
                       lane.slice.end_ps, 0, lane.slice.bytes);
    }
    lane.slice = {};
  };
  for (const MemoryRun& run : runs_) {
    if (run.begin_ps > lane.slice.end_ps) record();
    if (lane.slice.bytes == 0) lane.slice.begin_ps = run.begin_ps;
    lane.slice.end_ps = std::max(lane.slice.end_ps, run.end_ps);
    lane.slice.bytes += run.bytes;
  }
  runs_.clear();
  if (channels_[channel].NextDecisionPs() == UINT64_MAX) record();
}

void DeviceMemory::Finish(uint32_t index) {
  const Access access = accesses_[index];
  free_accesses_.push_back(index);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = Ps(access.done_ps - std::min(access.done_ps, NowPs()));
  socket[access.initiator]->nb_transport_bw(*access.payload, phase, delay);
}

void DeviceMemory::Transport(int /*id*/, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
  if (MoveData(payload)) delay += Ps(UnloadedPs(payload));
}

unsigned DeviceMemory::TransportDebug(int /*id*/, tlm::tlm_generic_payload& payload) {
  return MoveData(payload) ? payload.get_data_length() : 0;
}

std::vector<UnitStatistics> DeviceMemory::Statistics() const {
  std::vector<UnitStatistics> all;
  for (size_t i = 0; i < channels_.size(); ++i)
    all.push_back(UnitOf(fmt::format("memory.channel{:02}", i), channels_[i].statistics()));
  return all;
}

}  // namespace spyre::model
