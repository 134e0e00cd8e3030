// SPDX-License-Identifier: Apache-2.0
// What a model's run is made of, for the report. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::cosim {

// One launch.
struct ModelTask {
  int layer = -1;    // -1: behind the last layer
  std::string part;  // "matmul", "attention", ...: what its kernel is for
};

struct ModelSummary {
  uint64_t layers = 0, batch = 0, sequence = 0, context = 0, vocabulary = 0;
  uint64_t parameters = 0;  // elements of the weights
  // Held in device memory, as allocated. Tables: rotary embedding, mask and constants.
  uint64_t weight_bytes = 0, cache_bytes = 0, activation_bytes = 0, table_bytes = 0;
  std::vector<ModelTask> tasks;  // in the order in which they are launched

  uint64_t tokens() const { return batch * sequence; }  // new ones
};

}  // namespace spyre::cosim
