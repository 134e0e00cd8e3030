// SPDX-License-Identifier: Apache-2.0
// The rules that a trace is held to: RULES.toml of `trace check`. docs/trace-rules.md has every
// kind and key with examples.
//
// Pure functions, any thread. Throws Error for a file that is not TOML or says what is not a rule,
// naming the file, the rule and the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spyre::trace {

// Says which slices a rule is about: every member that is not empty must be found in what it is
// named after.
struct SliceMatch {
  std::string track;     // part of "process/track"
  std::string name;      // part of the slice's name
  std::string category;  // "control"; the whole name

  std::string ToString() const;  // "track \"card/dma in\", name \"burst\""
};

// A number must be at least `least` and at most `most`.
struct Limits {
  std::optional<double> least, most;
  bool empty() const { return !least && !most; }
};

struct Rule {
  enum class Kind { kKernel, kUnit, kWait, kCounter, kWindow, kOrder, kOverlap, kBaseline };
  Kind kind = Kind::kKernel;
  std::string name;  // for people; made from the rule if it gives none

  SliceMatch match;  // kernel: name; unit, wait: track and name; order, overlap: the first slices
  SliceMatch other;  // order: what comes then; overlap: with what
  std::string counter;

  Limits time_us;     // kernel, window: the time of each; wait: of all together, the mean of units
  Limits percent;     // unit, wait: of the launches; overlap: of each slice; counter: its mean
  Limits peak;        // counter: its largest value
  Limits count;       // kernel: how many
  Limits host, idle;  // window: percent of it
  std::vector<std::string> bound_by;  // kernel, window: one of these
  uint64_t shift = 0;                 // order, overlap: slice i of the first with i - shift

  std::string file;              // baseline: a trace
  double tolerance_percent = 0;  // baseline: how much longer anything may take
};

// path: of the file, for messages; files that rules name are relative to it.
std::vector<Rule> ReadRules(const std::string& path);
std::vector<Rule> ParseRules(const std::string& text, const std::string& path);

}  // namespace spyre::trace
