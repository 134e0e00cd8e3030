// SPDX-License-Identifier: Apache-2.0
// `what-if --resources`: what bounds a run, asked of the model instead of its critical path. Every
// resource that a critical path can name (traces/path_causes.h) is made faster by its parameters,
// one resource at a time, and the run is simulated again: what gains most bounds it. Call from a
// process with one thread that has made no SystemC object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/verdict.h"
#include "cosim/trials/run_trials.h"
#include "cosim/what_if/what_if.h"

namespace spyre::cosim {

struct ResourceParameters {
  const char* resource;  // as in path_causes.h
  std::vector<std::string> keys;
};
const std::vector<ResourceParameters>& Resources();

// As of --set: the resource faster by the factor, on the card of the configuration. Empty: none of
// its parameters can become faster.
std::vector<std::string> FasterSets(const RunConfig& config, const ResourceParameters& resource,
                                    double factor);

struct ResourceAnswer {
  std::string resource;
  std::vector<std::string> sets;
  TrialResult result;
  double gain = 0;  // share of the launch window that it takes off
};
struct BoundAnswer {
  std::string config;
  double factor = 2;
  TrialResult base;
  std::vector<ResourceAnswer> resources;  // the largest gain first

  // The resource that gains most; "none": no resource alone gains 3 %.
  std::string BoundBy() const;
};

// options.parameters, figure and pairs do not count. Throws as AskWhatIf.
BoundAnswer AskResources(const WhatIfOptions& options, const ConfigReader& reader,
                         std::ostream& messages);

nlohmann::ordered_json ToJson(const BoundAnswer& answer);
std::string ToText(const BoundAnswer& answer, size_t width);

}  // namespace spyre::cosim
