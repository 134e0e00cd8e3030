// SPDX-License-Identifier: Apache-2.0
// Words of device memory that are wrong, and what their code makes of them. A word is what is
// covered by one set of check bits (memory.ecc_word_bytes). The code corrects one wrong bit and
// detects two; a word that is marked as damaged (poisoned) is not read either. A write of a whole
// word makes it right; one of a part reads it first, and so corrects it or leaves it damaged.
// Memory without a code (memory.ecc = "none") gives out what is wrong. Kernel thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "model/common/card_config.h"
#include "model/common/transfer.h"
#include "model/fault/fault_injector.h"
#include "model/memory/address_map.h"
#include "model/memory/bank_map.h"

namespace spyre::model {

class MemoryFaults {
 public:
  // Turns bits of the byte at an address of the memory over.
  using Flip = std::function<void(uint64_t address, uint8_t bits)>;

  MemoryFaults(const FaultPort& port, const MemoryConfig& config, Flip flip);

  // An access whose data are about to move. False: they must not, a word cannot be read.
  // *extra_ps: how much longer it takes.
  bool Access(const tlm::tlm_generic_payload& payload, uint64_t* extra_ps);
  // All of [base, base + bytes) has been written.
  void Clear(uint64_t base, uint64_t bytes);

 private:
  struct Word {
    FaultKind kind;
    Injection* injection;
    uint32_t channel;
    BankAddress bank;
  };

  void Strike(const tlm::tlm_generic_payload& payload);
  void Report(const Word& word, uint16_t function);

  const FaultPort port_;
  const MemoryConfig& config_;
  const Flip flip_;
  const AddressMap map_;
  const BankMap banks_;
  std::map<uint64_t, Word> words_;  // by address
};

}  // namespace spyre::model
