// SPDX-License-Identifier: Apache-2.0
// Keys that a search leaves as the command line has them. Any thread.
#pragma once

#include <string>
#include <vector>

namespace spyre::cosim {

class FixedKeys {
 public:
  FixedKeys() = default;
  // sets: arguments of --set. A table, "workload.tile={m=64}", fixes all of its keys.
  explicit FixedKeys(const std::vector<std::string>& sets);

  bool Has(const std::string& key) const;  // complete: "workload.tile.m"

 private:
  std::vector<std::string> keys_;
};

}  // namespace spyre::cosim
