// SPDX-License-Identifier: Apache-2.0
// Second part of PcieEndpoint: what the card sends, and what comes back.
#include <algorithm>
#include <utility>

#include "model/pcie/endpoint.h"

namespace spyre::model {
namespace {

// Longer than any simulation runs.
constexpr uint64_t kForeverPs = uint64_t{1} << 62;

}  // namespace

// A read is done when its completions are here; a write is posted, and done when its last packet
// has left. The root complex is told when packets reach it; what it adds to that delays a read.
void PcieEndpoint::Dma(int /*id*/, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (payload.get_extension<Transfer>() == nullptr) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return;
  }
  auto& transfer = *payload.get_extension<Transfer>();
  if (!Present(transfer.function) || !config_spaces_[transfer.function]->bus_master_enabled()) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const uint64_t now = NowPs();
  const uint64_t at = now + delay.value();
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  if (faults_.injector != nullptr) MeetRetraining(transfer.function, at);
  // A late answer to a read has had its place on the link when the read was sent.
  const PcieLink::Times times = transfer.late != nullptr ? PcieLink::Times{at, at}
                                : payload.is_write()
                                    ? link_.WriteHost(at, address, bytes, transfer.flow)
                                    : link_.ReadHost(at, address, bytes, transfer.flow);
  const sc_core::sc_time arrival = Ps(times.arrived_ps - now);
  sc_core::sc_time at_host = arrival;
  outbound->b_transport(payload, at_host);
  if (transfer.unanswered()) return;
  const bool peer = std::exchange(transfer.peer, false);
  if (counters_ != nullptr && payload.is_response_ok())
    counters_->CountPcie(transfer.function, payload.is_write(), bytes, peer);
  delay = Ps(times.done_ps - now);
  if (!payload.is_read()) return;
  delay += at_host - arrival;
  if (faults_.injector != nullptr) SpoilCompletion(payload, &delay);
  LogCompletion(payload, at, &delay);
}

void PcieEndpoint::LogCompletion(tlm::tlm_generic_payload& payload, uint64_t start_ps,
                                 sc_core::sc_time* delay) {
  auto& transfer = *payload.get_extension<Transfer>();
  ConfigSpace& space = *config_spaces_[transfer.function];
  const bool damaged = std::exchange(transfer.poisoned, false);
  const tlm::tlm_response_status answer = payload.get_response_status();
  transfer.transient = answer == tlm::TLM_INCOMPLETE_RESPONSE ||
                       answer == tlm::TLM_BURST_ERROR_RESPONSE ||
                       (answer == tlm::TLM_OK_RESPONSE && damaged);
  if (answer == tlm::TLM_INCOMPLETE_RESPONSE) {
    const uint64_t patience_ps = CompletionTimeoutPs(transfer.function);
    const uint64_t end_ps = patience_ps == kForeverPs ? kForeverPs : start_ps + patience_ps;
    if (patience_ps != kForeverPs) timeouts_.push_back({end_ps, transfer.function});
    *delay = Ps(end_ps - NowPs());
  } else if (answer == tlm::TLM_ADDRESS_ERROR_RESPONSE) {
    space.ReportMasterAbort();
  } else if (answer == tlm::TLM_BURST_ERROR_RESPONSE) {
    // Reported as what it was.
  } else if (!payload.is_response_ok()) {
    space.ReportTargetAbort();
  } else if (damaged) {
    space.ReportPoisonedCompletion();
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  }
  uint64_t& end_ps = reads_end_ps_[transfer.function];
  end_ps = std::max<uint64_t>(end_ps, NowPs() + delay->value());
}

void PcieEndpoint::MeetRetraining(unsigned function, uint64_t at_ps) {
  FaultEvent event;
  event.function = function;
  Injection* const injection = faults_.injector->Strike(FaultSite::kLink, event, NowPs());
  if (injection == nullptr) return;
  const uint64_t lasts_ps = injection->fault->lasts_ps;
  link_.Hold(at_ps, lasts_ps);
  config_spaces_[0]->ReportCorrectableError(config::kReceiverError);
  FaultInjector::Corrected(*injection, "the PCIe link", NowPs());
  faults_.errors->Report({RasCode::PCIE_RETRAIN,
                          RasSeverity::CORRECTED,
                          0,
                          {static_cast<uint32_t>(lasts_ps / 1'000'000), 0}});
}

