// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own: SystemC elaborates once in a process, so what needs a second card
// runs in a child. Call from a process with one thread, before it has elaborated a card itself. A
// child ends when its parent ends, however that ends.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace spyre::cosim {

// Returns bytes for the parent.
using ChildWork = std::function<std::string()>;

// What came of the work: its bytes, or what it threw as an Error with the same kind and data
// (kInternal for other exceptions, and if the child has died).
struct ChildResult {
  std::string bytes;
  std::optional<Error> error;
};

// Runs each of `works` in a child, at most `at_once` at a time; results in the order given.
// `progress`, which may be empty, is told how many have ended.
std::vector<ChildResult> TryInChildren(const std::vector<ChildWork>& works, size_t at_once,
                                       const std::function<void(size_t done)>& progress = {});

// Runs work(number) in a child for each number that `next` gives, at most `at_once` at a time.
// `next` is asked whenever there is room for a child, so what ends may bring new numbers. `ended`
// is told each result as soon as it is there, in the order in which they end; nothing is kept.
void ForEachInChildren(const std::function<std::optional<size_t>()>& next, size_t at_once,
                       const std::function<std::string(size_t number)>& work,
                       const std::function<void(size_t number, ChildResult result)>& ended);
// The same for 0 .. count - 1.
void ForEachInChildren(size_t count, size_t at_once,
                       const std::function<std::string(size_t number)>& work,
                       const std::function<void(size_t number, ChildResult result)>& ended);

// A child that is made now and works later, on what it is then asked: for questions that come up
// when this process has elaborated a card itself.
class WaitingChild {
 public:
  using Work = std::function<std::string(const std::string& question)>;

  explicit WaitingChild(const Work& work);
  ~WaitingChild();  // ends it
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

  // Once; waits for the answer. question: not empty. Throws Interruption.
  ChildResult Ask(const std::string& question);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The bytes alone. Throws the error of the first that has one, when all have ended.
std::vector<std::string> RunInChildren(const std::vector<ChildWork>& works, size_t at_once);
std::string RunInChild(const ChildWork& work);

}  // namespace spyre::cosim
