// SPDX-License-Identifier: Apache-2.0
#include "model/pcie_switch/pcie_switch.h"

#include <string>

#include "base/ranges.h"

namespace spyre::model {
namespace {

constexpr uint64_t kPsPerNs = 1000;

PcieConfig Uplink(PcieConfig uplink, const SwitchConfig& config) {
  uplink.lanes = config.lanes;
  uplink.rate_mts = config.rate_mts;
  uplink.one_way_ns = config.uplink_ns;
  return uplink;
}

}  // namespace

PcieSwitch::PcieSwitch(const sc_core::sc_module_name& name, const SwitchConfig& config,
                       PcieConfig uplink, bool contended, trace::Recorder* recorder)
    : sc_module(name), config_(config), uplink_(Uplink(uplink, config), contended, recorder) {}

PcieSwitch::~PcieSwitch() = default;

PcieSwitch::Port& PcieSwitch::AddPort(PcieEndpoint& card) {
  const std::string name = "port" + std::to_string(ports_.size());
  ports_.push_back(std::make_unique<Port>(name.c_str(), *this, card));
  return *ports_.back();
}

void PcieSwitch::AllowPeer(size_t from, uint16_t function, size_t to, uint64_t address,
                           uint64_t bytes) {
  ports_.at(from)->ranges_.push_back({function, to, address, bytes});
}

bool PcieSwitch::ForbidPeer(size_t from, uint16_t function, uint64_t address) {
  auto& ranges = ports_.at(from)->ranges_;
  const auto is_it = [&](const Port::Range& range) {
    return range.function == function && range.address == address;
  };
  const auto found = FindIf(ranges, is_it);
  if (found == ranges.end()) return false;
  ranges.erase(found);
  return true;
}

std::vector<UnitStatistics> PcieSwitch::Statistics() const {
  std::vector<UnitStatistics> units = uplink_.Statistics();
  for (UnitStatistics& unit : units) unit.name = "switch" + unit.name.substr(unit.name.find('.'));
  return units;
}

PcieSwitch::Port::Port(const sc_core::sc_module_name& name, PcieSwitch& owner, PcieEndpoint& card)
    : sc_module(name),
      owner_(owner),
      card_(card),
      forward_ps_(owner.config_.forward_ns * kPsPerNs) {
  from_host.register_b_transport(this, &Port::FromHost);
  from_host.register_transport_dbg(this, &Port::FromHostDebug);
  from_card_.register_b_transport(this, &Port::FromCard);
  to_card_.bind(card.inbound);
  card.outbound.bind(from_card_);
  card.link().EndAt(this);
}

const PcieSwitch::Port::Range* PcieSwitch::Port::Find(uint64_t address, uint64_t bytes) const {
  for (const Range& range : ranges_) {
    if (address >= range.address && address - range.address < range.bytes &&
        bytes <= range.bytes - (address - range.address))
      return &range;
  }
  return nullptr;
}

PcieLink* PcieSwitch::Port::PeerLink(uint64_t address) const {
  const Range* const range = Find(address, 1);
  return range == nullptr ? nullptr : &owner_.ports_[range->peer]->card_.link();
}

// ---------------------------------------------------------------- time

LinkEnd::WriteTimes PcieSwitch::Port::TakeWrite(uint64_t at_ps, uint64_t address, uint64_t bytes) {
  const uint64_t forwarded = at_ps + forward_ps_;
  if (PcieLink* const peer = PeerLink(address)) {
    const uint64_t arrived = peer->WriteCard(forwarded, address, bytes);
    return {arrived - peer->one_way_ps(), arrived};
  }
  const PcieLink::Times times = owner_.uplink_.WriteHost(forwarded, address, bytes, 0);
  return {times.done_ps, times.arrived_ps};
}

uint64_t PcieSwitch::Port::TakeRequest(uint64_t at_ps, uint64_t address) {
  const uint64_t forwarded = at_ps + forward_ps_;
  if (PcieLink* const peer = PeerLink(address)) return peer->RequestFromCard(forwarded);
  return owner_.uplink_.RequestToHost(forwarded, address, 0);
}

uint64_t PcieSwitch::Port::Answer(uint64_t request_ps, uint64_t address, uint64_t bytes) {
  if (PcieLink* const peer = PeerLink(address)) {
    const uint64_t ready = request_ps + owner_.config_.peer_read_ns * kPsPerNs;
    return peer->CompleteToHost(ready, address, bytes) + forward_ps_;
  }
  return owner_.uplink_.CompleteToCard(request_ps, address, bytes, 0) + forward_ps_;
}

// ---------------------------------------------------------------- data

void PcieSwitch::Port::FromHost(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  PcieLink& uplink = owner_.uplink_;
  const uint64_t now = NowPs();
  const uint64_t at = now + delay.value();
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  const uint64_t here =
      payload.is_write() ? uplink.WriteCard(at, address, bytes) : uplink.RequestFromCard(at);
  delay = Ps(here + forward_ps_ - now);
  to_card_->b_transport(payload, delay);
  if (payload.is_read())
    delay = Ps(uplink.CompleteToHost(now + delay.value() + forward_ps_, address, bytes) - now);
}

void PcieSwitch::Port::FromCard(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  auto* const transfer = payload.get_extension<Transfer>();
  const Range* const range = Find(payload.get_address(), payload.get_data_length());
  if (range == nullptr || range->function != transfer->function) {
    to_host->b_transport(payload, delay);
    return;
  }
  PcieEndpoint& peer = owner_.ports_[range->peer]->card_;
  const bool done =
      peer.PeerAccess(payload.get_address(), payload.is_write(), payload.get_data_ptr(),
                      payload.get_data_length(), transfer->move_data);
  transfer->peer = done;
  payload.set_response_status(done ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

}  // namespace spyre::model
