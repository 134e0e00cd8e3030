// SPDX-License-Identifier: Apache-2.0
// Whose code a kernel is: how a core goes through its share of an operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::compiler {

enum class Schedule : uint8_t {
  kOwn,     // as this compiler would have it: large tiles, stores while the array works
  kPublic,  // as the closed compiler is seen to do it (docs/compiler.md): the times of the real
            // card
};
// What everything that says nothing of it gets: the times of a card as its users find it.
inline constexpr Schedule kDefaultSchedule = Schedule::kPublic;
// "own", "public", in the order of the enumeration.
inline const std::vector<std::string>& ScheduleNames() {
  static const std::vector<std::string> names = {"own", "public"};
  return names;
}
inline const std::string& Name(Schedule schedule) {
  return ScheduleNames()[static_cast<size_t>(schedule)];
}

}  // namespace spyre::compiler
