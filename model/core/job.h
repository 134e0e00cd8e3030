// SPDX-License-Identifier: Apache-2.0
// A COMPUTE operation while it runs on the cores: the program, the address context, what it has
// done so far, and how it ended. Owned by the dispatcher; the cores hold a pointer while they run
// it. Kernel thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <systemc>

#include "model/common/functional_queue.h"
#include "model/common/path_time.h"
#include "model/common/work_done.h"
#include "model/contract/control_block.h"
#include "model/contract/program.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

class SyncFabric;

struct Job : WorkDone {
  std::shared_ptr<const Program> program;
  uint64_t shared_tokens = 0;  // one bit each: units of several kinds wait for it
  bool prepare = false;        // on the service core
  // Its place: core 0 of the program is this one of the card; its cores, one bit each, 0 until it
  // has them; since when.
  unsigned first_core = 0;
  uint32_t cores = 0;
  uint64_t placed_ps = 0;
  bool waits_for_cores = false;
  SyncFabric* fabric = nullptr;  // its barriers
  uint16_t function = 0;
  uint64_t flow = 0;
  uint32_t stream = 0;
  SegmentTable segments{};
  FunctionalQueue* functional = nullptr;  // does the work on data; null: times only
  // Told when a step of the program begins (MARK), at its time; empty if not wanted.
  std::function<void(uint32_t step, uint64_t iteration)> on_step;

  uint64_t units_start_ps = 0;  // 0: they never did
  // What the units' start depended on, from when the job was started; of a step, from its mark to
  // the next; and what their end depended on.
  PathTime start_path, step_path, end_path;
  bool follows_paths = false;              // somebody asks for them; else they are not right
  std::array<uint64_t, 32> core_end_ps{};  // of each core, when its last unit was done; 0: not run
  // Told when a unit has added to WorkDone; empty if not wanted.
  std::function<void()> on_progress;

  Status status = Status::OK;
  uint64_t fault_address = 0;
  uint16_t fault_core = kNoCore;

  int units_running = 0;
  bool aborted = false;  // by a fault, or stopped
  bool stopped = false;  // enough is known (fast_launches.h)
  sc_core::sc_event
      abort;               // notified when aborted becomes true: the dispatcher wakes whoever waits
  sc_core::sc_event done;  // notified when units_running falls to 0

  // The first fault decides the outcome; every unit then stops at its next instruction or wait.
  void Fault(Status why, uint64_t address, uint16_t core) {
    if (status != Status::OK) return;
    status = why;
    fault_address = address;
    fault_core = core;
    aborted = true;
    abort.notify();
  }
  // Units stop, and nothing is wrong.
  void Stop() {
    stopped = aborted = true;
    abort.notify();
  }
  void Progress() const {
    if (on_progress) on_progress();
  }
};

}  // namespace spyre::model
