// SPDX-License-Identifier: Apache-2.0
// What a card counts against itself while it works: corrected and uncorrected words, retries of the
// ring, trainings and errors of the link, time at less than full speed, restarts. A board whose
// tests pass and whose counters move is at its margin.
//
// Registers and configuration space of the physical function only; nothing is reset or cleared. The
// thread of the tests, when none is running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/telemetry.h"

namespace spyre::bringup {

// Counts that only grow, but for what begins again when the card is reset.
struct Health {
  driver::ErrorReading errors;
  uint64_t throttled_ps = 0;
  uint32_t percent = 100;  // of full speed, now
  bool power = false, temperature = false, outside = false;
  uint32_t correctable = 0, uncorrectable = 0;  // status bits of AER that are about the link
  uint64_t operations = 0;                      // of the card since its reset
  uint32_t heartbeat = 0;                       // of its firmware
};

// One thing that has happened between two readings.
struct HealthFinding {
  bool is_failure = false;  // data may be lost; otherwise the card has put it right
  std::string text;         // "2 words of device memory were corrected (channel 3: 2)"
};

// What may happen between two readings of a good card; more is a finding.
struct HealthLimits {
  uint64_t corrected_words = 0, ring_retries = 0, link_trainings = 0;
};

// None if the card does not answer, or not with registers of a Spyre. channels: of its memory.
std::optional<Health> ReadHealth(driver::Transport& card, unsigned channels);

// Pure function. was_reset: the whole card was reset in between on purpose.
std::vector<HealthFinding> CompareHealth(const Health& before, const Health& now, bool was_reset,
                                         const HealthLimits& limits);

}  // namespace spyre::bringup
