// SPDX-License-Identifier: Apache-2.0
// A trial, which is a point of a sweep or a question of `what-if`: a configuration that
// is run for its figures, and what came of it. A configuration that cannot run is a result too,
// with the reason.
//
// Plain data and pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cosim/verdict/exit_status.h"

namespace spyre::cosim {

enum class TrialStatus : uint8_t {
  kDone,
  kUnmet,       // it ran, and does not keep what its configuration expects ([expect])
  kWrong,       // it ran, and its numbers are wrong
  kInfeasible,  // the configuration or the compiler refuses it
  kFault,       // the card reported an error or hung
  kError,       // this program is wrong, or the process was killed
};
const char* Name(TrialStatus status);  // "done", "unmet", "wrong", "infeasible", "fault", "error"

// A figure that every trial has which ran to its end, unless it says otherwise.
struct Figure {
  const char* name;
  const char* unit;
  const char* description;
  bool more_is_better = false;
  bool is_energy = false;    // and so depends on card.power.*
  bool may_be_none = false;  // of a workload that has no such thing
};
// Numbers, in the order of TrialResult::numbers; then texts.
const std::vector<Figure>& NumberFigures();
const std::vector<Figure>& TextFigures();
// Position among NumberFigures(). Throws Error(kBadInput), naming the nearest, if there is none.
size_t NumberFigure(const std::string& name);
// "328.926 us", "24.02 MiB", "9312.4 uJ".
std::string FigureText(const Figure& figure, double value);

// A kernel of the program that ran, as report.json ranks it (cosim/report/kernel_ranking.h).
struct TrialKernel {
  std::string name;
  std::string parts;  // "layers.0.q and 3 more"; "": none
  uint64_t launches = 0;
  double device_ns = 0;  // of all launches
  std::string bound_by;  // a resource; "": not known
  std::string half_of;   // the need of which half as much would gain most; "": not known
  double estimate = 0;   // what it would gain: a share of launch_ns
};

struct TrialResult {
  TrialStatus status = TrialStatus::kError;
  std::string reason;  // why it is not kDone
  // One for each of NumberFigures(), not a number: there is none; empty: it did not end.
  std::vector<double> numbers;
  std::vector<std::string> texts;  // one for each of TextFigures(); empty likewise
  double wall_s = 0;               // of the host; differs from run to run
  // What the configuration expects ([expect]) and a judged trial did not show.
  std::vector<std::string> unmet;
  std::vector<TrialKernel> kernels;  // only if they were asked for; the largest estimate first

  bool ended() const { return !numbers.empty(); }
  // It has ended, and nobody found a wrong number.
  bool right() const { return status == TrialStatus::kDone || status == TrialStatus::kUnmet; }
  // A figure of a trial that has ended.
  double Number(const std::string& figure) const { return numbers[NumberFigure(figure)]; }
};

// The exit status of a command whose only trial this is.
ExitStatus ExitStatusOf(TrialStatus status);
// Throws the error that kept a trial from its end.
void RequireEnded(const TrialResult& result);

// {"status": ..., "reason": ..., FIGURE: ..., "wall_s": ...}; figures of a trial that did not end
// are not there, nor are those of which there is none.
nlohmann::ordered_json ToJson(const TrialResult& result);
// Throws Error(kBadInput) if a field is missing or has the wrong type.
TrialResult TrialResultOf(const nlohmann::ordered_json& json);

}  // namespace spyre::cosim
