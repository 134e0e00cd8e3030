// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/config_override.h"

#include "base/error.h"
#include "cosim/config/toml_text.h"

namespace spyre::cosim {

toml::table ParseOverride(const std::string& override_text) {
  const size_t equals = override_text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw BadInput("--set {}: must be key.path=value, for example --set card.cores=8",
                   override_text);
  }
  CheckTomlDepth(override_text, "--set " + override_text.substr(0, 60));
  const std::string key = override_text.substr(0, equals);
  const std::string value = override_text.substr(equals + 1);
  toml::table parsed;
  bool is_toml = false;
  try {
    parsed = toml::parse("v = " + value);
    is_toml = parsed.size() == 1 && parsed.contains("v");
  } catch (const toml::parse_error&) {
    is_toml = false;
  }
  if (!is_toml) parsed = toml::table{{"v", value}};

  // Wrapped from the inside out: a.b=1 becomes {a = {b = 1}}.
  toml::table result;
  const size_t last_dot = key.rfind('.');
  const size_t leaf_at = last_dot == std::string::npos ? 0 : last_dot + 1;
  result.insert_or_assign(key.substr(leaf_at), std::move(*parsed.get("v")));
  for (size_t end = leaf_at; end > 0;) {
    const size_t dot = end == 1 ? std::string::npos : key.rfind('.', end - 2);
    const size_t begin = dot == std::string::npos ? 0 : dot + 1;
    toml::table outer;
    outer.insert_or_assign(key.substr(begin, end - 1 - begin), std::move(result));
    result = std::move(outer);
    end = begin;
  }
  return result;
}

}  // namespace spyre::cosim
