// SPDX-License-Identifier: Apache-2.0
// Which keys have an effect on a run, and refusing those that are given and have none: they would
// be passed over without a word. One table for all keys whose effect depends on other keys.
//
// Given is what the file or --set names, also when it repeats a default, and what differs from the
// default however it came there. Parameters of the card, the host and the runtime describe a system
// and are never refused; a switch that turns a part of a run off (workload.functional,
// trace.enabled) leaves the keys of that part alone, so that one --set is enough. Pure functions,
// any thread.
#pragma once

#include <string>

#include "cosim/config/config.h"

namespace spyre::cosim {

// What a configuration runs: the first of a model, a list of operations, a bundle and one operation
// that its keys name.
enum class WorkloadKind : uint8_t {
  kOperation,
  kBundle,
  kOneProgram,  // a list of operations, and so the two below
  kStreams,
  kTaskGraph,
  kModel,
  kAttention,  // one operation with keys of its own
};
WorkloadKind KindOf(const WorkloadConfig& workload);

// Whether there is a list of operations.
bool HasOpList(const WorkloadConfig& workload);

// Whether the key has an effect in this configuration. `key`: complete, "workload.tile.m".
bool HasEffect(const RunConfig& config, const std::string& key);

// Throws Error(kBadInput) naming the first key that is given and has no effect, what it is for, and
// what the configuration runs.
void RefuseKeysWithoutEffect(const RunConfig& config);

}  // namespace spyre::cosim
