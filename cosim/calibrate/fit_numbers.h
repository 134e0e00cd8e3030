// SPDX-License-Identifier: Apache-2.0
// Least squares over whole positive numbers, in their logarithms: a step is a ratio, whatever a
// number's unit. Pure functions, any thread, and the same result each time.
//
// What is made small is the sum over points of the squared log of simulated / measured, of points
// that are far off the size instead of the square (Huber), so that a wrong measurement does not
// pull the rest along; and, much more weakly, how far each number is from where it began. Steps are
// those of Levenberg and Marquardt, derivatives are differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace spyre::cosim {

struct StartingNumber {
  uint64_t value = 1;  // above 0
  uint64_t min = 1, max = 1;
};

// The log of simulated / measured of every point at these values.
using LogErrors = std::function<std::vector<double>(const std::vector<uint64_t>& values)>;

// [number][point]: by how much of itself the point's time changes for a small change of the number:
// 0.5 where one percent more makes the time half a percent longer.
std::vector<std::vector<double>> Elasticities(const std::vector<StartingNumber>& numbers,
                                              const std::vector<uint64_t>& values,
                                              const LogErrors& errors);

struct NumbersFit {
  std::vector<uint64_t> values;
  // Of each number, the standard deviation of its log as the points determine it, by what is left
  // of their errors.
  std::vector<double> deviations;
};
NumbersFit FitNumbers(const std::vector<StartingNumber>& numbers, const LogErrors& errors);

}  // namespace spyre::cosim
