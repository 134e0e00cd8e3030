// SPDX-License-Identifier: Apache-2.0
// Reading JSON of unknown origin: every access is checked, and every error says where in which
// file, what was there, and what would be right. Used by the SpyreCode reader and for
// calibration files.
//
// A JsonReader is a position in a document that its caller keeps alive. Errors: Error(kBadInput).
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace spyre {

class JsonReader {
 public:
  // `where`: file and place, for messages.
  JsonReader(const nlohmann::json& value, std::string where);

  const nlohmann::json& value() const { return *value_; }
  const std::string& where() const { return where_; }

  bool Has(const char* key) const;
  JsonReader At(const char* key) const;  // of an object; throws if missing
  JsonReader At(size_t index) const;     // of an array
  size_t Size() const;                   // of an array; throws if it is not one
  void RequireKeys(std::initializer_list<std::string_view> known) const;  // no others

  std::string String() const;
  uint64_t NumberString() const;  // "4096" or "0x1000"
  int64_t Integer(int64_t low, int64_t high) const;
  std::vector<int64_t> Integers(int64_t low, int64_t high) const;
  std::vector<std::string> Strings() const;

  // Throws "<where>: <what>, found <value>".
  [[noreturn]] void Fail(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string where_;
};

// What every reader of JSON asks first, whichever parser it uses: throws if values are nested
// deeper than anything of ours (printing and destroying them recurses), or if there is a NUL byte,
// behind which a parser would not look.
void CheckJsonText(std::string_view text, const std::string& name);

// Parses text; `name` is what messages call it. The error of a syntax error names line and column.
nlohmann::json ParseJson(std::string_view text, const std::string& name);
// Keys stay in their order; a key that is there twice in one object is refused.
nlohmann::ordered_json ParseOrderedJson(std::string_view text, const std::string& name);
nlohmann::json ReadJsonFile(const std::filesystem::path& file);
std::vector<uint8_t> ReadBinaryFile(const std::filesystem::path& file);

}  // namespace spyre
