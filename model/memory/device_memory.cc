#include "model/memory/device_memory.h"

#include <algorithm>
#include <cstring>

namespace spyre::model {

DeviceMemory::DeviceMemory(const sc_core::sc_module_name& name, const CardConfig& config,
                           trace::Recorder* recorder)
    : sc_module(name), config_(config), contents_(config.usable_bytes()) {
  for (uint64_t i = 0; i < config.memory.channels; ++i)
    channels_.emplace_back(static_cast<int>(i), config, recorder);
  socket.register_b_transport(this, &DeviceMemory::Transport);
  socket.register_transport_dbg(this, &DeviceMemory::TransportDebug);
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
    if (payload.is_read()) {
      std::memcpy(payload.get_data_ptr(), contents_.At(address), bytes);
    } else {
      std::memcpy(contents_.At(address), payload.get_data_ptr(), bytes);
    }
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return true;
}

void DeviceMemory::Transport(int /*id*/, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
  if (!MoveData(payload)) return;
  const auto* transfer = payload.get_extension<Transfer>();
  const uint64_t flow = transfer == nullptr ? 0 : transfer->flow;
  const uint64_t now = NowPs();
  const uint64_t arrival = now + delay.value() + config_.memory.controller_ns * 1000;
  const uint64_t interleave = config_.memory.interleave_bytes;
  const uint64_t channels = channels_.size();
  uint64_t address = payload.get_address();
  uint64_t left = payload.get_data_length();
  uint64_t done = arrival;
  while (left > 0) {
    const uint64_t block = address / interleave;
    const uint64_t inside = address % interleave;
    const uint64_t piece = std::min(left, interleave - inside);
    // The channel rotates with the group of blocks, so that power-of-two strides do not all meet
    // one channel.
    const uint64_t group = block / channels;
    const uint64_t channel = (block + group + group / channels) % channels;
    done = std::max(done, channels_[channel].Access(group * interleave + inside, piece,
                                                    payload.is_write(), arrival, flow));
    address += piece;
    left -= piece;
  }
  delay = Ps(done - now);
}

unsigned DeviceMemory::TransportDebug(int /*id*/, tlm::tlm_generic_payload& payload) {
  return MoveData(payload) ? payload.get_data_length() : 0;
}

}  // namespace spyre::model
