// SPDX-License-Identifier: Apache-2.0
// Which numbers of a configuration `what-if` asks about, and what "faster" means for each: a clock
// or a rate is faster when it is larger, a latency when it is smaller. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/config/direction.h"

namespace spyre::cosim {

// What the effect of a parameter is looked for in.
enum class Effect : uint8_t {
  kTime,
  kEnergy,  // depends on time, and on card.power.*
};

// A number that is derived from a parameter and changes with it: in proportion to its inverse.
struct Companion {
  std::string key;
  uint64_t value = 0;
};

struct Parameter {
  std::string key;
  uint64_t value = 0, min = 0, max = 0;
  std::string unit, source, description;
  Direction direction = Direction::kEither;
  std::vector<Companion> companions;
};

struct LeftOut {
  std::string key;
  std::string reason;
};

struct Parameters {
  std::vector<Parameter> asked;
  std::vector<LeftOut> left_out;
};

// wanted: keys, or the beginnings of keys before a dot ("card.memory"); empty: every number of
// [card] and [host] that is a time, a rate or a threshold. Numbers that say what the card is, such
// as sizes, are left out with the reason, and so are those that this configuration does not use.
// Energies and powers are asked only about energy; they are "faster" when they are smaller.
// Throws Error(kBadInput) for a wanted key that is not known, or that is left out.
Parameters ParametersOf(const RunConfig& config, const std::vector<std::string>& wanted,
                        Effect effect = Effect::kTime);

// The value made faster by a factor (kEither: larger), or slower, as near as a whole number in the
// range of the key comes; nothing: that is the value itself.
std::optional<uint64_t> Faster(const Parameter& parameter, double factor);
std::optional<uint64_t> Slower(const Parameter& parameter, double factor);

// As of --set: the parameter at another value, and its companions.
std::vector<std::string> SetsOf(const Parameter& parameter, uint64_t value);

}  // namespace spyre::cosim
