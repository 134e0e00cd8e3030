// SPDX-License-Identifier: Apache-2.0
// What came of the faults that a configuration declares, known when the run is over: what blocks of
// the card have masked, corrected or detected themselves, what the driver has met, and what nobody
// has noticed. Plain data, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/fault/fault_injector.h"

namespace spyre::cosim {

// An injection, or a [[fault]] that never struck.
struct FaultRecord {
  size_t number = 0;  // of the [[fault]], from 1
  std::string kind;
  bool struck = false;
  std::string place;
  uint64_t time_ps = 0;
  model::FaultOutcome outcome{};  // not pending
  std::string by;                 // who masked, corrected or detected it, or why it is silent
  uint64_t after_ps = 0;          // from the injection to that
};

// How the run went, as far as it tells of faults.
struct RunEnd {
  std::string error;              // the first line of what ended it; "": it came to its end
  uint64_t time_ps = 0;           // of its end
  bool has_data = true;           // false: times only
  bool compared = false;          // results with their reference
  bool right = false;             // ... and they are right
  bool missed_interrupt = false;  // the driver has found a response that no interrupt told it of
  bool torn_response = false;     // the driver has read a response again until it was whole
};

// In the order of their times; those that never struck come last.
std::vector<FaultRecord> SettleFaults(const model::FaultInjector& injector, const RunEnd& end);

// "memory_double_bit at channel 3, bank 1, row 7, at 12.345 us: detected by the code of the memory
// after 0.120 us", one a line, or "" if there is none.
std::string FaultLines(const std::vector<FaultRecord>& faults);

}  // namespace spyre::cosim
