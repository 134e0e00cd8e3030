// SPDX-License-Identifier: Apache-2.0
// The keys of a configuration as a grid names them: which there are, what values they take, and
// what a configuration has for them. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cosim/config/config.h"

namespace spyre::cosim {

class ConfigKeys {
 public:
  ConfigKeys() : fields_(Fields(defaults_)) {}
  ConfigKeys(const ConfigKeys&) = delete;  // the fields point into it
  ConfigKeys& operator=(const ConfigKeys&) = delete;

  // The field of a key; null: there is none. A key below a table of free names (workload.dims.A,
  // workload.plan.lx) has the table's field.
  const Field* Find(const std::string& key) const;
  bool IsTable(const std::string& key) const;  // "card.core"
  // Throws Error(kBadInput) for a key that is not known, with the nearest one; `place` goes before.
  [[noreturn]] void RefuseKey(const std::string& place, const std::string& key) const;
  // Throws Error(kBadInput) if the key cannot have that value by itself: wrong type, out of range,
  // not among the allowed. What keys cannot have together is a matter of the point.
  void CheckValue(const std::string& place, const std::string& key,
                  const nlohmann::ordered_json& value) const;

 private:
  RunConfig defaults_;
  std::vector<Field> fields_;
};

// What a configuration has for a key; null for a key below a table that does not have it.
nlohmann::ordered_json ValueOf(const RunConfig& config, const std::string& key);

}  // namespace spyre::cosim
