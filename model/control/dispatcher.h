// SPDX-License-Identifier: Apache-2.0
// Runs COMPUTE operations: reads the program image from device memory, checks it, broadcasts it to
// the cores of its mask, starts them, and waits for the last unit. One job at a time. Execute runs
// in the caller's SystemC thread.
//
// The prepare engine of a pipelined card is a dispatcher with nothing but the service core: it runs
// programs of core 0 alone, refuses others (BAD_PROGRAM), and neither waits for nor disturbs what
// runs on the cores. Each dispatcher has a SyncFabric of its own.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/split_socket.h"
#include "model/control/fast_launches.h"
#include "model/core/core.h"
#include "model/ring/ring.h"

namespace spyre::model {

class ComputeDispatcher : public sc_core::sc_module {
 public:
  SplitSocket ring_socket{"ring_socket"};

  ComputeDispatcher(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
                    Ring& ring, SyncFabric& fabric, FunctionalQueue& functional,
                    std::vector<Core*> cores);

  // Launches of times only go through *fast, which must outlive the dispatcher.
  void SetFast(FastLaunches* fast) { fast_ = fast; }

  // Fills job.status and the counters. The job lives as long as the call.
  void Execute(const ControlBlock& block, Job& job);

  // Told of every job before it begins and after it has ended; must not block.
  using JobHook = std::function<void(const Job& job, bool ended)>;
  void OnJob(JobHook hook) { on_job_ = std::move(hook); }
  // Told of every step that a job's program marks, when it begins; must not block.
  using StepHook = std::function<void(const Job& job, uint32_t step, uint64_t iteration)>;
  void OnStep(StepHook hook) { on_step_ = std::move(hook); }

 private:
  void Run(const ControlBlock& block, Job& job);
  void RunCores(Job& job);
  Status LoadProgram(const ControlBlock& block, Job& job);
  Status BindSegments(const ControlBlock& block, Job& job);
  // Reads [physical, +bytes) at the memory stop, in bursts one behind the other, and waits for the
  // last; mask: broadcast to these cores.
  bool Read(Job& job, uint64_t physical, uint8_t* data, uint64_t bytes, uint32_t mask);

  const CardConfig& config_;
  const Mmu& mmu_;
  Ring& ring_;
  SyncFabric& fabric_;
  FunctionalQueue& functional_;  // joined at the end of every job
  std::vector<Core*> cores_;
  const bool prepares_;
  FastLaunches* fast_ = nullptr;
  JobHook on_job_;
  StepHook on_step_;
  std::vector<std::unique_ptr<TransferPayload>> payloads_;  // one a burst
  BlockingClient client_;
  std::vector<uint8_t> image_;
  struct Tenant {
    unsigned function;
    uint64_t tenant;  // of Mmu
  };
  std::optional<Tenant> lx_of_;  // whose data LX holds
};

}  // namespace spyre::model
