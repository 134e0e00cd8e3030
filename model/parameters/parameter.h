// SPDX-License-Identifier: Apache-2.0
// The parameters of card.toml as a list, for configurations and what is printed of them. The
// structs that hold their values are in the generated parameters/card_parameters.h. Any one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "parameters/card_parameters.h"

namespace spyre::model {

// A value of an enumeration whose enumerators count from 0, in the order of their names.
class ChoiceRef {
 public:
  template <class Enum, class = std::enable_if_t<std::is_enum_v<Enum>>>
  explicit ChoiceRef(Enum& value)
      : value_(&value),
        get_([](const void* at) { return static_cast<size_t>(*static_cast<const Enum*>(at)); }),
        set_([](void* at, size_t index) { *static_cast<Enum*>(at) = static_cast<Enum>(index); }) {}

  size_t index() const { return get_(value_); }
  void Set(size_t index) const { set_(value_, index); }

 private:
  void* value_;
  size_t (*get_)(const void*);
  void (*set_)(void*, size_t);
};

struct ChoiceNames {
  const char* const* names = nullptr;
  size_t count = 0;

  const char* const* begin() const { return names; }
  const char* const* end() const { return names + count; }
};

struct Parameter {
  const char* key;  // "card.core.lx_bytes"
  std::variant<uint64_t*, bool*, std::string*, ChoiceRef> value;
  const char* unit;  // of a number; "" otherwise
  const char* source;
  const char* meaning;
  uint64_t least, most;  // of a number
  ChoiceNames choices;
  bool is_path;
};

// In the order of card.toml. Values are those of the argument, which outlives the list.
std::vector<Parameter> ParametersOf(CardParameters& card);
std::vector<Parameter> ParametersOf(SwitchConfig& pcie_switch);

}  // namespace spyre::model
