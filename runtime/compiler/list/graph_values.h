// SPDX-License-Identifier: Apache-2.0
// Values of an op list's JSON, each checked: the wrong type, size or name is BadInput with the path
// of the key, what was there and what would be right. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "model/contract/formats.h"

namespace spyre::compiler {

using OrderedJson = nlohmann::ordered_json;

inline constexpr size_t kMaxEntries = 1024;  // of each list

std::string Show(const OrderedJson& value);  // for messages, cut if it is long

const OrderedJson::object_t& Object(const OrderedJson& value, const std::string& path);
const OrderedJson& List(const OrderedJson& value, const std::string& path);
std::string Text(const OrderedJson& value, const std::string& path);  // not empty
// A letter or _, then letters, digits, _ and -: names appear in messages, file names and reports.
std::string Name(const OrderedJson& value, const std::string& path);
int64_t Size(const OrderedJson& value, const std::string& path);  // 1 .. 2^31
// on_card: of a result, which the host need not have. Throws CompileError Unsupported "dtype".
DataFormat HostType(const OrderedJson& value, const std::string& path, bool on_card);
double Number(const OrderedJson& value, const std::string& path);  // finite

// The sizes of a list's dimensions: numbers, or text with an expression of other dimensions' sizes
// (runtime/compiler/ir/expression.h), as "2*s0 + 1". Throws BadInput for one that has no size, or
// would need its own. The JSON must outlive it.
class DimSizes {
 public:
  explicit DimSizes(const OrderedJson::object_t& dims) : dims_(dims) {}
  int64_t Of(const std::string& name) { return Of(name, {}); }
  const std::set<std::string>& symbols() const { return symbols_; }  // that expressions have used

 private:
  int64_t Of(const std::string& name, std::set<std::string> within);  // whose sizes need it

  const OrderedJson::object_t& dims_;
  std::map<std::string, int64_t> known_;
  std::set<std::string> symbols_;
};

// An object with these keys only, and all of `required`.
void CheckKeys(const OrderedJson& value, const std::string& path,
               const std::vector<std::string>& known, const std::vector<std::string>& required);

}  // namespace spyre::compiler
