// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"

namespace spyre {
namespace {

constexpr size_t kShownCharacters = 60;
// The programs of a plan stand behind each other, each of up to 64 MiB.
constexpr uint64_t kMaxBinaryBytes = 1ull << 30;
constexpr int kMaxDepth = 64;

}  // namespace

JsonReader::JsonReader(const nlohmann::json& value, std::string where)
    : value_(&value), where_(std::move(where)) {}

void JsonReader::Fail(const std::string& what) const {
  std::string shown = value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (shown.size() > kShownCharacters) shown = shown.substr(0, kShownCharacters) + "...";
  throw BadInput("{}: {}, found {}", where_, what, shown).Subject(where_).Value(shown).Remedy(what);
}

bool JsonReader::Has(const char* key) const { return value_->is_object() && value_->contains(key); }

JsonReader JsonReader::At(const char* key) const {
  if (!value_->is_object()) Fail("an object is expected");
  const auto it = value_->find(key);
  if (it == value_->end()) Fail(fmt::format("key '{}' is missing", key));
  return {*it, fmt::format("{}.{}", where_, key)};
}

JsonReader JsonReader::At(size_t index) const {
  if (index >= Size()) Fail(fmt::format("element {} is missing", index));
  return {(*value_)[index], fmt::format("{}[{}]", where_, index)};
}

size_t JsonReader::Size() const {
  if (!value_->is_array()) Fail("an array is expected");
  return value_->size();
}

void JsonReader::RequireKeys(std::initializer_list<std::string_view> known) const {
  if (!value_->is_object()) Fail("an object is expected");
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw BadInput("{}: unknown key '{}'; known are: {}", where_, key, Joined(known, ", "))
          .Subject(where_)
          .Value(key)
          .Remedy(fmt::format("{}", Joined(known, ", ")));
    }
  }
}

std::string JsonReader::String() const {
  if (!value_->is_string()) Fail("a string is expected");
  return value_->get<std::string>();
}

uint64_t JsonReader::NumberString() const {
  const char* what = "a number in a string is expected, decimal or 0x hexadecimal, below 2^64";
  if (!value_->is_string()) Fail(what);
  const std::string& text = value_->get_ref<const std::string&>();
  const bool hexadecimal = text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0;
  const char* begin = text.data() + (hexadecimal ? 2 : 0);
  const char* end = text.data() + text.size();
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || stop != end || begin == end) Fail(what);
  return number;
}

int64_t JsonReader::Integer(int64_t low, int64_t high) const {
  const std::string what = fmt::format("an integer from {} to {} is expected", low, high);
  if (!value_->is_number_integer()) Fail(what);
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    Fail(what);
  }
  const int64_t number = value_->get<int64_t>();
  if (number < low || number > high) Fail(what);
  return number;
}

std::vector<int64_t> JsonReader::Integers(int64_t low, int64_t high) const {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < Size(); ++i) numbers.push_back(At(i).Integer(low, high));
  return numbers;
}

std::vector<std::string> JsonReader::Strings() const {
  std::vector<std::string> strings;
  for (size_t i = 0; i < Size(); ++i) strings.push_back(At(i).String());
  return strings;
}

std::vector<uint8_t> ReadBinaryFile(const std::filesystem::path& file) {
  const std::string bytes = ReadFile(file.string(), "SpyreCode file", kMaxBinaryBytes);
  return {bytes.begin(), bytes.end()};
}

void CheckJsonText(std::string_view text, const std::string& name) {
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    throw BadInput("{}: not valid JSON: a zero byte at offset {}", name, nul);
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth)
        throw BadInput("{}: nested more than {} levels deep", name, kMaxDepth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

nlohmann::json ParseJson(std::string_view text, const std::string& name) {
  CheckJsonText(text, name);
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {
    throw BadInput("{}: not valid JSON: {}", name, error.what());
  }
}

nlohmann::ordered_json ParseOrderedJson(std::string_view text, const std::string& name) {
  using Json = nlohmann::ordered_json;
  constexpr int kMostLevels = 16;           // of what people write
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMostLevels) throw BadInput("{}: more than {} levels", name, kMostLevels);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value).second) {
      throw BadInput("{}: the key {} is there twice in one object", name, value.dump());
    }
    return true;
  };
  CheckJsonText(text, name);
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::exception& error) {
    throw BadInput("{}: not valid JSON: {}", name, error.what());
  }
}

nlohmann::json ReadJsonFile(const std::filesystem::path& file) {
  return ParseJson(ReadFile(file.string(), "SpyreCode file"), file.string());
}

}  // namespace spyre
