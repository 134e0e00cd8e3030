// SPDX-License-Identifier: Apache-2.0
// The part of the report that is about a model: times of its layers and tokens, what the time was
// spent on, memory held. Used by report.cc; pure functions. docs/report.md explains every figure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// All launches of one part of a model.
struct ModelPart {
  std::string name;  // "matmul"
  uint64_t launches = 0, ps = 0;
  uint64_t macs = 0, bytes_read = 0, bytes_written = 0;  // of device memory
};

// The step is cut in two ways without a rest: into what is before the first kernel, the layers and
// what is behind the last of them; and into kernels and the gaps around them.
struct ModelTimes {
  uint64_t step_ps = 0;  // the launch: from its first operation queued to its last finished
  uint64_t before_ps = 0, behind_ps = 0;
  std::vector<uint64_t>
      layer_ps;  // from the end of the kernel before the layer to the end of its last
  uint64_t kernels_ps = 0, gaps_ps = 0;
  std::vector<ModelPart> parts;  // in order of their first launch
};

// nullopt: no model, or it did not run to its end.
std::optional<ModelTimes> ModelTimesOf(const RunResult& result);

nlohmann::ordered_json ModelJson(const RunResult& result);  // null: no model
std::string ModelRate(const RunResult& result);             // "1024 new tokens, 90.1 tokens/s"
std::string ModelText(const RunResult& result);             // lines of the summary
std::string ModelTable(const RunResult& result, size_t width);

}  // namespace spyre::cosim
