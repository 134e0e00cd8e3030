// SPDX-License-Identifier: Apache-2.0
// The known word nearest to a mistyped one, for error messages. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spyre {

// Number of single-character insertions, deletions, replacements and swaps of neighbours between
// the two (optimal string alignment).
int EditDistance(std::string_view a, std::string_view b);

// The candidate with the smallest distance, the first of equals; empty if even that one differs in
// more than half of its characters.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" or nothing, to be put behind a message.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace spyre
