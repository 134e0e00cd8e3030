// SPDX-License-Identifier: Apache-2.0
// What a card is made from: its parameters (model/parameters/card.toml), what follows from them,
// and declared faults. Plain data; a card copies its configuration at construction.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/fault_spec.h"
#include "parameters/card_parameters.h"

namespace spyre::model {

struct CardConfig : CardParameters {
  std::vector<FaultSpec> faults;  // [[fault]] of a configuration

  bool serial() const { return concurrency == Concurrency::kSerial; }
  bool concurrent() const { return concurrency == Concurrency::kConcurrent; }
  bool timed() const { return fidelity != Fidelity::kFunctional; }
  uint64_t usable_bytes() const { return (memory.capacity_gib - memory.ecc_gib) << 30; }
  uint64_t lx_usable_bytes() const { return core.lx_bytes - core.lx_reserved_bytes; }
};

}  // namespace spyre::model
