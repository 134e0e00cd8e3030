// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/processes.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
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

size_t JobsOf(uint64_t jobs) {
  return jobs > 0 ? jobs : std::max(1u, std::thread::hardware_concurrency());
}

struct Range {
  size_t first, end;
};

// Short enough for every job to get several, so that all end at about the same time.
std::deque<Range> RangesOf(size_t count, size_t jobs) {
  constexpr size_t kOfEachJob = 8, kLongest = 512;
  const size_t length = std::clamp<size_t>(count / jobs / kOfEachJob, 1, kLongest);
  std::deque<Range> ranges;
  for (size_t first = 0; first < count; first += length)
    ranges.push_back({first, std::min(first + length, count)});
  return ranges;
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
      count, JobsOf(jobs),
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

void RunInFewProcesses(size_t count, uint64_t jobs, const RangeWork& work,
                       const ProcessEnded& ended) {
  std::deque<Range> waiting = RangesOf(count, JobsOf(jobs));
  std::vector<Range> started;
  const auto next = [&]() -> std::optional<size_t> {
    if (waiting.empty()) return std::nullopt;
    started.push_back(waiting.front());
    waiting.pop_front();
    return started.size() - 1;
  };
  ForEachInChildren(
      next, JobsOf(jobs),
      [&](size_t number) {
        return PrintableJson(Json(work(started[number].first, started[number].end)));
      },
      [&](size_t number, const ChildResult& child) {
        Range left = started[number];
        Json answers = child.error ? Json::array() : AnswerOf(child);
        if (child.error && left.end - left.first == 1) answers.push_back(AnswerOf(child));
        for (Json& answer : answers) ended(left.first++, std::move(answer));
        if (answers.size() > 1 && left.first < left.end) {
          waiting.push_front(left);
          return;
        }
        for (; left.first < left.end; --left.end) waiting.push_front({left.end - 1, left.end});
      });
}

}  // namespace spyre::cosim
