// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/processes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/json_text.h"
#include "cosim/host/child_process.h"
#include "cosim/verdict/failure.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

Json AnswerOf(const ChildResult& child) {
  if (child.error) return ToJson(Failure{kBugStatus, "Crashed", "", child.error->what()});
  return JsonOf(child.bytes);
}

}  // namespace

Json AnswerOrFailure(const std::function<Json()>& work) {
  try {
    return work();
  } catch (const std::exception&) {
    return ToJson(CurrentFailure());
  }
}

void RunInProcesses(size_t count, uint64_t jobs, const ProcessWork& work, Order order,
                    const ProcessEnded& ended) {
  std::map<size_t, Json> waiting;  // for those before them
  size_t next = 0;
  ForEachInChildren(
      count, jobs > 0 ? jobs : std::max(1u, std::thread::hardware_concurrency()),
      [&](size_t number) {
        // Names of files need not be UTF-8.
        return PrintableJson(AnswerOrFailure([&] { return work(number); }));
      },
      [&](size_t number, const ChildResult& child) {
        if (order == Order::kAsTheyEnd) return ended(number, AnswerOf(child));
        waiting.emplace(number, AnswerOf(child));
        for (auto first = waiting.begin(); first != waiting.end() && first->first == next; ++next) {
          ended(next, std::move(first->second));
          first = waiting.erase(first);
        }
      });
}

}  // namespace spyre::cosim
