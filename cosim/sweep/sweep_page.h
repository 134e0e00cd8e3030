// SPDX-License-Identifier: Apache-2.0
// The results of a sweep as one self-contained page: scatter plot, heat map, Pareto front, parallel
// coordinates and the table of points. It needs no network. Pure function, any thread.
#pragma once

#include <string>

#include "cosim/sweep/results.h"

namespace spyre::cosim {

std::string SweepPage(const SweepResults& results);

}  // namespace spyre::cosim
