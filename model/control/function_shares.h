// SPDX-License-Identifier: Apache-2.0
// What the PF has granted each function of the card's engines: how long an operation may run, its
// weight beside other functions, and whether it may run at all. The firmware sets them; whoever
// runs operations looks here. Kernel thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/fair_share.h"

namespace spyre::model {

class FunctionShares {
 public:
  struct Share {
    uint32_t limit_us = 0;  // 0: the card's own
    uint32_t weight = 0;    // 0 counts as 1
    bool stopped = false;
  };
  using Hook = std::function<void(unsigned function)>;

  explicit FunctionShares(const CardConfig& config)
      : default_us_(config.control.operation_limit_us), shares_(config.num_vfs + 1) {}

  // Functions that the card does not have are ignored.
  void Set(unsigned function, const Share& share) {
    if (function >= shares_.size()) return;
    shares_[function] = share;
    if (on_change_) on_change_(function);
  }
  void Reset() {
    for (unsigned function = 0; function < shares_.size(); ++function) Set(function, {});
  }
  void CoresChanged(unsigned function) {  // that it may use, which the Mmu keeps
    if (function < shares_.size() && on_change_) on_change_(function);
  }
  // Told of the function that has been changed; must not block.
  void OnChange(Hook hook) { on_change_ = std::move(hook); }

  uint64_t limit_us(unsigned function) const {  // 0: none
    const uint32_t own = shares_[function].limit_us;
    return own != 0 ? own : default_us_;
  }
  uint32_t cost(unsigned function) const { return FairShare::CostOf(shares_[function].weight); }
  bool stopped(unsigned function) const { return shares_[function].stopped; }

 private:
  const uint64_t default_us_;
  std::vector<Share> shares_;
  Hook on_change_;
};

}  // namespace spyre::model
