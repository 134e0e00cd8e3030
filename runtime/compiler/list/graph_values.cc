// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/graph_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace spyre::compiler {
namespace {

using Json = OrderedJson;

constexpr int64_t kMaxDim = 1ll << 31;

}  // namespace

std::string Show(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

const Json::object_t& Object(const Json& value, const std::string& path) {
  if (!value.is_object()) throw BadInput("{} = {} must be a table", path, Show(value));
  return value.get_ref<const Json::object_t&>();
}

const Json& List(const Json& value, const std::string& path) {
  if (!value.is_array()) throw BadInput("{} = {} must be a list", path, Show(value));
  if (value.size() > kMaxEntries) {
    throw BadInput("{} has {} entries; at most {}", path, value.size(), kMaxEntries);
  }
  return value;
}

std::string Text(const Json& value, const std::string& path) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    throw BadInput("{} = {} must be a string that is not empty", path, Show(value));
  }
  return value.get<std::string>();
}

std::string Name(const Json& value, const std::string& path) {
  std::string name = Text(value, path);
  constexpr size_t kLongest = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  const bool starts_well = !(name[0] >= '0' && name[0] <= '9') && name[0] != '-';
  if (name.size() > kLongest || !starts_well || !std::all_of(name.begin(), name.end(), fits)) {
    throw BadInput(
        "{} = {} must be a name: a letter or _, then letters, digits, _ and -, at most {}", path,
        Show(value), kLongest);
  }
  return name;
}

int64_t Size(const Json& value, const std::string& path) {
  if (!value.is_number_integer())
    throw BadInput("{} = {} must be a whole number", path, Show(value));
  const auto size = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX
                        ? INT64_MAX
                        : value.get<int64_t>();
  if (size < 1 || size > kMaxDim) {
    throw BadInput("{} = {} is out of range; allowed: 1 .. {}", path, Show(value), kMaxDim);
  }
  return size;
}

double Number(const Json& value, const std::string& path) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    throw BadInput("{} = {} must be a number", path, Show(value));
  }
  return value.get<double>();
}

void CheckKeys(const Json& value, const std::string& path, const std::vector<std::string>& known,
               const std::vector<std::string>& required) {
  for (const auto& [key, unused] : Object(value, path.empty() ? "the op list" : path)) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw BadInput("unknown key '{}{}{}'{}", path, path.empty() ? "" : ".", key,
                   DidYouMean(key, known));
  }
  for (const std::string& key : required) {
    if (value.contains(key)) continue;
    throw BadInput("{}{}{} is missing", path, path.empty() ? "" : ".", key);
  }
}

}  // namespace spyre::compiler
