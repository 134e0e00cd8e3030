// Work in a process of its own: SystemC elaborates once in a process, so what needs a second card
// runs in a child. Call from a process with one thread, before it has elaborated a card itself.
#pragma once

#include <functional>
#include <string>

namespace spyre::cosim {

// The bytes that `work` returns, run in a child. Throws what it threw, as an Error of the same kind
// (kInternal for other exceptions), and Error(kInternal) if the child dies.
std::string RunInChild(const std::function<std::string()>& work);

}  // namespace spyre::cosim
