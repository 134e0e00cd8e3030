// SPDX-License-Identifier: Apache-2.0
// Data of a workload's inputs: from files, or generated. Reads files; any thread, runs on all
// processors. Errors: Error(kBadInput) naming the file.
#pragma once

#include <cstdint>

#include "cosim/tensors/host_data.h"
#include "cosim/tensors/workload_tensor.h"

namespace spyre::cosim {

enum class Distribution : uint8_t { kUniform, kNormal, kPositive, kSmall };

// How inputs are generated.
struct InputOptions {
  Distribution distribution = Distribution::kUniform;
  uint64_t seed = 1;
  // Of several cards; what all of them have comes from the seed of all.
  uint64_t seed_of_all = 1;
  size_t card = 0, cards = 1;
};

// From the tensor's file, its data, its constant, or generated from the seed. The same element has
// the same value whatever the size of the machine. Of a whole that several cards have parts of, the
// part; the whole is the same for any number of cards.
HostData LoadInput(const InputOptions& options, const WorkloadTensor& tensor);

}  // namespace spyre::cosim
