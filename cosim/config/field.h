// SPDX-License-Identifier: Apache-2.0
// Fields: the one typed table of configuration keys. The TOML reader, --set, the effective-config
// dumps and docs/configuration.md all walk the list that Fields(RunConfig&) returns.
//
// A Field points into the RunConfig it was made from and lives no longer. What it says of the key
// are texts of the program, which it does not copy: fields are made for every configuration that is
// read. Any one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/parameters/parameter.h"

namespace spyre::cosim {

// Numbers by names that the user chooses.
using NumberTable = std::map<std::string, uint64_t>;

using model::ChoiceRef;

// A list of tables as JSON text, keys in the order of the file; "": none.
struct TableList {
  std::string json;
  std::vector<std::string> places;  // "run.toml:12:1" of each, for messages
};

// A table of free form as JSON text, which may stand in a file of its own: then its key "file" has
// the path. "": nothing.
struct FileOrTable {
  std::string json;
};

struct Field {
  using Value = std::variant<uint64_t*, double*, bool*, std::string*, ChoiceRef,
                             std::vector<std::string>*, NumberTable*, TableList*, FileOrTable*>;

  std::string key;  // complete dotted key, "card.core.lx_bytes"; "tenant" stands for [[tenant]]
  Value value;
  std::string_view unit;             // of a number; "" otherwise
  std::string_view meaning;          // for docs/configuration.md,
  std::string_view meaning_end;      // in two parts where several keys share the second
  std::string_view source;           // as card.toml says; "choice" for what is the user's to choose
  uint64_t min = 0, max = 0;         // of a number, and of the numbers of a table
  std::vector<std::string> choices;  // allowed strings; empty: any
  bool is_path = false;              // relative paths are relative to the file that names them
  std::string_view path_key;         // of tables: texts of this key are paths

  std::string Description() const { return std::string(meaning).append(meaning_end); }
  std::string AllowedText() const;  // "1 .. 32", "timed, functional", "true, false"
  std::string ValueText() const;    // as TOML
};

// Collects fields in order of declaration. Texts, but for the prefix, live as long as the program.
class FieldCollector {
 public:
  // Every key is put behind `prefix` and a dot; "": at the top of the file.
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }

  void Number(const char* key, uint64_t& value, uint64_t min, uint64_t max, const char* unit,
              const char* description, const char* source = "choice",
              const char* description_end = "");
  void Choice(const char* key, std::string& value, const std::vector<std::string>& allowed,
              const char* description, const char* source = "choice");
  // allowed: the names of the enumerators, in their order.
  template <class Enum>
  void Choice(const char* key, Enum& value, const std::vector<std::string>& allowed,
              const char* description, const char* source = "choice") {
    static_assert(std::is_enum_v<Enum>);
    Add(key, ChoiceRef(value), description, source).choices = allowed;
  }
  // From 0 to 1.
  void Fraction(const char* key, double& value, const char* description);
  void Flag(const char* key, bool& value, const char* description, const char* source = "choice");
  void Text(const char* key, std::string& value, const char* description);
  void Path(const char* key, std::string& value, const char* description);
  void List(const char* key, std::vector<std::string>& value,
            const std::vector<std::string>& allowed, const char* description);
  void PathList(const char* key, std::vector<std::string>& value, const char* description);
  void Table(const char* key, NumberTable& value, uint64_t min, uint64_t max,
             const char* description);
  // Values of the key `path_key` are paths.
  void Tables(const char* key, TableList& value, const char* description,
              const char* path_key = "file");
  // Whatever the prefix is.
  void Parameters(const std::vector<model::Parameter>& parameters);
  void FileOrTableOf(const char* key, FileOrTable& value, const char* description);

  std::vector<Field> Take() { return std::move(fields_); }

 private:
  Field& Add(const char* key, Field::Value value, const char* description, const char* source);

  std::string prefix_;
  std::vector<Field> fields_;
};

// Keys that the cards of earlier versions have and that nothing reads any more, with or without
// "card." before them.
bool IsFormerKey(std::string_view key);

// A TOML basic string: quoted and escaped.
std::string TomlString(const std::string& text);

}  // namespace spyre::cosim
