// SPDX-License-Identifier: Apache-2.0
// Many pieces of work, each in a process of its own and answering with an object of JSON. One that
// throws or crashes leaves the others alone: its answer is then the failure (verdict/failure.h).
// Call from a process with one thread that has made no SystemC object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace spyre::cosim {

using ProcessWork = std::function<nlohmann::ordered_json(size_t number)>;
// In the calling process.
using ProcessEnded = std::function<void(size_t number, nlohmann::ordered_json answer)>;

// What `work` answers, or ToJson of the failure that it throws.
nlohmann::ordered_json AnswerOrFailure(const std::function<nlohmann::ordered_json()>& work);

enum class Order {
  kAsTheyEnd,
  kByNumber,  // each answer as soon as it and those before it are there
};

// Runs work(0) .. work(count - 1), at most `jobs` at a time; 0: one for each processor. Throws
// Interruption if this process was interrupted: work under way is lost.
void RunInProcesses(size_t count, uint64_t jobs, const ProcessWork& work, Order order,
                    const ProcessEnded& ended);

// Does some of the pieces first .. end - 1, at least the first one and no gaps, and answers for
// them in order.
using RangeWork = std::function<std::vector<nlohmann::ordered_json>(size_t first, size_t end)>;

// The pieces 0 .. count - 1, for work of which a process can do many, one behind the other: each
// process gets a range of them, and others do what it leaves. A process that does only one leaves
// the others to one process each, so that they run at the same time; so does one that dies.
// `jobs` and errors: as RunInProcesses.
void RunInFewProcesses(size_t count, uint64_t jobs, const RangeWork& work,
                       const ProcessEnded& ended);

}  // namespace spyre::cosim
