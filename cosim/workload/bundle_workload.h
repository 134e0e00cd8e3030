// SPDX-License-Identifier: Apache-2.0
// Bundles as workloads: which tensors and values a launch needs, and what they are.
// Reads files; any thread. Errors: Error(kBadInput) naming the bundle, the argument, what it has
// and what would be right.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cosim/arguments/argument_shapes.h"
#include "cosim/config/config.h"
#include "cosim/reference/launched_bundle.h"
#include "cosim/workload/workload.h"
#include "runtime/compiler/codegen/bundle_kernel.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

// What a bundle is resolved with beside its shapes.
struct BundleSettings {
  bool alone = false;            // nothing ran before it: what it expects in LX is an argument more
  bool default_layouts = false;  // the shapes have them, and may have to be sparse instead
  std::vector<std::string> files;  // one for each input; empty: none
  NumberTable dims;                // values of its kDimension arguments, in elements
  int cores = kMaxCores;           // of the card
  uint64_t lx_bytes = 0;           // that its program may use on each core
  uint64_t image_bytes = 0;        // that its program may have
  bool allow_long_spans = false;   // a core may reach more than 256 MiB of a tensor
  bool timing_only = false;        // its cores price the work but move no data
  compiler::Schedule schedule = compiler::kDefaultSchedule;
};

// Those of the card and of the schedule.
BundleSettings BundleSettingsOf(const RunConfig& config);

struct BundlePlan {
  std::string description;
  LaunchedBundle launched;
  compiler::BundleOptions options;
  std::vector<std::string> warnings;
  std::vector<compiler::Decision> decisions;
  std::shared_ptr<const compiler::Kernel> kernel;          // null: not compiled yet
  std::shared_ptr<const compiler::KernelSource> source;    // null: it was not emitted here
  std::shared_ptr<const KernelFacts> facts;                // null: likewise
  std::shared_ptr<const compiler::NamedGraph> operations;  // null: it was not made from a list
};

// Binds the bundle's segments. shapes: one for each tensor argument, in order; empty: unknown. Then
// the addresses tell them, or each argument is the image of its sticks.
BundlePlan PlanBundle(const BundleSettings& settings, compiler::Bundle bundle,
                      std::optional<std::vector<ArgumentShape>> shapes);

compiler::Kernel CompileBundleKernel(const BundlePlan& plan);

class BundleWorkload final : public Workload {
 public:
  explicit BundleWorkload(BundlePlan plan) : plan_(std::move(plan)) {}

  const std::string& description() const override { return plan_.description; }
  const std::vector<WorkloadTensor>& tensors() const override { return plan_.launched.tensors; }
  CompiledWorkload Compile(const std::string& directory) override;
  std::unique_ptr<WorkloadRun> Open(flex::RuntimeContext& context,
                                    RunTensors& tensors) const override;
  Verification Verify(const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                      const CheckOptions& options) const override;
  WorkloadWork Work() const override;
  compiler::Kernel CompileKernel() const override;
  std::vector<KernelFacts> facts() const override {
    return plan_.facts == nullptr ? std::vector<KernelFacts>{} : std::vector{*plan_.facts};
  }
  const compiler::KernelSource* source() const override { return plan_.source.get(); }
  const std::vector<std::string>& warnings() const override { return plan_.warnings; }
  const std::vector<compiler::Decision>& decisions() const override { return plan_.decisions; }

 private:
  BundlePlan plan_;
  std::string directory_;  // from Compile on
};

// The workload that the configuration's keys of a bundle describe. workload.bundle is an SDSC
// directory, or OpSpec source (a .py or .txt file), which is emitted as a bundle with symbolic
// arguments.
std::unique_ptr<Workload> ResolveBundle(const RunConfig& config);

}  // namespace spyre::cosim
