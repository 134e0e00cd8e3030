// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/fixed_keys.h"

#include <algorithm>

#include "base/ranges.h"

namespace spyre::cosim {

FixedKeys::FixedKeys(const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    std::string key = set.substr(0, set.find('='));
    key.erase(std::remove(key.begin(), key.end(), ' '), key.end());
    keys_.push_back(std::move(key));
  }
}

bool FixedKeys::Has(const std::string& key) const {
  return AnyFits(keys_, [&](const std::string& fixed) {
    return key == fixed || key.rfind(fixed + ".", 0) == 0;
  });
}

}  // namespace spyre::cosim
