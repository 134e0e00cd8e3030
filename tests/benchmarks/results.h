// SPDX-License-Identifier: Apache-2.0
// What a run of the benchmarks measured, as the JSON of Google Benchmark has it
// (`--benchmark_out`), and two runs side by side. Pure functions, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::benchmarks {

struct Measurement {
  std::string name;
  // Of one iteration; the shortest of several repetitions. CPU time is that of the main thread.
  double wall_ns = 0, cpu_ns = 0;
  std::map<std::string, double> counters;  // "slowdown", "instructions", ...

  std::optional<double> Counter(const std::string& counter) const;
};

struct Results {
  std::map<std::string, std::string> context;  // the machine
  std::vector<Measurement> measurements;       // in order of first appearance; failed ones left out
};

// The counter that Counted (instructions.h) sets.
inline constexpr const char* kInstructions = "instructions";

// Throws Error(kBadInput), naming the input, if it is not the output of a run.
Results ParseResults(std::string_view json, const std::string& name);

struct Ratio {
  std::string name;
  double wall = 0, cpu = 0;  // later / earlier
  std::optional<double> instructions;
};

struct Comparison {
  std::vector<Ratio> ratios;  // of what both runs have, in the order of the later one
  // Geometric means; empty if there is nothing to take them of.
  std::optional<double> wall, cpu, instructions;
  std::vector<std::string> only_earlier, only_later;
};

// By name.
Comparison Compare(const Results& earlier, const Results& later);
std::string ToText(const Comparison& comparison);

}  // namespace spyre::benchmarks
