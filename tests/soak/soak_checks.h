// SPDX-License-Identifier: Apache-2.0
// What is looked at while a card is in use for long, and what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::cosim {

// Taken when nothing is outstanding.
struct SoakSample {
  uint64_t time_ps = 0;
  // What this process and its bookkeeping hold.
  uint64_t resident_bytes = 0;
  uint64_t host_mappings = 0;
  uint64_t allocations = 0;  // live, of all functions
  uint64_t outstanding = 0;  // operations
  bool card_is_idle = true;
  // Since the beginning: entries that were given to the card, those of them that were answered, and
  // those that its firmware has counted; and the same of bytes that copies move. What a reset drops
  // was given, and may have been counted, but is never answered.
  uint64_t given = 0, answered = 0, counted = 0;
  uint64_t given_bytes = 0, answered_bytes = 0, counted_bytes = 0;
  uint64_t device_ps = 0;     // the card's clock, read just after time_ps
  uint64_t reference_ps = 0;  // what a piece of work, always the same, took on the idle card
};

// Sentences, each about one thing; empty: nothing is wrong.
std::vector<std::string> JudgeSoak(const std::vector<SoakSample>& samples);

// Of this process, in bytes.
uint64_t ResidentBytes();

}  // namespace spyre::cosim
