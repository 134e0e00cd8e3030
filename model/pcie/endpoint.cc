// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/endpoint.h"

#include <algorithm>

#include "model/pcie/payload_words.h"
#include "model/pcie/vpd_image.h"

namespace spyre::model {
namespace {

uint32_t GenerationOf(uint64_t rate_mts) {
  return rate_mts >= 32000 ? 5 : rate_mts >= 16000 ? 4 : 3;
}

}  // namespace

PcieEndpoint::PcieEndpoint(const sc_core::sc_module_name& name, const CardConfig& config,
                           trace::Recorder* recorder)
    : sc_module(name),
      config_(config),
      bar_targets_(config.num_vfs + 1, nullptr),
      reads_end_ps_(config.num_vfs + 1, 0),
      sram_(kBar4Bytes),
      link_(config.pcie, config.timed(), recorder) {
  inbound.register_b_transport(this, &PcieEndpoint::Inbound);
  inbound.register_transport_dbg(this, &PcieEndpoint::InboundDebug);
  inbound.register_get_direct_mem_ptr(this, &PcieEndpoint::InboundDirect);
  dma.register_b_transport(this, &PcieEndpoint::Dma);
  window.register_invalidate_direct_mem_ptr(this, &PcieEndpoint::MemoryRevoked);

  config_spaces_.push_back(std::make_unique<ConfigSpace>(PcieAbility{
      GenerationOf(config.pcie.rate_mts), static_cast<uint32_t>(config.pcie.lanes),
      static_cast<uint32_t>(config.num_vfs), static_cast<uint32_t>(config.pcie.max_payload_bytes),
      static_cast<uint32_t>(config.pcie.max_read_request_bytes)}));
  config_spaces_[0]->SetVpd(VpdImage(config.vpd));
  for (uint64_t vf = 1; vf <= config.num_vfs; ++vf) {
    config_spaces_.push_back(
        std::make_unique<ConfigSpace>(*config_spaces_[0], static_cast<int>(vf)));
  }
  config_spaces_[0]->on_vf_enable = [this](int count) {
    enabled_vfs_ = static_cast<unsigned>(count);
  };
  config_spaces_[0]->on_vf_disable = [this] {
    for (unsigned vf = 1; vf <= enabled_vfs_; ++vf) {
      config_spaces_[vf]->Reset();
      ForgetReads(vf);
      function_reset->ResetFunction(vf);
    }
    enabled_vfs_ = 0;
  };
  for (unsigned function = 0; function < config_spaces_.size(); ++function) {
    config_spaces_[function]->on_flr = [this, function] {
      ForgetReads(function);
      function_reset->ResetFunction(function);
    };
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

void PcieEndpoint::SetWindowBase(uint64_t physical) {
  window_base_ = physical;
  RevokeDirect();
}

// PCI Express base specification, "Data Link Layer reports DL_Down": to the functions, a hot reset.
void PcieEndpoint::Remove() {
  SetLink(false);
  ForgetSticky();
  removed_ = true;
}

void PcieEndpoint::SetLink(bool up) {
  if (link_up_ == up || (up && removed_)) return;
  link_up_ = up;
  if (up) return;
  LogTimeouts();
  for (const auto& space : config_spaces_) space->HotReset();
  enabled_vfs_ = 0;
  UseSizes();
  RevokeDirect();
  for (unsigned function = 0; function < config_spaces_.size(); ++function) {
    ForgetReads(function);
    function_reset->ResetFunction(function);
  }
  function_reset->ResetCard();
}

void PcieEndpoint::ForgetSticky() {
  for (const auto& space : config_spaces_) space->Reset();
}

void PcieEndpoint::UseSizes() {
  link_.SetSizes(static_cast<uint64_t>(config_spaces_[0]->max_payload_bytes()),
                 static_cast<uint64_t>(config_spaces_[0]->max_read_request_bytes()));
}

std::optional<PcieEndpoint::Place> PcieEndpoint::Decode(const HostAccess& access,
                                                        uint64_t address) const {
  using Space = HostAccess::Space;
  if (!link_up_) return std::nullopt;
  if (access.space == Space::kConfig) {
    if (!Present(access.function)) return std::nullopt;
    return Place{access.function, access.space, address};
  }
  if (access.space != Space::kMemory) {
    if (!Present(access.function) || !config_spaces_[access.function]->memory_enabled())
      return std::nullopt;
    return Place{access.function, access.space, address};
  }
  // A BAR that is zero has not been given a place.
  const auto holds = [address](uint64_t base, uint64_t size) {
    return base != 0 && address >= base && address - base < size;
  };
  const ConfigSpace& physical = *config_spaces_[0];
  for (const auto& [bar, space] :
       {std::pair{0, Space::kBar0}, {2, Space::kBar2}, {4, Space::kBar4}}) {
    const uint64_t base = physical.bar_address(bar);
    if (physical.memory_enabled() && holds(base, physical.bar_size(bar)))
      return Place{0, space, address - base};
  }
  if (enabled_vfs_ == 0 || !config_spaces_[1]->memory_enabled()) return std::nullopt;
  const uint64_t base = config_spaces_[1]->bar_address(0);
  const uint64_t size = config_spaces_[1]->bar_size(0);
  if (!holds(base, size * enabled_vfs_)) return std::nullopt;
  const uint64_t offset = address - base;
  return Place{static_cast<uint16_t>(1 + offset / size), Space::kBar0, offset % size};
}

void PcieEndpoint::Inbound(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto* access = payload.get_extension<HostAccess>();
  if (access == nullptr) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return;
  }
  if (!link_up_) {  // the root complex knows, and sends nothing
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const uint64_t now = NowPs();
  const uint64_t bytes = payload.get_data_length();
  const uint64_t address = payload.get_address();
  const uint64_t arrival = payload.is_write() ? link_.WriteCard(now + delay.value(), address, bytes)
                                              : link_.RequestFromCard(now + delay.value());
  sc_core::sc_time at_card = Ps(arrival - now);
  bool done = false;
  if (access->poisoned && payload.is_write()) {
    Logger(*access).ReportPoisonedRequest(HeaderOf(*access, payload));
    done = true;  // a posted request that was received
  } else if (const std::optional<Place> place = Decode(*access, address)) {
    payload.set_address(place->offset);
    done = Access(*place, payload, at_card);
    payload.set_address(address);
  }
  payload.set_response_status(done ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (!done) LogUnsupported(*access, payload);
  delay = at_card;
  if (payload.is_read()) {
    const uint64_t ready = now + at_card.value() + config_.pcie.register_ns * 1000;
    delay = Ps(link_.CompleteToHost(ready, address, bytes) - now);
  }
}

ConfigSpace& PcieEndpoint::Logger(const HostAccess& access) {
  const bool named = access.space != HostAccess::Space::kMemory && Present(access.function);
  return *config_spaces_[named ? access.function : 0];
}

TlpHeader PcieEndpoint::HeaderOf(const HostAccess& access,
                                 const tlm::tlm_generic_payload& payload) const {
  int bar = -1;
  if (access.space == HostAccess::Space::kBar0) bar = 0;
  if (access.space == HostAccess::Space::kBar2) bar = 2;
  if (access.space == HostAccess::Space::kBar4) bar = 4;
  uint64_t address = payload.get_address();
  if (bar >= 0 && Present(access.function))
    address += config_spaces_[access.function]->bar_address(bar);
  return MemoryRequestHeader(payload.is_write(), address, payload.get_data_length());
}

// Requests for configuration spaces of functions that do not exist are how a host looks for them:
// those are not logged.
void PcieEndpoint::LogUnsupported(const HostAccess& access,
                                  const tlm::tlm_generic_payload& payload) {
  if (access.space == HostAccess::Space::kConfig) return;
  const TlpHeader header = HeaderOf(access, payload);
  Logger(access).ReportUnsupportedRequest(payload.is_write(), &header);
}

// The payload's address is the place's offset.
bool PcieEndpoint::Access(const Place& place, tlm::tlm_generic_payload& payload,
                          sc_core::sc_time& delay) {
  if (place.space == HostAccess::Space::kConfig) return AccessConfig(place.function, payload);
  const uint64_t size =
      config_spaces_[place.function]->bar_size(place.space == HostAccess::Space::kBar2   ? 2
                                               : place.space == HostAccess::Space::kBar4 ? 4
                                                                                         : 0);
  const uint64_t bytes = payload.get_data_length();
  if (place.offset >= size || bytes > size - place.offset) return false;
  if (place.space == HostAccess::Space::kBar0)
    return AccessRegisters(place.function, payload, delay);
  if (place.space == HostAccess::Space::kBar4) {
    CopyEnabledBytes(payload, sram_.At(place.offset));
    return true;
  }
  payload.set_address(window_base_ + place.offset);
  window->b_transport(payload, delay);
  return payload.is_response_ok();
}

bool PcieEndpoint::AccessConfig(unsigned function, tlm::tlm_generic_payload& payload) {
  if (!InWords(payload) || payload.get_address() + payload.get_data_length() > kConfigBytes)
    return false;
  LogTimeouts();
  ForEachWord(payload, [&](uint32_t offset, uint32_t& value, unsigned enables) {
    ConfigSpace& space = *config_spaces_[function];
    if (payload.is_write()) {
      space.Write32(offset, value, enables);
    } else {
      value = space.Read32(offset);
      if (offset == config::kDeviceControl && NowPs() < reads_end_ps_[function])
        value |= config::kTransactionsPending;
    }
  });
  if (payload.is_write()) {
    UseSizes();
    RevokeDirect();
  }
  return true;
}

bool PcieEndpoint::AccessRegisters(unsigned function, tlm::tlm_generic_payload& payload,
                                   const sc_core::sc_time& arrival) {
  BarTarget& target = *bar_targets_[function];
  const uint64_t bytes = payload.get_data_length();
  if (bytes > 4 && bytes != 8) return false;
  if (!InWords(payload)) {  // there is no register across two words
    const auto offset = static_cast<uint32_t>(payload.get_address());
    if (payload.is_write()) {
      target.WriteBar0(offset, 0, 0xF, arrival);
    } else {
      const uint32_t nothing = target.ReadBar0(offset);
      for (uint64_t i = 0; i < bytes; ++i)
        payload.get_data_ptr()[i] = static_cast<uint8_t>(nothing >> (8 * (i % 4)));
    }
    return true;
  }
  ForEachWord(payload, [&](uint32_t offset, uint32_t& value, unsigned enables) {
    if (payload.is_write()) {
      target.WriteBar0(offset, value, enables, arrival);
    } else {
      value = target.ReadBar0(offset);
    }
  });
  return true;
}

unsigned PcieEndpoint::InboundDebug(tlm::tlm_generic_payload& payload) {
  const auto* access = payload.get_extension<HostAccess>();
  if (access == nullptr) return 0;
  const uint64_t address = payload.get_address();
  const std::optional<Place> place = Decode(*access, address);
  if (!place || place->space == HostAccess::Space::kBar0) return 0;
  if (place->space == HostAccess::Space::kConfig && !payload.is_read()) return 0;
  const unsigned bytes = payload.get_data_length();
  payload.set_address(place->offset);
  unsigned done = 0;
  if (place->space == HostAccess::Space::kBar2) {
    if (place->offset < kBar2Bytes && bytes <= kBar2Bytes - place->offset) {
      payload.set_address(window_base_ + place->offset);
      done = window->transport_dbg(payload);
    }
  } else {
    sc_core::sc_time none = sc_core::SC_ZERO_TIME;
    done = Access(*place, payload, none) ? bytes : 0;
  }
  payload.set_address(address);
  return done;
}

bool PcieEndpoint::InboundDirect(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& direct) {
  const auto* access = payload.get_extension<HostAccess>();
  const uint64_t address = payload.get_address();
  const std::optional<Place> place = access == nullptr ? std::nullopt : Decode(*access, address);
  if (!place || place->space != HostAccess::Space::kBar2 || place->offset >= kBar2Bytes)
    return false;
  payload.set_address(window_base_ + place->offset);
  const bool given = window->get_direct_mem_ptr(payload, direct);
  payload.set_address(address);
  if (!given) return false;
  // Of memory, what the window shows; in the addresses of who asks.
  const uint64_t window_end =
      std::min<uint64_t>(direct.get_end_address(), window_base_ + (kBar2Bytes - 1));
  direct.set_dmi_ptr(direct.get_dmi_ptr() + (window_base_ - direct.get_start_address()));
  direct.set_start_address(address - place->offset);
  direct.set_end_address(address - place->offset + (window_end - window_base_));
  direct_given_ = true;
  return true;
}

void PcieEndpoint::RevokeDirect() {
  if (!direct_given_) return;
  direct_given_ = false;
  inbound->invalidate_direct_mem_ptr(0, UINT64_MAX);
}

}  // namespace spyre::model
