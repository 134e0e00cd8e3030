// SPDX-License-Identifier: Apache-2.0
// Shares one engine between functions by their weights: whoever has had the least, for its weight,
// is next. A function that comes after it has had nothing to do begins where the one that is served
// stands, so that turns cannot be saved up. The control processor's RTL does the same
// (model/rtl/control/fair_share.sv). Kernel thread only.
//
// What was used counts in units that a weight divides: `amount` * cost, where cost is
// kFullCost / weight. Sums wrap; only their differences are looked at.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::model {

class FairShare {
 public:
  static constexpr uint32_t kFullCost = 1u << 16;
  static constexpr uint32_t CostOf(uint32_t weight) {
    return kFullCost / (weight == 0 ? 1 : weight);
  }
  // How much of an engine a time is.
  static constexpr uint64_t AmountOf(uint64_t ps) { return (ps >> 10) + 1; }

  explicit FairShare(size_t functions) : used_(functions, 0) {}

  // Where the function stands: the one that stands lowest is next.
  uint64_t Turn(unsigned function) const {
    return Before(used_[function], reached_) ? reached_ : used_[function];
  }
  static bool Before(uint64_t turn, uint64_t other) {
    return static_cast<int64_t>(turn - other) < 0;
  }
  void Begin(unsigned function) { used_[function] = reached_ = Turn(function); }
  void Use(unsigned function, uint64_t amount, uint32_t cost) { used_[function] += amount * cost; }

 private:
  std::vector<uint64_t> used_;
  uint64_t reached_ = 0;  // by the one that began last
};

}  // namespace spyre::model
