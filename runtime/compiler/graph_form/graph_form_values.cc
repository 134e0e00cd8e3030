// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/graph_form/graph_form_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/nearest.h"

namespace spyre::compiler {

void FormValue::Fail(const std::string& expected) const {
  throw BadInput("{} = {}: {} is expected", path_, Show(*value_), expected);
}

bool FormValue::Has(const char* key) const { return Find(key).has_value(); }

std::optional<FormValue> FormValue::Find(const char* key) const {
  if (!value_->is_object()) Fail("an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return FormValue(*found, path_.empty() ? key : path_ + "." + key);
}

FormValue FormValue::At(const char* key) const {
  if (auto found = Find(key)) return *found;
  throw BadInput("{}{}{} is missing", path_, path_.empty() ? "" : ".", key);
}

std::vector<FormValue> FormValue::Items() const {
  constexpr size_t kMost = 65'536;
  if (!value_->is_array() || value_->size() > kMost)
    Fail(fmt::format("a list of at most {} entries", kMost));
  std::vector<FormValue> items;
  items.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
  return items;
}

std::vector<std::pair<std::string, FormValue>> FormValue::Entries() const {
  if (!value_->is_object()) Fail("an object");
  std::vector<std::pair<std::string, FormValue>> entries;
  for (const auto& [key, value] : value_->get_ref<const OrderedJson::object_t&>())
    entries.emplace_back(key, FormValue(value, path_.empty() ? key : path_ + "." + key));
  return entries;
}

void FormValue::RequireKeys(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : Entries()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw BadInput("unknown key '{}'{}", value.path(), DidYouMean(key, known));
  }
}

std::string FormValue::Text() const {
  if (!value_->is_string()) Fail("text");
  return value_->get<std::string>();
}

int64_t FormValue::Integer(int64_t low, int64_t high) const {
  const bool fits = value_->is_number_integer() &&
                    !(value_->is_number_unsigned() && value_->get<uint64_t>() > INT64_MAX);
  const int64_t number = fits ? value_->get<int64_t>() : 0;
  if (!fits || number < low || number > high)
    Fail(fmt::format("a whole number from {} to {}", low, high));
  return number;
}

double FormValue::Number() const {
  if (!value_->is_number()) Fail("a number");
  return value_->get<double>();
}

bool FormValue::Flag() const {
  if (!value_->is_boolean()) Fail("true or false");
  return value_->get<bool>();
}

std::vector<int64_t> FormValue::Integers(int64_t low, int64_t high) const {
  std::vector<int64_t> numbers;
  for (const FormValue& item : Items()) numbers.push_back(item.Integer(low, high));
  return numbers;
}

std::vector<int> FormValue::Ints(int low, int high) const {
  const std::vector<int64_t> numbers = Integers(low, high);
  return {numbers.begin(), numbers.end()};
}

std::vector<std::string> FormValue::Texts() const {
  std::vector<std::string> texts;
  for (const FormValue& item : Items()) texts.push_back(item.Text());
  return texts;
}

Extent FormValue::Size() const {
  if (value_->is_string()) return Extent::Parse(Text());
  return Integer(0, int64_t{1} << 48);  // products with an element's bytes do not overflow
}

std::vector<Extent> FormValue::Sizes() const {
  std::vector<Extent> sizes;
  for (const FormValue& item : Items()) sizes.push_back(item.Size());
  return sizes;
}

}  // namespace spyre::compiler
