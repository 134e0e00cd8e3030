// SPDX-License-Identifier: Apache-2.0
// A plan of a workload: how it is cut, divided and launched, as keys over a configuration; and the
// space of plans that `tune` searches. Plain data and constant objects, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spyre::cosim {

struct Plan {
  std::map<std::string, std::string> keys;  // complete key -> value as TOML; empty: as given
  std::optional<double> expected_ns;        // by the cost model, of all launches
};

// The plan as arguments of --set: "workload.split.m=8".
std::vector<std::string> SetsOf(const Plan& plan);
// "split.m 8, split.n 4, tile.m 4096", for people; "as given".
std::string TextOf(const Plan& plan);

// Plans with the most promising first, and those that the compiler refuses by its reason.
struct Ranking {
  std::vector<Plan> plans;
  std::map<std::string, uint64_t> refused;
};

class PlanSpace {
 public:
  virtual ~PlanSpace() = default;
  // The ranking does not hold the plan that was given.
  virtual Ranking Ranked() const = 0;
  // Plans that differ from this one in one choice, also in choices that Ranked leaves as they are.
  virtual std::vector<Plan> Nearby(const Plan& plan) const = 0;
};

}  // namespace spyre::cosim
