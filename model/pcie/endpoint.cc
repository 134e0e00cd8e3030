// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/endpoint.h"

#include <algorithm>
#include <cstring>

namespace spyre::model {
namespace {

// Bit i: byte i of a 4-byte payload is written.
unsigned EnablesOf(const tlm::tlm_generic_payload& payload) {
  const uint8_t* bytes = payload.get_byte_enable_ptr();
  if (bytes == nullptr) return 0xF;
  unsigned enables = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (bytes[i % payload.get_byte_enable_length()] == TLM_BYTE_ENABLED) enables |= 1u << i;
  return enables;
}

}  // namespace

PcieEndpoint::PcieEndpoint(const sc_core::sc_module_name& name, const CardConfig& config,
                           trace::Recorder* recorder)
    : sc_module(name),
      config_(config),
      bar_targets_(config.num_vfs + 1, nullptr),
      sram_(kBar4Bytes),
      link_(config.pcie, config.timed(), recorder) {
  inbound.register_b_transport(this, &PcieEndpoint::Inbound);
  dma.register_b_transport(this, &PcieEndpoint::Dma);

  config_spaces_.push_back(std::make_unique<ConfigSpace>());
  for (uint64_t vf = 1; vf <= config.num_vfs; ++vf) {
    config_spaces_.push_back(
        std::make_unique<ConfigSpace>(*config_spaces_[0], static_cast<int>(vf)));
  }
  config_spaces_[0]->on_vf_enable = [this](int count) {
    enabled_vfs_ =
        static_cast<unsigned>(std::min<uint64_t>(static_cast<uint64_t>(count), config_.num_vfs));
  };
  config_spaces_[0]->on_vf_disable = [this] {
    for (unsigned vf = 1; vf <= enabled_vfs_; ++vf) {
      config_spaces_[vf]->Reset();
      on_reset_(vf);
    }
    enabled_vfs_ = 0;
  };
  for (unsigned function = 0; function < config_spaces_.size(); ++function) {
    config_spaces_[function]->on_flr = [this, function] { on_reset_(function); };
    // An interrupt that was masked when it was raised goes out when software unmasks it.
    config_spaces_[function]->on_msi_change = [this, function] {
      for (int vector = 0; vector < kMsiVectors; ++vector) {
        ConfigSpace& space = *config_spaces_[function];
        if (!space.MsiPending(vector) || space.MsiMasked(vector)) continue;
        space.SetMsiPending(vector, false);
        SendMsi(function, static_cast<unsigned>(vector));
      }
    };
  }
}

void PcieEndpoint::Inbound(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto& access = *payload.get_extension<HostAccess>();
  const uint64_t now = NowPs();
  const uint64_t bytes = payload.get_data_length();
  const uint64_t address = payload.get_address();
  const uint64_t arrival = payload.is_write() ? link_.WriteCard(now + delay.value(), address, bytes)
                                              : link_.RequestFromCard(now + delay.value());
  sc_core::sc_time at_card = Ps(arrival - now);
  payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (Present(access.function) && access.function < config_spaces_.size()) {
    if (access.space == HostAccess::Space::kConfig) {
      auto* value = reinterpret_cast<uint32_t*>(payload.get_data_ptr());
      ConfigSpace& space = *config_spaces_[access.function];
      if (payload.get_address() < kConfigBytes && payload.get_address() % 4 == 0 && bytes == 4) {
        if (payload.is_write()) {
          space.Write32(static_cast<uint32_t>(payload.get_address()), *value, EnablesOf(payload));
        } else {
          *value = space.Read32(static_cast<uint32_t>(payload.get_address()));
        }
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
      }
    } else if (AccessBar(access, payload, at_card)) {
      payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
  }
  delay = at_card;
  if (payload.is_read()) {
    const uint64_t ready = now + at_card.value() + config_.pcie.register_ns * 1000;
    delay = Ps(link_.CompleteToHost(ready, address, bytes) - now);
  }
}

bool PcieEndpoint::AccessBar(const HostAccess& access, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
  const ConfigSpace& space = *config_spaces_[access.function];
  if (!space.memory_enabled()) return false;
  const uint64_t offset = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  switch (access.space) {
    case HostAccess::Space::kBar0: {
      if (offset >= space.bar_size(0) || bytes != 4) return false;
      auto* value = reinterpret_cast<uint32_t*>(payload.get_data_ptr());
      BarTarget& target = *bar_targets_[access.function];
      if (payload.is_write()) {
        target.WriteBar0(static_cast<uint32_t>(offset), *value, delay);
      } else {
        *value = target.ReadBar0(static_cast<uint32_t>(offset));
      }
      return true;
    }
    case HostAccess::Space::kBar2: {
      if (offset >= space.bar_size(2) || bytes > space.bar_size(2) - offset) return false;
      payload.set_address(window_base_ + offset);
      window->b_transport(payload, delay);
      const bool done = payload.is_response_ok();
      payload.set_address(offset);
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return done;
    }
    case HostAccess::Space::kBar4:
      if (offset >= space.bar_size(4) || bytes > space.bar_size(4) - offset) return false;
      if (payload.is_write()) {
        std::memcpy(sram_.At(offset), payload.get_data_ptr(), bytes);
      } else {
        std::memcpy(payload.get_data_ptr(), sram_.At(offset), bytes);
      }
      return true;
    case HostAccess::Space::kConfig:
      break;
  }
  return false;
}

// A read is done when its completions are here; a write is posted, and done when its last packet
// has left. The root complex is told when packets reach it.
void PcieEndpoint::Dma(int /*id*/, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto& transfer = *payload.get_extension<Transfer>();
  if (!Present(transfer.function) || !config_spaces_[transfer.function]->bus_master_enabled()) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const uint64_t now = NowPs();
  const uint64_t at = now + delay.value();
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  const PcieLink::Times times = payload.is_write()
                                    ? link_.WriteHost(at, address, bytes, transfer.flow)
                                    : link_.ReadHost(at, address, bytes, transfer.flow);
  sc_core::sc_time at_host = Ps(times.arrived_ps - now);
  outbound->b_transport(payload, at_host);
  delay = Ps(times.done_ps - now);
}

bool PcieEndpoint::SendMsi(unsigned function, unsigned vector) {
  ConfigSpace& space = *config_spaces_[function];
  if (!Present(function) || !space.msi_enabled() || !space.bus_master_enabled()) return false;
  const auto number = static_cast<int>(vector);
  if (space.MsiMasked(number)) {
    space.SetMsiPending(number, true);
    return false;
  }
  uint32_t data = space.MsiData(number);
  message_.info.function = static_cast<uint16_t>(function);
  message_.info.msi_vector = number % space.msi_vectors();
  auto& payload = message_.Prepare(tlm::TLM_WRITE_COMMAND, space.msi_address(),
                                   reinterpret_cast<uint8_t*>(&data), sizeof(data));
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  Dma(0, payload, delay);
  return payload.is_response_ok();
}

}  // namespace spyre::model
