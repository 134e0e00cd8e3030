// SPDX-License-Identifier: Apache-2.0
// The elements of a range as text, with a separator between them, as messages have them everywhere.
// fmt::join would compile its parser and its printer again in every file that uses it.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace spyre {

// Appends `value` as fmt prints it.
void AppendNumber(std::string& text, double value);

template <class Range>
std::string Joined(const Range& range, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& element : range) {
    using Element = std::decay_t<decltype(element)>;
    static_assert(!std::is_same_v<Element, char>, "a text is not a range of elements");
    if (!first) text.append(separator);
    first = false;
    if constexpr (std::is_floating_point_v<Element>) {
      AppendNumber(text, element);
    } else if constexpr (std::is_integral_v<Element>) {
      text += std::to_string(element);
    } else {
      text.append(std::string_view(element));
    }
  }
  return text;
}

}  // namespace spyre
