// Work in a process of its own: SystemC elaborates once in a process, so what needs a second card
// runs in a child. Call from a process with one thread, before it has elaborated a card itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spyre::cosim {

// The bytes that `work` returns, run in a child. Throws what it threw, as an Error of the same kind
// (kInternal for other exceptions), and Error(kInternal) if the child dies.
std::string RunInChild(const std::function<std::string()>& work);

// The same for each of `works`, at most `at_once` children at a time; answers in the order given.
// Throws what the first of them threw, when all have ended.
std::vector<std::string> RunInChildren(const std::vector<std::function<std::string()>>& works,
                                       size_t at_once);

}  // namespace spyre::cosim
