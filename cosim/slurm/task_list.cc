// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/task_list.h"

#include <fmt/format.h>

#include <charconv>

namespace spyre::cosim {
namespace {

// Slurm's own bound of MaxArraySize is four million.
constexpr uint64_t kMostTasks = 10'000'000;

// Takes a number from the beginning of the text.
bool TakeNumber(std::string_view& text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string FormatTasks(const std::vector<uint64_t>& tasks) {
  std::string text;
  for (size_t first = 0; first < tasks.size();) {
    size_t last = first;
    while (last + 1 < tasks.size() && tasks[last + 1] == tasks[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += last == first ? std::to_string(tasks[first])
                          : fmt::format("{}-{}", tasks[first], tasks[last]);
    first = last + 1;
  }
  return text;
}

std::vector<uint64_t> ParseTasks(std::string_view text) {
  if (!text.empty() && text.front() == '[') {
    if (text.back() != ']') return {};
    text = text.substr(1, text.size() - 2);
  }
  std::vector<uint64_t> tasks;
  while (true) {
    uint64_t first = 0;
    if (!TakeNumber(text, first)) return {};
    uint64_t last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      if (!TakeNumber(text, last)) return {};
    }
    if (last < first || last - first >= kMostTasks - tasks.size()) return {};
    for (uint64_t task = first; task <= last; ++task) tasks.push_back(task);
    if (text.empty() || text.front() == '%') return tasks;
    if (text.front() != ',') return {};
    text.remove_prefix(1);
  }
}

}  // namespace spyre::cosim
