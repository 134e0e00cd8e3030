// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/list_space.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/config/effect.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim {
namespace {

struct Choice {
  const char* key;
  bool is_ranked;
};
// In the order in which they are combined: whether a key has an effect depends on earlier ones
// only.
constexpr Choice kChoices[] = {
    {"workload.issue.mode", true},
    {"workload.division", true},
    {"workload.lx", true},
    {"workload.tiling", true},
    {"workload.agree", true},
    {"workload.issue.streams", true},
    {"cards.algorithm", false},
    {"workload.lx_solver", false},
    {"workload.issue.dependencies", false},
    {"workload.issue.release", false},
    {"workload.issue.dispatch", false},
    {"workload.issue.ready", false},
    {"workload.issue.start", false},
};

std::vector<std::string> ValuesOf(const Field& field) {
  if (std::holds_alternative<bool*>(field.value)) return {"true", "false"};
  if (field.key == "workload.issue.streams") return {"1", "2", "4", "8"};
  std::vector<std::string> values;
  for (const std::string& choice : field.choices) values.push_back(TomlString(choice));
  return values;
}

// Of device memory, that the kernels move in one launch of each.
double BytesOf(const RunConfig& config) {
  double bytes = 0;
  for (const KernelFacts& kernel : ResolveWorkload(config)->facts()) {
    bytes += static_cast<double>(kernel.plan.traffic.bytes_read) +
             static_cast<double>(kernel.plan.traffic.bytes_written);
  }
  return bytes;
}

// A given key has no effect with this choice: Ranked has said so, once.
bool IsRefused(const RunConfig& config) {
  try {
    RefuseKeysWithoutEffect(config);
    return false;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    return true;
  }
}

}  // namespace

ListSpace::ListSpace(const RunConfig& config, const FixedKeys& fixed, ApplyPlan apply)
    : apply_(std::move(apply)) {
  RunConfig copy = config;
  const std::vector<Field> fields = Fields(copy);
  for (const Choice& choice : kChoices) {
    if (fixed.Has(choice.key)) continue;
    const auto field = FindIf(fields, [&](const Field& one) { return one.key == choice.key; });
    if (field == fields.end()) throw InternalError("{}: there is no such key", choice.key);
    knobs_.push_back({field->key, ValuesOf(*field), field->ValueText(), choice.is_ranked});
  }
}

Plan ListSpace::With(const Plan& plan, const Knob& knob, const std::string& value) {
  Plan other = plan;
  if (value == knob.given) {
    other.keys.erase(knob.key);
  } else {
    other.keys[knob.key] = value;
  }
  return other;
}

void ListSpace::Extend(size_t knob, const Plan& plan, const RunConfig& config,
                       Ranking& ranking) const {
  if (knob == knobs_.size()) {
    if (!plan.keys.empty()) ranking.plans.push_back(plan);
    return;
  }
  const Knob& turned = knobs_[knob];
  if (!turned.is_ranked || !HasEffect(config, turned.key)) {
    Extend(knob + 1, plan, config, ranking);
    return;
  }
  for (const std::string& value : turned.values) {
    const Plan other = With(plan, turned, value);
    try {
      const RunConfig changed = apply_(other);
      // A given key that the value leaves without an effect refuses all plans that have it.
      RefuseKeysWithoutEffect(changed);
      Extend(knob + 1, other, changed, ranking);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      ++ranking.refused[error.what()];
    }
  }
}

Ranking ListSpace::Ranked() const {
  Ranking ranking;
  Extend(0, {}, apply_({}), ranking);
  struct Ranked {
    double bytes;
    Plan plan;
  };
  std::map<std::string, std::vector<Ranked>> by_mode;
  for (Plan& plan : ranking.plans) {
    try {
      const RunConfig config = apply_(plan);
      by_mode[Name(config.workload.issue.mode)].push_back({BytesOf(config), std::move(plan)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      ++ranking.refused[error.what()];
    }
  }
  ranking.plans.clear();
  size_t most = 0;
  for (auto& [mode, plans] : by_mode) {
    StableSort(plans, [](const Ranked& a, const Ranked& b) { return a.bytes < b.bytes; });
    most = std::max(most, plans.size());
  }
  for (size_t place = 0; place < most; ++place) {
    for (auto& [mode, plans] : by_mode)
      if (place < plans.size()) ranking.plans.push_back(std::move(plans[place].plan));
  }
  return ranking;
}

std::vector<Plan> ListSpace::Nearby(const Plan& plan) const {
  const RunConfig config = apply_(plan);
  std::vector<Plan> plans;
  for (const Knob& knob : knobs_) {
    if (!HasEffect(config, knob.key)) continue;
    for (const std::string& value : knob.values) {
      Plan other = With(plan, knob, value);
      if (other.keys == plan.keys) continue;
      // What the change leaves without an effect would be refused.
      const RunConfig changed = apply_(other);
      for (auto key = other.keys.begin(); key != other.keys.end();)
        key = HasEffect(changed, key->first) ? std::next(key) : other.keys.erase(key);
      if (!IsRefused(apply_(other))) plans.push_back(std::move(other));
    }
  }
  return plans;
}

}  // namespace spyre::cosim
