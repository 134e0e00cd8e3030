// SPDX-License-Identifier: Apache-2.0
// Random programs of many streams, what they must leave in memory, and what orders their
// operations: the other side of the property tests of streams, events and hazards.
//
// A program is a list of calls in the order of the host. Work touches whole sticks of one piece of
// memory. The order is worked out from its definition, by pairs, without anything of the runtime.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "base/ranges.h"

namespace spyre::test {

inline constexpr uint32_t kStick = 128;

struct Step {
  enum class Kind { kIn, kFill, kOut, kKernel, kRecord, kWait, kSyncStream, kSyncEvent };
  Kind kind{};
  uint32_t stream = 0;
  // Sticks. kIn, kFill: `to`; kOut: `from`; kKernel: each stick of `to` becomes a mixture of itself
  // and the one of `from`.
  uint32_t from = 0, to = 0, count = 0;
  uint32_t event = 0;  // kRecord, kWait, kSyncEvent
  uint64_t value = 0;  // what is written depends on it

  bool works() const { return kind <= Kind::kKernel; }
  bool Reads(uint32_t stick) const {
    if (kind == Kind::kKernel && stick >= to && stick < to + count) return true;
    return (kind == Kind::kOut || kind == Kind::kKernel) && stick >= from && stick < from + count;
  }
  bool Writes(uint32_t stick) const {
    return works() && kind != Kind::kOut && stick >= to && stick < to + count;
  }
};

struct RandomProgram {
  uint32_t sticks = 0;
  uint32_t events = 0;
  std::vector<uint32_t> streams;
  std::vector<Step> steps;
};

// What is ordered before what.
class ProgramOrder {
 public:
  static constexpr size_t kMaxSteps = 512;

  explicit ProgramOrder(const RandomProgram& program) : before_(program.steps.size()) {
    std::map<uint32_t, std::deque<size_t>> queues;
    std::map<uint32_t, size_t> last_of_stream;
    std::map<uint32_t, size_t> record_of;  // by event
    std::vector<std::vector<size_t>> after(program.steps.size());
    std::vector<size_t> syncs;
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (program.steps[i].kind == Step::Kind::kRecord) record_of[program.steps[i].event] = i;
    }
    std::vector<bool> placed(program.steps.size());
    const auto place = [&](size_t i) {
      for (const size_t earlier : after[i]) (before_[i] |= before_[earlier]).set(earlier);
      placed[i] = true;
      placed_.push_back(i);
    };
    for (size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (!syncs.empty()) after[i].push_back(syncs.back());
      if (step.kind == Step::Kind::kSyncEvent) after[i].push_back(record_of.at(step.event));
      const auto last = last_of_stream.find(step.stream);
      const bool host = step.kind == Step::Kind::kSyncStream || step.kind == Step::Kind::kSyncEvent;
      if (step.kind != Step::Kind::kSyncEvent && last != last_of_stream.end())
        after[i].push_back(last->second);
      if (host) {
        syncs.push_back(i);
        place(i);
        continue;
      }
      if (step.kind == Step::Kind::kWait) after[i].push_back(record_of.at(step.event));
      last_of_stream[step.stream] = i;
      queues[step.stream].push_back(i);
      for (bool moved = true; moved;) {
        moved = false;
        for (auto& [stream, queue] : queues) {
          while (!queue.empty()) {
            const size_t next = queue.front();
            const Step& head = program.steps[next];
            if (head.kind == Step::Kind::kWait && !placed[record_of.at(head.event)]) break;
            place(next);
            queue.pop_front();
            moved = true;
          }
        }
      }
    }
  }

  bool Before(size_t a, size_t b) const { return before_[b].test(a); }
  bool Ordered(size_t a, size_t b) const { return Before(a, b) || Before(b, a); }
  // All steps, so that each comes after what is ordered before it.
  const std::vector<size_t>& sequence() const { return placed_; }

 private:
  std::vector<std::bitset<kMaxSteps>> before_;
  std::vector<size_t> placed_;
};

// A hazard as the tests compare it: earlier and later step, whether each writes, and what they
// share.
struct ExpectedHazard {
  size_t earlier, later;
  bool earlier_writes, later_writes;
  uint32_t first_stick, sticks;

