// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre::cosim {

std::vector<std::string> SetsOf(const Plan& plan) {
  std::vector<std::string> sets;
  sets.reserve(plan.keys.size());
  for (const auto& [key, value] : plan.keys) sets.push_back(fmt::format("{}={}", key, value));
  return sets;
}

std::string TextOf(const Plan& plan) {
  static const std::string kCommon = "workload.";
  std::string text;
  for (const auto& [key, value] : plan.keys) {
    std::string bare = value;
    bare.erase(std::remove(bare.begin(), bare.end(), '"'), bare.end());
    const bool is_common = key.rfind(kCommon, 0) == 0;
    text += text.empty() ? "" : ", ";
    text += (is_common ? key.substr(kCommon.size()) : key) + " " + bare;
  }
  return text.empty() ? "as given" : text;
}

}  // namespace spyre::cosim
