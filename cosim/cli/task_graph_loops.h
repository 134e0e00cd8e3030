// SPDX-License-Identifier: Apache-2.0
// Loops in the text of `spyre-cosim graph`: lines outside of loops are executed as they come, a
// loop when its `end` has been read.
//
//   for_each i 4        the lines up to `end` for i = 0, 1, 2, 3; {i}, {i+1}, {i-1}, {i*64} and
//   ...                 {i*64+5} in them are numbers
//   end
//   sequential i 4      the same; every task comes after all tasks of the iteration before
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/task_graph.h"

namespace spyre::cosim {

// Tasks that a task which is allocated now comes after, because of `sequential`.
class SequentialScopes {
 public:
  void Enter() { scopes_.emplace_back(); }
  void Leave() { scopes_.pop_back(); }
  void NextIteration() {
    scopes_.back().before = std::move(scopes_.back().now);
    scopes_.back().now.clear();
  }
  std::vector<runtime::TaskId> Add(runtime::TaskId task);

 private:
  struct Scope {
    std::vector<runtime::TaskId> before, now;  // tasks of the iteration before, and of this one
  };
  std::vector<Scope> scopes_;
};

class GraphLoops {
 public:
  // execute: a line without loops, with its number in the file. Errors of it go through.
  explicit GraphLoops(std::function<void(std::string_view line, uint64_t number)> execute)
      : execute_(std::move(execute)) {}

  void Take(const std::string& line, uint64_t number);
  void Finish() const;  // throws BadInput if a loop has no end
  SequentialScopes& scopes() { return scopes_; }

 private:
  struct Line {
    std::string text;
    uint64_t number;
  };

  void Run(const std::vector<Line>& lines);

  std::function<void(std::string_view, uint64_t)> execute_;
  std::vector<Line> open_;  // lines of the loop that is being read
  int depth_ = 0;
  SequentialScopes scopes_;
};

}  // namespace spyre::cosim
