// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <utility>

namespace spyre {

int EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the distance matrix: two back (for swaps), previous, current.
  std::vector<int> before(b.size() + 1);
  std::vector<int> previous(b.size() + 1);
  std::vector<int> current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // Words are short; a long "word" is a mistake of another kind and not worth the quadratic work.
  constexpr size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return "";
  std::string best;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(word, candidate);
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best_distance * 2 > static_cast<int>(std::max(best.size(), word.size())) ? "" : best;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace spyre
