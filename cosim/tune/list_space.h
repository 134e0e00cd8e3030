// SPDX-License-Identifier: Apache-2.0
// The plans of a list of operations or of a model: how it is issued, what stays in LX, how the work
// is divided, and in which order and on how many streams operations go to the card.
#pragma once

#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/tune/fixed_keys.h"
#include "cosim/tune/plan.h"
#include "cosim/tune/space_of.h"

namespace spyre::cosim {

class ListSpace final : public PlanSpace {
 public:
  ListSpace(const RunConfig& config, const FixedKeys& fixed, ApplyPlan apply);

  // Every combination of the choices that matter most: the way of issue, the division, LX, loops
  // and the number of streams. Those first whose kernels move fewest bytes through device memory,
  // which is what a plan of LX saves. Ways of issue take turns: a kernel that is launched several
  // times counts once, so that bytes compare only within one.
  Ranking Ranked() const override;
  std::vector<Plan> Nearby(const Plan& plan) const override;

 private:
  struct Knob {
    std::string key;
    std::vector<std::string> values;  // as TOML
    std::string given;                // the configuration's
    bool is_ranked;                   // else Nearby alone turns it
  };

  void Extend(size_t knob, const Plan& plan, const RunConfig& config, Ranking& ranking) const;
  static Plan With(const Plan& plan, const Knob& knob, const std::string& value);

  ApplyPlan apply_;
  std::vector<Knob> knobs_;
};

}  // namespace spyre::cosim
