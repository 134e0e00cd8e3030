// SPDX-License-Identifier: Apache-2.0
// The Pareto front: points than which none is better in one objective and as good in all others.
// Pure function, any thread.
#pragma once

#include <vector>

namespace spyre::cosim {

// values[i]: the objectives of point i, all of one length, less is better. Returns whether each
// point is on the front; of equal points all are or none. Takes n log n for two objectives, n times
// the length of the front for more.
std::vector<bool> ParetoFront(const std::vector<std::vector<double>>& values);

}  // namespace spyre::cosim
