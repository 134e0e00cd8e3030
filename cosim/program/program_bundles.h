// SPDX-License-Identifier: Apache-2.0
// The bundles that a program's kernels were compiled from, as its compiler has kept them
// (sdk/kept/kept_bundle.h). Single thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/bundle_workload.h"

namespace spyre::cosim {

struct ProgramBundle {
  std::string compiled;     // the directory in which its compiler has kept it
  LaunchedBundle launched;  // each argument is the image of its sticks
  // What PyTorch says of its operations, "aten.add.Tensor (model.py:12)", each once.
  std::vector<std::string> origins;
};

class ProgramBundles {
 public:
  // config: of the card. out: where the bundles are.
  ProgramBundles(const RunConfig& config, std::string out)
      : config_(config), out_(std::move(out)) {}

  // Of the program that was copied to the card; null: its bundle was not kept, or `why` says what
  // is wrong with it. Lives as long as this.
  const ProgramBundle* Find(const uint8_t* image, uint64_t bytes, std::string& why);

 private:
  const RunConfig& config_;
  const std::string out_;
  std::map<std::string, std::unique_ptr<ProgramBundle>> bundles_;  // by digest
};

}  // namespace spyre::cosim
