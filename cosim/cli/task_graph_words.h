// SPDX-License-Identifier: Apache-2.0
// The words of one line of `spyre-cosim graph`, taken from left to right. Views of the line, which
// must outlive it. Errors: BadInput that says which word is wrong.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/graph/task_graph.h"

namespace spyre::cosim {

class LineWords {
 public:
  // last_task: that @ means; -1: there is none.
  explicit LineWords(std::string_view line, runtime::TaskId last_task = runtime::kNoTask)
      : last_task_(last_task) {
    constexpr std::string_view kSpace = " \t\r\n\v\f";
    size_t begin = line.find_first_not_of(kSpace);
    while (begin != std::string_view::npos && line[begin] != '#') {
      const size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
      words_.push_back(line.substr(begin, end - begin));
      begin = line.find_first_not_of(kSpace, end);
    }
  }

  bool empty() const { return words_.empty(); }
  size_t left() const { return words_.size() - next_; }
  std::string_view Next(const char* what) {
    if (left() == 0) throw BadInput("{} is missing", what);
    return words_[next_++];
  }
  int64_t Number(const char* what, int64_t min = INT64_MIN, int64_t max = INT64_MAX) {
    const std::string_view word = Next(what);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) {
      throw BadInput("{} is '{}'; it must be a whole number of at most 64 bits", what, word);
    }
    if (value < min || value > max) {
      throw BadInput("{} is {}; it must be between {} and {}", what, value, min, max);
    }
    return value;
  }
  uint32_t Count(const char* what, int64_t min = 0) {
    return static_cast<uint32_t>(Number(what, min, INT32_MAX));
  }
  // A task may be one that does not exist: the graph decides what to do with it. @: the last one
  // allocated, @-2: the second before it.
  runtime::TaskId Task() {
    const std::string_view word = left() > 0 ? words_[next_] : std::string_view();
    if (word.empty() || word.front() != '@') return Number("the task", INT32_MIN, INT32_MAX);
    ++next_;
    const bool alone = word.size() == 1;
    int64_t back = 0;
    if (!alone) {
      const char* const end = word.data() + word.size();
      const auto [last, error] = std::from_chars(word.data() + 2, end, back);
      if (word[1] != '-' || word.size() == 2 || error != std::errc{} || last != end || back < 0) {
        throw BadInput("the task is '{}'; it must be a number, @, or @-1, @-2, ...", word);
      }
    }
    if (back > last_task_)
      throw BadInput("the task is '{}', and {} tasks are allocated", word, last_task_ + 1);
    return last_task_ - back;
  }
  runtime::TensorId Buffer() { return static_cast<uint64_t>(Number("the buffer", 0)); }
  void End() const {
    if (left() > 0) throw BadInput("'{}' is one word too many", words_[next_]);
  }

 private:
  std::vector<std::string_view> words_;
  size_t next_ = 0;
  runtime::TaskId last_task_;
};

}  // namespace spyre::cosim
