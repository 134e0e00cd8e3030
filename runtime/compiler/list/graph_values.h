// SPDX-License-Identifier: Apache-2.0
// Values of an op list's JSON, each checked: the wrong type, size or name is BadInput with the path
// of the key, what was there and what would be right. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spyre::compiler {

using OrderedJson = nlohmann::ordered_json;

inline constexpr size_t kMaxEntries = 1024;  // of each list

std::string Show(const OrderedJson& value);  // for messages, cut if it is long

const OrderedJson::object_t& Object(const OrderedJson& value, const std::string& path);
const OrderedJson& List(const OrderedJson& value, const std::string& path);
std::string Text(const OrderedJson& value, const std::string& path);  // not empty
// A letter or _, then letters, digits, _ and -: names appear in messages, file names and reports.
std::string Name(const OrderedJson& value, const std::string& path);
int64_t Size(const OrderedJson& value, const std::string& path);   // 1 .. 2^31
double Number(const OrderedJson& value, const std::string& path);  // finite

// An object with these keys only, and all of `required`.
void CheckKeys(const OrderedJson& value, const std::string& path,
               const std::vector<std::string>& known, const std::vector<std::string>& required);

}  // namespace spyre::compiler