void PcieEndpoint::SpoilCompletion(tlm::tlm_generic_payload& payload, sc_core::sc_time* delay) {
  auto& transfer = *payload.get_extension<Transfer>();
  FaultEvent event;
  event.function = transfer.function;
  if (transfer.flow != 0) event.operation = transfer.flow;
  event.address = payload.get_address();
  event.bytes = payload.get_data_length();
  const std::pair<unsigned, uint64_t> place{transfer.function, payload.get_address()};
  Injection* const injection = faults_.injector->Strike(FaultSite::kCompletion, event, NowPs());
  if (injection == nullptr) {
    const auto before = spoiled_.find(place);
    if (before == spoiled_.end()) return;
    if (transfer.transient && payload.is_response_ok())
      FaultInjector::Recovered(*before->second, "the card, which has read again", NowPs());
    spoiled_.erase(before);
    return;
  }
  if (injection->kind() != FaultKind::kPcieLateCompletion) spoiled_[place] = injection;
  const auto detected = [injection](const char* by) {
    FaultInjector::Detected(*injection, by, NowPs());
  };
  switch (injection->kind()) {
    case FaultKind::kPcieLostCompletion:
      payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
      detected("the endpoint's completion time-out");
      injection->outcome_ps += CompletionTimeoutPs(transfer.function);
      break;
    case FaultKind::kPcieLateCompletion:
      *delay += Ps(injection->fault->lasts_ps);
      FaultInjector::Masked(*injection, "it came in the end", NowPs());
      break;
    case FaultKind::kPciePoisonedCompletion:
      transfer.poisoned = true;
      detected("the endpoint (AER: poisoned TLP)");
      break;
    default:
      config_spaces_[transfer.function]->ReportUncorrectableError(config::kMalformed);
      payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);  // neither abort was sent
      detected("the endpoint (AER: malformed TLP)");
  }
}

// Within this, a read of the function ends.
uint64_t PcieEndpoint::CompletionTimeoutPs(unsigned function) const {
  const uint64_t us = config_spaces_[function]->completion_timeout_us();
  return us == 0 ? kForeverPs : us * 1'000'000;
}

void PcieEndpoint::ForgetReads(unsigned function) {
  reads_end_ps_[function] = 0;
  const auto gone = [&](const Timeout& timeout) { return timeout.function == function; };
  timeouts_.erase(std::remove_if(timeouts_.begin(), timeouts_.end(), gone), timeouts_.end());
}

void PcieEndpoint::LogTimeouts() {
  const auto log = [this](const Timeout& timeout) {
    if (timeout.end_ps > NowPs()) return false;
    config_spaces_[timeout.function]->ReportCompletionTimeout();
    return true;
  };
  timeouts_.erase(std::remove_if(timeouts_.begin(), timeouts_.end(), log), timeouts_.end());
}

bool PcieEndpoint::SendMsi(unsigned function, unsigned vector) {
  ConfigSpace& space = *config_spaces_[function];
  if (!Present(function) || !space.msi_enabled() || !space.bus_master_enabled()) return false;
  const auto number = static_cast<int>(vector);
  if (space.MsiMasked(number)) {
    space.SetMsiPending(number, true);
    return false;
  }
  uint64_t delay_ps = 0;
  if (faults_.injector != nullptr) {
    FaultEvent event;
    event.function = function;
    if (Injection* const injection = faults_.injector->Strike(FaultSite::kMsi, event, NowPs())) {
      if (injection->kind() == FaultKind::kMsiLost) return true;  // as far as the card knows
      if (injection->kind() == FaultKind::kMsiLate) delay_ps = injection->fault->lasts_ps;
      if (injection->kind() == FaultKind::kMsiSpurious) SendMessage(function, vector, 0);
      FaultInjector::Masked(*injection, "it tells the host nothing new", NowPs());
    }
  }
  return SendMessage(function, vector, delay_ps);
}

bool PcieEndpoint::SendMessage(unsigned function, unsigned vector, uint64_t delay_ps) {
  ConfigSpace& space = *config_spaces_[function];
  const auto number = static_cast<int>(vector);
  uint32_t data = space.MsiData(number);
  message_.info.function = static_cast<uint16_t>(function);
  message_.info.msi_vector = number % space.msi_vectors();
  auto& payload = message_.Prepare(tlm::TLM_WRITE_COMMAND, space.msi_address(),
                                   reinterpret_cast<uint8_t*>(&data), sizeof(data));
  sc_core::sc_time delay = Ps(delay_ps);
  Dma(0, payload, delay);
  return payload.is_response_ok();
}

}  // namespace spyre::model