  bool operator==(const ExpectedHazard& other) const { return Key() == other.Key(); }
  bool operator<(const ExpectedHazard& other) const { return Key() < other.Key(); }
  std::tuple<size_t, size_t, bool, bool, uint32_t, uint32_t> Key() const {
    return {earlier, later, earlier_writes, later_writes, first_stick, sticks};
  }
};

// Every pair of conflicting accesses that nothing orders, of two steps in sequence. `nearest`:
// without those that a step in between stands for (access_history.h has the rule).
inline std::set<ExpectedHazard> HazardsOf(const RandomProgram& program, const ProgramOrder& order,
                                          bool nearest) {
  std::set<ExpectedHazard> hazards;
  const auto& sequence = order.sequence();
  for (size_t l = 0; l < sequence.size(); ++l) {
    const Step& later = program.steps[sequence[l]];
    for (size_t e = 0; e < l; ++e) {
      const Step& earlier = program.steps[sequence[e]];
      if (earlier.stream == later.stream || !earlier.works() || !later.works()) continue;
      if (order.Ordered(sequence[e], sequence[l])) continue;
      std::map<std::pair<bool, bool>, ExpectedHazard> found;
      for (uint32_t stick = 0; stick < program.sticks; ++stick) {
        for (const bool earlier_writes : {false, true}) {
          if (!(earlier_writes ? earlier.Writes(stick) : earlier.Reads(stick))) continue;
          bool hidden = nearest && !earlier_writes && earlier.Writes(stick);
          for (size_t m = e + 1; nearest && m < l && !hidden; ++m) {
            const Step& between = program.steps[sequence[m]];
            hidden = between.works() && order.Before(sequence[e], sequence[m]) &&
                     (between.Writes(stick) || (!earlier_writes && between.Reads(stick)));
          }
          if (hidden) continue;
          for (const bool later_writes : {false, true}) {
            if (!(later_writes ? later.Writes(stick) : later.Reads(stick))) continue;
            if (!earlier_writes && !later_writes) continue;
            ++found
                  .try_emplace({earlier_writes, later_writes},
                               ExpectedHazard{sequence[e], sequence[l], earlier_writes,
                                              later_writes, stick, 0})
                  .first->second.sticks;
          }
        }
      }
      for (const auto& [kind, hazard] : found) hazards.insert(hazard);
    }
  }
  return hazards;
}

// What the program leaves: the memory, and what each kOut has read, by step.
struct ProgramResult {
  std::vector<uint8_t> memory;
  std::map<size_t, std::vector<uint8_t>> outputs;

  bool operator==(const ProgramResult& other) const {
    return memory == other.memory && outputs == other.outputs;
  }
};

inline std::vector<uint8_t> HostData(const Step& step) {
  std::vector<uint8_t> data(size_t{step.count} * kStick);
  std::mt19937_64 random(step.value);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(random() >> 24);
  return data;
}
inline std::vector<uint8_t> Mix(const Step& step, std::vector<uint8_t> to,
                                const std::vector<uint8_t>& from) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<uint8_t>(3 * to[i] + from[i] + step.value);
  return to;
}

// `sequence`: steps in the order of execution.
inline ProgramResult Execute(const RandomProgram& program, const std::vector<size_t>& sequence) {
  ProgramResult result;
  result.memory.resize(size_t{program.sticks} * kStick);
  const auto at = [&](uint32_t stick) { return result.memory.begin() + size_t{stick} * kStick; };
  for (const size_t i : sequence) {
    const Step& step = program.steps[i];
    if (!step.works()) continue;
    std::vector<uint8_t> data;
    const std::vector<uint8_t> from(at(step.from), at(step.from + step.count));
    const std::vector<uint8_t> to(at(step.to), at(step.to + step.count));
    if (step.kind == Step::Kind::kOut) {
      result.outputs[i] = from;
      continue;
    }
    if (step.kind == Step::Kind::kKernel) data = Mix(step, to, from);
    if (step.kind == Step::Kind::kIn) data = HostData(step);
    if (step.kind == Step::Kind::kFill) {
      data.resize(to.size());
      for (size_t b = 0; b < data.size(); ++b)
        data[b] = static_cast<uint8_t>(step.value >> b % 8 * 8);
    }
    std::copy(data.begin(), data.end(), at(step.to));
  }
  return result;
}
inline ProgramResult Execute(const RandomProgram& program, const ProgramOrder& order) {
  return Execute(program, order.sequence());
}

