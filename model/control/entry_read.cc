// SPDX-License-Identifier: Apache-2.0
// How a control processor reads entries of a ring: what comes late or not at all is put aside, so
// that a function whose host is slow holds up no other.
#include <cstring>
#include <utility>

#include "model/control/control_processor.h"

namespace spyre::model {

bool ControlProcessor::CanFetch(unsigned function) {
  if (faults_.injector == nullptr) return true;
  FaultEvent event;
  event.function = function;
  if (faults_.injector->Strike(FaultSite::kFetch, event, NowPs()) == nullptr) return true;
  const uint64_t resets = resets_[function];
  while (resets_[function] == resets) wait(reset_);
  return false;
}

ControlProcessor::Fetched ControlProcessor::FetchEntries(unsigned function, uint64_t address,
                                                         std::vector<uint8_t>& entries,
                                                         PutAside& aside) {
  const uint64_t resets = resets_[function];
  if (aside.asked != nullptr && !aside.asked->here) return Fetched::kLater;
  if (std::exchange(aside.until_ps, 0) != 0) {
    if (aside.failed > config_.pcie.read_retries) return Fetched::kNothing;
    const std::vector<uint8_t> late = std::exchange(aside.late, {});
    if (late.size() == entries.size()) {
      entries = late;
      return Fetched::kEntries;
    }
  }
  if (!CanFetch(function)) return Fetched::kNothing;
  for (;;) {
    const HostRead read = ReadHostOnce(function, address, entries.data(), entries.size(), aside);
    if (aside.asked != nullptr) {
      aside.asked->told = [this] { AnswerCame(); };
      return Fetched::kLater;
    }
    const uint64_t end_ps = NowPs() + read.delay.value();
    if (!read.answered) {
      ++aside.failed;
      aside.until_ps = end_ps;
      return Fetched::kLater;
    }
    if (read.good && read.delay.value() > config_.control.entry_patience_ns * 1000) {
      aside.failed = 0;
      aside.late = entries;
      aside.until_ps = end_ps;
      return Fetched::kLater;
    }
    wait(read.delay);
    if (resets_[function] != resets) return Fetched::kNothing;
    if (read.good) {
      aside.failed = 0;
      return Fetched::kEntries;
    }
    if (!read.transient || ++aside.failed > config_.pcie.read_retries) return Fetched::kNothing;
  }
}

ControlProcessor::HostRead ControlProcessor::ReadHostOnce(unsigned function, uint64_t address,
                                                          void* data, uint64_t bytes,
                                                          PutAside& aside) {
  Transfer& info = read_payload_.info;
  info.function = static_cast<uint16_t>(function);
  info.transient = aside.failed > 0;
  info.late = std::move(aside.asked);
  auto& payload =
      read_payload_.Prepare(tlm::TLM_READ_COMMAND, address, static_cast<uint8_t*>(data), bytes);
  HostRead read;
  host->b_transport(payload, read.delay);
  if (info.unanswered()) aside.asked = info.late;
  info.late.reset();
  read.good = payload.is_response_ok();
  read.answered = payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE;
  read.transient = info.transient;
  return read;
}

}  // namespace spyre::model
