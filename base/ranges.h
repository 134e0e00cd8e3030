// SPDX-License-Identifier: Apache-2.0
// Algorithms over a whole range. The standard library's take two iterators, and what they generate
// for each place that calls them takes the compiler five to eight times as long: searches are
// unrolled, sorts have three ways to merge.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace spyre {

// The first element that fits, or the end.
template <class Range, class Fits>
auto FindIf(Range&& range, const Fits& fits) {
  auto at = std::begin(range);
  const auto end = std::end(range);
  while (at != end && !fits(*at)) ++at;
  return at;
}

template <class Range, class Fits>
bool AnyFits(const Range& range, const Fits& fits) {
  for (const auto& element : range)
    if (fits(element)) return true;
  return false;
}

template <class Range, class Fits>
bool NoneFits(const Range& range, const Fits& fits) {
  return !AnyFits(range, fits);
}

template <class Range, class Fits>
bool AllFit(const Range& range, const Fits& fits) {
  for (const auto& element : range)
    if (!fits(element)) return false;
  return true;
}

// The places of `count` elements in the order of `less`, which is given `context` and two places.
// Elements that are equal keep their order.
std::vector<size_t> StableOrder(size_t count, bool (*less)(const void* context, size_t a, size_t b),
                                const void* context);

// Leaves the list as std::stable_sort does.
template <class Element, class Less>
void StableSort(std::vector<Element>& list, const Less& less) {
  const auto before = [&](size_t a, size_t b) { return less(list[a], list[b]); };
  using Before = decltype(before);
  const std::vector<size_t> order = StableOrder(
      list.size(),
      [](const void* context, size_t a, size_t b) {
        return (*static_cast<std::add_pointer_t<Before>>(context))(a, b);
      },
      &before);
  std::vector<Element> sorted;
  sorted.reserve(list.size());
  for (const size_t place : order) sorted.push_back(std::move(list[place]));
  list.swap(sorted);
}

}  // namespace spyre
