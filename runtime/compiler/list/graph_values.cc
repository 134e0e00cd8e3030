// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/graph_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "runtime/compiler/ir/expression.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {
namespace {

using Json = OrderedJson;

constexpr int64_t kMaxDim = 1ll << 31;

}  // namespace

std::string Show(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = PrintableJson(value);
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
  if (name.size() > kLongest || !starts_well || !AllFit(name, fits)) {
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

int64_t DimSizes::Of(const std::string& name, std::set<std::string> within) {
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  const std::string path = "dims." + name;
  const auto entry = FindIf(dims_, [&](const auto& other) { return other.first == name; });
  if (entry == dims_.end())
    throw BadInput("'{0}' has no size; give it one (--set workload.dims.{0}=1024)", name);
  if (!entry->second.is_string()) return known_[name] = Size(entry->second, path);
  const auto text = entry->second.get<std::string>();
  if (!within.insert(name).second) throw BadInput("{} = '{}' needs itself", path, text);
  try {
    const Expression expression = ParseExpression(text);
    std::map<std::string, int64_t> values;
    for (const std::string& symbol : FreeSymbols(expression)) {
      values[symbol] = Of(symbol, within);
      symbols_.insert(symbol);
    }
    return known_[name] = Size(Json(Evaluate(expression, values)), path);
  } catch (const Error& error) {
    throw error.Within(fmt::format("{} = '{}'", path, text));
  }
}

DataFormat HostType(const Json& value, const std::string& path, bool on_card) {
  const std::string name = Text(value, path);
  for (const DataFormat format :
       {DataFormat::kIeeeFp16, DataFormat::kIeeeFp32, DataFormat::kSen143Fp8})
    if (name == HostTypeName(format) && (on_card || format != DataFormat::kSen143Fp8))
      return format;
  if (name == HostTypeName(DataFormat::kIeeeInt32)) return DataFormat::kIeeeInt32;  // on the host
  throw CompileError(
      "Unsupported", "dtype",
      fmt::format("{} = '{}' is not supported; float16 and float32 are, in which the vector unit "
                  "computes, and float8_e4m3fn as the result of a conversion. Nothing but "
                  "matmuls works on 8-bit types, and the scales of those are not public",
                  path, name));
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
