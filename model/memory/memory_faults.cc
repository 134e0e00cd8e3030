// SPDX-License-Identifier: Apache-2.0
#include "model/memory/memory_faults.h"

#include <utility>

namespace spyre::model {

MemoryFaults::MemoryFaults(const FaultPort& port, const MemoryConfig& config, Flip flip)
    : port_(port), config_(config), flip_(std::move(flip)), map_(config), banks_(config) {}

void MemoryFaults::Strike(const tlm::tlm_generic_payload& payload) {
  const auto* transfer = payload.get_extension<Transfer>();
  uint64_t address = payload.get_address();
  map_.ForEachPiece(
      address, payload.get_data_length(), [&](const ChannelAddress& at, uint32_t bytes) {
        const BankAddress bank = banks_.Locate(at.address);
        FaultEvent event;
        event.channel = at.channel;
        event.bank = bank.bank;
        event.row = bank.row;
        event.address = address;
        event.bytes = bytes;
        if (transfer != nullptr) {
          event.function = transfer->function;
          if (transfer->flow != 0) event.operation = transfer->flow;
        }
        // A write makes right what was wrong, so only a fault at an address of its own meets one.
        Injection* const injection =
            port_.injector->Strike(FaultSite::kMemory, event, NowPs(), payload.is_write());
        if (injection != nullptr) {
          const uint64_t wrong = injection->fault->where.address.value_or(address);
          if (config_.ecc == Ecc::kNone) {
            const bool moves = transfer == nullptr || transfer->move_data;
            if (moves) flip_(wrong, injection->kind() == FaultKind::kMemorySingleBit ? 1 : 3);
            address += bytes;
            return;
          }
          words_[wrong / config_.ecc_word_bytes * config_.ecc_word_bytes] = {
              injection->kind(), injection, at.channel, bank};
        }
        address += bytes;
      });
}

bool MemoryFaults::Access(const tlm::tlm_generic_payload& payload, uint64_t* extra_ps) {
  Strike(payload);
  const uint64_t word_bytes = config_.ecc_word_bytes;
  const uint64_t begin = payload.get_address();
  const uint64_t end = begin + payload.get_data_length();
  const auto* transfer = payload.get_extension<Transfer>();
  const uint16_t function = transfer == nullptr ? 0 : transfer->function;
  bool good = true;
  for (auto at = words_.lower_bound(begin / word_bytes * word_bytes);
       at != words_.end() && at->first < end;) {
    Word& word = at->second;
    const bool whole = payload.is_write() && payload.get_byte_enable_ptr() == nullptr &&
                       begin <= at->first && at->first + word_bytes <= end;
    if (whole) {
      FaultInjector::Masked(*word.injection, "written before it was read", NowPs());
      at = words_.erase(at);
      continue;
    }
    Report(word, function);
    if (word.kind == FaultKind::kMemorySingleBit) {
      *extra_ps = config_.ecc_correction_ns * 1000;
      FaultInjector::Corrected(*word.injection, "the code of the memory", NowPs());
      at = config_.ecc_scrub || payload.is_write() ? words_.erase(at) : std::next(at);
      continue;
    }
    FaultInjector::Detected(*word.injection, "the code of the memory", NowPs());
    word.kind = FaultKind::kMemoryPoison;  // known from now on
    good = good && payload.is_write();     // what is written of it is lost with the rest
    ++at;
  }
  return good;
}

void MemoryFaults::Clear(uint64_t base, uint64_t bytes) {
  const auto begin = words_.lower_bound(base);
  const auto end = words_.lower_bound(base + bytes);
  for (auto at = begin; at != end; ++at)
    FaultInjector::Masked(*at->second.injection, "cleared before it was read", NowPs());
  words_.erase(begin, end);
}

void MemoryFaults::Report(const Word& word, uint16_t function) {
  const bool corrected = word.kind == FaultKind::kMemorySingleBit;
  const RasCode code = corrected                                  ? RasCode::MEMORY_CORRECTED
                       : word.kind == FaultKind::kMemoryDoubleBit ? RasCode::MEMORY_UNCORRECTED
                                                                  : RasCode::MEMORY_POISONED;
  port_.errors->Report({code,
                        corrected ? RasSeverity::CORRECTED : RasSeverity::NON_FATAL,
                        function,
                        {word.channel << 8 | word.bank.bank, word.bank.row}});
}

}  // namespace spyre::model