struct ProgramShape {
  uint32_t steps = 40;
  bool synchronize = true;     // some host synchronisation
  bool wait_first = false;     // some events are waited for before they are recorded
  uint32_t sync_percent = 25;  // of steps that are events
};

// Work on random streams with some order between it, mostly too little.
inline RandomProgram MakeProgram(uint32_t seed, const ProgramShape& shape = {}) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  RandomProgram program;
  program.sticks = 4 + below(20);
  // Of normal and of high priority.
  for (const uint32_t stream : {0u, 1u, 2u, 33u, 34u}) program.streams.push_back(stream);
  program.streams.resize(2 + below(4));
  std::vector<uint32_t> recorded;
  // Events that are still to be recorded, each by the first stream, and the streams and events that
  // come after them: the first stream must not be among those.
  std::set<uint32_t> unrecorded;
  std::map<uint32_t, std::set<uint32_t>> stream_after, event_after;
  const auto free = [&](const std::set<uint32_t>& events) {
    return NoneFits(events, [&](uint32_t event) { return unrecorded.count(event) != 0; });
  };
  const auto record = [&](uint32_t stream, uint32_t event) {
    program.steps.push_back({Step::Kind::kRecord, stream, 0, 0, 0, event, 0});
    event_after[event] = stream_after[stream];
    recorded.push_back(event);
    unrecorded.erase(event);
  };
  while (program.steps.size() < shape.steps) {
    Step step;
    step.stream = program.streams[below(static_cast<uint32_t>(program.streams.size()))];
    step.value = random() | uint64_t{random()} << 32;
    const uint32_t first = program.streams.front();
    if (below(100) >= shape.sync_percent) {
      step.kind = static_cast<Step::Kind>(below(4));
      step.count = 1 + below(std::min(4u, program.sticks));
      step.from = below(program.sticks - step.count + 1);
      step.to = below(program.sticks - step.count + 1);
      program.steps.push_back(step);
      continue;
    }
    const uint32_t choice = below(10);
    if (choice < 4) {
      record(step.stream, program.events++);
    } else if (choice < 8 && !recorded.empty()) {
      step.kind = Step::Kind::kWait;
      step.event = recorded[below(static_cast<uint32_t>(recorded.size()))];
      if (step.stream == first && !free(event_after[step.event])) continue;
      stream_after[step.stream].insert(event_after[step.event].begin(),
                                       event_after[step.event].end());
      program.steps.push_back(step);
    } else if (choice == 8 && shape.wait_first && step.stream != first) {
      step.kind = Step::Kind::kWait;
      step.event = program.events++;
      unrecorded.insert(step.event);
      stream_after[step.stream].insert(step.event);
      program.steps.push_back(step);
    } else if (!unrecorded.empty()) {
      record(first, *unrecorded.begin());
    } else if (shape.synchronize && below(3) == 0) {
      const bool stream = recorded.empty() || below(2) == 0;
      step.kind = stream ? Step::Kind::kSyncStream : Step::Kind::kSyncEvent;
      if (!stream) step.event = recorded[below(static_cast<uint32_t>(recorded.size()))];
      program.steps.push_back(step);
    }
  }
  while (!unrecorded.empty()) record(program.streams.front(), *unrecorded.begin());
  return program;
}

// The same program with an event for every hazard. For programs that record before they wait.
inline RandomProgram WithEvents(const RandomProgram& program) {
  RandomProgram ordered = program;
  ordered.steps.clear();
  for (const Step& step : program.steps) {
    if (step.works()) {
      RandomProgram trial = ordered;
      trial.steps.push_back(step);
      std::set<uint32_t> streams;
      for (const ExpectedHazard& hazard : HazardsOf(trial, ProgramOrder(trial), false)) {
        streams.insert(trial.steps[hazard.earlier].stream);
      }
      for (const uint32_t stream : streams) {
        ordered.steps.push_back({Step::Kind::kRecord, stream, 0, 0, 0, ordered.events, 0});
        ordered.steps.push_back({Step::Kind::kWait, step.stream, 0, 0, 0, ordered.events, 0});
        ++ordered.events;
      }
    }
    ordered.steps.push_back(step);
  }
  return ordered;
}

}  // namespace spyre::test
