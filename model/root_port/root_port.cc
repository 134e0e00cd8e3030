// SPDX-License-Identifier: Apache-2.0
#include "model/root_port/root_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace spyre::model {

namespace {

constexpr uint64_t kEcamBytes = 1 << 20;  // 256 functions of one bus
constexpr unsigned kEcamFunctionShift = 12;

// Puts the bytes of [from_address, +from.size()) that lie in [to_address, +bytes) to their places.
void Overlay(uint64_t from_address, const std::vector<uint8_t>& from, uint64_t to_address,
             uint8_t* to, uint64_t bytes) {
  const uint64_t begin = std::max(from_address, to_address);
  const uint64_t end = std::min(from_address + from.size(), to_address + bytes);
  if (begin < end) std::memcpy(to + (begin - to_address), &from[begin - from_address], end - begin);
}

void Fill(tlm::tlm_generic_payload& payload, tlm::tlm_command command, uint64_t address,
          uint8_t* data, unsigned bytes) {
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
}

}  // namespace

RootPortBase::RootPortBase(const sc_core::sc_module_name& name, PcieEndpoint& endpoint,
                           const RootPortConfig& config)
    : sc_module(name), config_(config) {
  for_card_.set_extension(&access_);
  from_card_.register_b_transport(this, &RootPortBase::FromCard);
  to_card_.register_invalidate_direct_mem_ptr(this, &RootPortBase::CardRevoked);
  to_card_.bind(endpoint.inbound);
  endpoint.outbound.bind(from_card_);
  SC_HAS_PROCESS(RootPortBase);
  SC_THREAD(DeliverPosted);
}

RootPortBase::~RootPortBase() { for_card_.clear_extension(&access_); }

bool RootPortBase::IsConfig(uint64_t address) const {
  return address >= config_.ecam_base && address - config_.ecam_base < kEcamBytes;
}

tlm::tlm_generic_payload& RootPortBase::ForCard(const tlm::tlm_generic_payload& payload) {
  const uint64_t address = payload.get_address();
  Fill(for_card_, payload.get_command(), address, payload.get_data_ptr(),
       payload.get_data_length());
  for_card_.set_byte_enable_ptr(payload.get_byte_enable_ptr());
  for_card_.set_byte_enable_length(payload.get_byte_enable_length());
  for_card_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  access_.function = 0;
  access_.space = HostAccess::Space::kMemory;
  if (IsConfig(address)) {
    const uint64_t offset = address - config_.ecam_base;
    access_.space = HostAccess::Space::kConfig;
    access_.function = static_cast<uint16_t>(offset >> kEcamFunctionShift);
    for_card_.set_address(offset & ((uint64_t{1} << kEcamFunctionShift) - 1));
  }
  return for_card_;
}

void RootPortBase::FromBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const uint64_t bytes = payload.get_data_length();
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
    payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    return;
  }
  if (bytes == 0 || payload.get_streaming_width() < bytes) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  tlm::tlm_generic_payload& card = ForCard(payload);
  to_card_->b_transport(card, delay);
  // Software that looks for functions finds all ones where there is none, and no error.
  const bool absent = IsConfig(payload.get_address()) && !card.is_response_ok();
  if (absent && payload.is_read()) {
    for (uint64_t i = 0; i < bytes; ++i)
      if (ByteEnabled(payload, i)) payload.get_data_ptr()[i] = 0xFF;
  }
  payload.set_response_status(absent ? tlm::TLM_OK_RESPONSE : card.get_response_status());
}

unsigned RootPortBase::FromBusDebug(tlm::tlm_generic_payload& payload) {
  return to_card_->transport_dbg(ForCard(payload));
}

bool RootPortBase::FromBusDirect(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& direct) {
  if (!IsConfig(payload.get_address()) && to_card_->get_direct_mem_ptr(ForCard(payload), direct))
    return true;
  direct.set_start_address(payload.get_address());
  direct.set_end_address(payload.get_address());
  direct.allow_none();
  return false;
}

void RootPortBase::FromCard(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto* transfer = payload.get_extension<Transfer>();
  if (transfer == nullptr) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (!transfer->move_data) return;
  if (payload.is_read()) {
    ReadBus(payload, delay);
    return;
  }
  const uint8_t* const data = payload.get_data_ptr();
  posted_.emplace(Order{NowPs() + delay.value(), posted_count_++},
                  Posted{payload.get_address(), {data, data + payload.get_data_length()}});
  posted_event_.notify(delay);  // an earlier pending notification stays
}

void RootPortBase::ReadBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const uint64_t address = payload.get_address();
  const unsigned bytes = payload.get_data_length();
  std::vector<Posted> earlier;  // written before, and not there yet
  for (const auto& [order, posted] : posted_) {
    if (posted.address < address + bytes && address < posted.address + posted.data.size())
      earlier.push_back(posted);
  }
  tlm::tlm_generic_payload read;  // others may come while the bus waits
  Fill(read, tlm::TLM_READ_COMMAND, address, payload.get_data_ptr(), bytes);
  CallBus(read, delay);
  for (const Posted& posted : earlier)
    Overlay(posted.address, posted.data, address, payload.get_data_ptr(), bytes);
  payload.set_response_status(read.get_response_status());
}

void RootPortBase::DeliverPosted() {
  for (;;) {
    if (posted_.empty()) wait(posted_event_);
    while (!posted_.empty()) {
      const auto next = posted_.begin();
      if (next->first.first > NowPs()) {
        wait(Ps(next->first.first - NowPs()), posted_event_);
        continue;
      }
      Posted& posted = next->second;
      tlm::tlm_generic_payload write;
      Fill(write, tlm::TLM_WRITE_COMMAND, posted.address, posted.data.data(),
           static_cast<unsigned>(posted.data.size()));
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      CallBus(write, delay);
      if (!write.is_response_ok()) {
        SC_REPORT_WARNING(
            "/spyre/root_port",
            fmt::format("{}: a write of {} bytes by the card to {:#x} was refused: {}", name(),
                        posted.data.size(), posted.address, write.get_response_string())
                .c_str());
      }
      posted_.erase(next);
    }
  }
}

}  // namespace spyre::model
