// SPDX-License-Identifier: Apache-2.0
// A workload on one function of a card, from compiling it to its verified tensors: what a session
// does for each function that it opens. It fills the part of a RunResult that is this function's;
// the card's part is the session's. Single thread.
//
//   FunctionRun run(config, out_dir, report, result);
//   run.Compile();
//   run.Open(card, 1, options);     // allocates the tensors
//   run.LoadInputs();
//   run.Prepare();                  // inputs and programs are on the card
//   run.Launch();
//   run.CopyOutputs();
//   run.Finish();
//   run.Close();                    // the card is no longer needed
//   run.Verify();
//   run.WriteTensors();
//
// Errors: of the folders below. Every function that works on the card waits for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/session/repeated_launch.h"
#include "cosim/session/run_result.h"
#include "cosim/workload/workload.h"
#include "driver/transport.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::cosim {

class FunctionRun {
 public:
  // Told how far a phase is, often; done of total, total 0: not known.
  using Report = std::function<void(const char* phase, uint64_t done, uint64_t total)>;
  // Resolves the workload. Files go to `out_dir`, which must exist when Compile is called. `result`
  // must outlive this.
  FunctionRun(const RunConfig& config, std::string out_dir, Report report, RunResult& result);
  ~FunctionRun();

  const Workload& workload() const { return *workload_; }
  const CompiledWorkload& compiled() const { return compiled_; }
  bool is_open() const { return context_ != nullptr; }
  flex::RuntimeContext& context() { return *context_; }  // while it is open
  RunTensors& tensors() { return tensors_; }

  // Names of the files in `out_dir` that a run writes, or would be taken for some of its own, and
  // the paths that it reads.
  std::vector<std::string> FileNames() const;
  std::vector<std::string> InputPaths() const;

  void Compile();
  // The transport must outlive Close.
  void Open(driver::Transport& card, driver::FunctionId function,
            const flex::RuntimeOptions& options);
  void LoadInputs();
  void Prepare();
  void Launch();
  void CopyOutputs();
  void Finish();
  void Close();  // also after an error
  // outputs: what the workload's outputs were, if they are something else by now; null: they are
  // what CopyOutputs has brought.
  // collectives: what the memory of this card had around those of the workload.
  void Verify(const std::vector<HostData>* outputs = nullptr,
              const std::vector<CollectiveImages>* collectives = nullptr);
  void WriteTensors();

 private:
  bool IsWritten(const WorkloadTensor& tensor) const;
  std::string PathOf(const std::string& name) const { return out_dir_ + "/" + name; }
  void Tell(const char* phase, uint64_t done = 0, uint64_t total = 0) const;
  void Wait(const char* phase);  // for every stream

  const RunConfig config_;
  const std::string out_dir_;
  const Report report_;
  RunResult& result_;
  const std::unique_ptr<Workload> workload_;
  CompiledWorkload compiled_;
  std::unique_ptr<flex::RuntimeContext> context_;
  PlacedMemory places_;  // of a launch that is repeated
  RunTensors tensors_;
  std::unique_ptr<WorkloadRun> run_;
};

}  // namespace spyre::cosim
