// SPDX-License-Identifier: Apache-2.0
// Runs COMPUTE operations: reads the program image from device memory, checks it, broadcasts it to
// the cores of its mask, starts them, waits for the last unit, and goes on with the program that
// the image names as its next, if it does: the cores stay the job's. One job at a time; a
// concurrent card has several dispatchers for its cores, whose programs run side by side where
// their placement (core_placement.h) says. Execute runs in the caller's SystemC thread.
//
// The prepare engine of a pipelined card is a dispatcher with nothing but the service core: it runs
// programs of core 0 alone, refuses others (BAD_PROGRAM), and neither waits for nor disturbs what
// runs on the cores. Each dispatcher has a SyncFabric of its own, so barriers are those of one job.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/split_socket.h"
#include "model/control/core_placement.h"
#include "model/control/fast_launches.h"
#include "model/core/core.h"
#include "model/mmu/device_port.h"
#include "model/ring/ring.h"

namespace spyre::model {

class ComputeDispatcher : public sc_core::sc_module {
 public:
  DevicePort ring_socket{"ring_socket"};

  // placement: null, core 0 of every program is core 0 of the card, and no other program has cores.
  ComputeDispatcher(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
                    Ring& ring, FunctionalQueue& functional, std::vector<Core*> cores,
                    CorePlacement* placement);

  // Launches of times only go through *fast, which must outlive the dispatcher.
  void SetFast(FastLaunches* fast) { fast_ = fast; }

  // Fills job.status and the counters. The job lives as long as the call. cost: of the function
  // (FairShare).
  void Execute(const ControlBlock& block, Job& job, uint32_t cost);

  void DescribeWaits(std::vector<std::string>& lines) const;  // of its cores

  // Told of every job before it begins and after it has ended; must not block.
  using JobHook = std::function<void(const Job& job, bool ended)>;
  void OnJob(JobHook hook) { on_job_ = std::move(hook); }
  // Told of every step that a job's program marks, when it begins; must not block.
  using StepHook = std::function<void(const Job& job, uint32_t step, uint64_t iteration)>;
  void OnStep(StepHook hook) { on_step_ = std::move(hook); }

 private:
  void Run(const ControlBlock& block, Job& job);
  Status Place(uint32_t core_mask, Job& job);
  void ClearLx(Job& job);  // what others have left on its cores
  void RunCores(Job& job);
  // The program at `offset` of the block's allocation.
  Status LoadProgram(const ControlBlock& block, uint64_t offset, Job& job);
  Status BindSegments(const ControlBlock& block, Job& job);
  // Reads [physical, +bytes) for the function, at the memory stop, in bursts one behind the other,
  // and waits for the last; mask: broadcast to these cores. Asks the MMU first. BUS_ERROR or
  // RING_FAULT if the access failed.
  Status Read(Job& job, unsigned function, uint64_t physical, uint8_t* data, uint64_t bytes,
              uint32_t mask);

  const CardConfig& config_;
  const Mmu& mmu_;
  Ring& ring_;
  SyncFabric fabric_;
  FunctionalQueue& functional_;  // joined at the end of every job
  std::vector<Core*> cores_;
  const bool prepares_;
  CorePlacement* const placement_;
  uint32_t cost_ = 0;  // of the job at hand, which is this
  const Job* job_ = nullptr;
  FastLaunches* fast_ = nullptr;
  JobHook on_job_;
  StepHook on_step_;
  std::vector<std::unique_ptr<TransferPayload>> payloads_;  // one a burst
  BlockingClient client_;
  std::vector<uint8_t> image_;
};

}  // namespace spyre::model
