// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/task_graph_loops.h"

#include <utility>

#include "base/error.h"
#include "cosim/cli/task_graph_words.h"
#include "cosim/workload/op_list_loops.h"

namespace spyre::cosim {
namespace {

constexpr int kMaxNesting = 8;
constexpr int64_t kMostIterations = 1 << 20;

std::string_view FirstWord(const std::string& line) {
  LineWords words(line);
  return words.empty() ? std::string_view() : words.Next("the command");
}
bool Opens(std::string_view word) { return word == "for_each" || word == "sequential"; }

}  // namespace

std::vector<runtime::TaskId> SequentialScopes::Add(runtime::TaskId task) {
  std::vector<runtime::TaskId> after;
  for (Scope& scope : scopes_) {
    after.insert(after.end(), scope.before.begin(), scope.before.end());
    scope.now.push_back(task);
  }
  return after;
}

void GraphLoops::Take(const std::string& line, uint64_t number) {
  const std::string_view word = FirstWord(line);
  if (word.empty()) return;
  if (Opens(word) && ++depth_ > kMaxNesting)
    throw BadInput("line {}: more than {} loops in each other", number, kMaxNesting);
  if (word == "end" && --depth_ < 0) throw BadInput("line {}: no loop is open", number);
  if (depth_ == 0 && open_.empty()) {
    execute_(line, number);
    return;
  }
  open_.push_back({line, number});
  if (depth_ == 0) Run(std::exchange(open_, {}));
}

void GraphLoops::Finish() const {
  if (depth_ == 0) return;
  throw BadInput("line {}: the loop has no end", open_.front().number);
}

void GraphLoops::Run(const std::vector<Line>& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!Opens(FirstWord(lines[i].text))) {
      execute_(lines[i].text, lines[i].number);
      continue;
    }
    size_t end = i + 1;
    for (int depth = 1; depth > 0; ++end) {
      const std::string_view word = FirstWord(lines[end].text);
      depth += Opens(word) ? 1 : word == "end" ? -1 : 0;
    }
    std::string index;
    int64_t count = 0;
    bool sequential = false;
    try {
      LineWords words(lines[i].text);
      sequential = words.Next("the command") == "sequential";
      index = words.Next("the name of the index");
      count = words.Number("the number of iterations", 0, kMostIterations);
      words.End();
    } catch (const Error& error) {
      throw BadInput("line {}: {}", lines[i].number, error.what());
    }
    if (sequential) scopes_.Enter();
    for (int64_t at = 0; at < count; ++at) {
      std::vector<Line> body;
      for (size_t j = i + 1; j + 1 < end; ++j)
        body.push_back({WithLoopIndex(lines[j].text, index, at), lines[j].number});
      Run(body);
      if (sequential) scopes_.NextIteration();
    }
    if (sequential) scopes_.Leave();
    i = end - 1;
  }
}

}  // namespace spyre::cosim
