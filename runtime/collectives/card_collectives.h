// SPDX-License-Identifier: Apache-2.0
// What a program that runs on each of several cards has them do together in the middle of it: the
// program says where, whoever runs the cards does it (cosim/session). All cards run the same
// program and so come to the same collectives in the same order. Called on the program's thread.
// Errors: of the runtime, and of CollectiveRank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/collectives/collective_call.h"
#include "runtime/flex/device_handle.h"

namespace spyre::runtime {

// Where one collective has its data on this card: call.bytes at `data`, and of a gather a block for
// each card from `result` on, of which this card's own is not written. Empty: whoever runs the
// cards finds a place for it.
struct CollectivePlace {
  CollectiveCall call;
  flex::DeviceHandle data;
  std::optional<flex::DeviceHandle> result;
};

class CardCollectives {
 public:
  virtual ~CardCollectives() = default;
  virtual size_t card() const = 0;
  // Every collective of the program, in order. Once, before Run; the memory must stay.
  virtual void Prepare(const std::vector<CollectivePlace>& places) = 0;
  // Collective `number` of them, when all that it reads is there; returns when this card's part is
  // done.
  virtual void Run(size_t number) = 0;
};

}  // namespace spyre::runtime
