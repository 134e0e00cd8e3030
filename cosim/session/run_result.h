// SPDX-License-Identifier: Apache-2.0
// What a run left: how it went, what it measured, and where its files are. Plain data; written by
// the session, read by the report and by whoever compares runs. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/fault/fault_outcomes.h"
#include "cosim/host/host_time.h"
#include "cosim/measure/run_path.h"
#include "cosim/measure/usage.h"
#include "cosim/session/output_directory.h"
#include "cosim/verify/verification.h"
#include "cosim/workload/bundle_steps.h"
#include "cosim/workload/model_summary.h"
#include "cosim/workload/task_list_summary.h"
#include "model/common/fast_statistics.h"
#include "model/common/resource.h"
#include "model/power/energy.h"
#include "runtime/collectives/collective_rank.h"
#include "runtime/compiler/ir/decision.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/flex/control_block_request.h"
#include "runtime/flex/scheduler.h"
#include "runtime/flex/spyre_allocator.h"

namespace spyre::cosim {

struct WallTimes {      // seconds
  double generate = 0;  // input data
  double compile = 0;   // kernel and SpyreCode directory
  double model = 0;     // everything between the first and the last register access
  double verify = 0;
  double total = 0;
};

// The times of one tenant by which its interference with others is measured.
struct TenantTimes {
  uint64_t window_ps = 0;        // first operation queued to last finished, with transfers
  uint64_t launch_ps = 0;        // of the launch's operations alone
  uint64_t device_ps = 0;        // that the launch's operations ran, added up
  uint64_t longest_wait_ps = 0;  // of a launch's operation: from queued to started
  uint64_t output_digest = 0;    // of all output tensors; 0: no data
};
struct TenantResult;
struct CardResult;

// What came of a closed form instead of a simulated card (formula_run.h).
struct FormulaTimes {
  struct Kernel {
    std::string name, task;
    uint64_t launches = 0;
    uint64_t ps = 0;  // of one launch
    std::string bound;
  };
  std::vector<Kernel> kernels;  // in order of their launches
};

// What several cards did together in the middle of a list.
struct ListCollective {
  std::string name;                          // of its result
  runtime::CollectiveCall call;              // with the algorithm
  std::optional<Verification> verification;  // empty: not verified
  struct Part {
    uint64_t begin_ps = 0, end_ps = 0;
    runtime::CollectiveTimes times;
  };
  std::vector<Part> parts;  // of the cards

  uint64_t Ps() const;  // from the first card's begin to the last one's end
};

// Of a run of several tenants or cards: the card's figures (of several, those of card 0), and
// of what they did the sum.
struct RunResult {
  RunConfig config;
  std::string description;
  std::vector<std::string> warnings;          // of the compiler
  std::vector<compiler::Decision> decisions;  // the compiler's, with its reasons
  compiler::KernelPlan plan;
  std::set<std::string> kernel_names;            // copies to and from staging have others
  std::map<std::string, compiler::KernelLx> lx;  // of each of them: what it keeps there
  std::optional<TaskListSummary> tasks;          // of a workload of many launches
  std::optional<ModelSummary> model;             // of a workload that is a model

  uint64_t sim_ps = 0;                              // simulated time of the whole session
  uint64_t begin_ps = 0;                            // first operation queued
  uint64_t end_ps = 0;                              // last operation finished
  uint64_t launch_begin_ps = 0, launch_end_ps = 0;  // of the launch's operations
  WallTimes wall;

  std::optional<Verification> verification;  // empty: verify = "none", not functional, or below
  std::string not_verified;                  // why a run that was to be verified could not be
  flex::OperationCounts launch_counts;       // the launch's stream operations
  uint64_t transfers = 0;                    // tensor copies
  uint64_t program_loads = 0;                // copies of init packets
  std::vector<flex::CompletedOperation> launches;   // the launch's operations, in order
  std::vector<model::UnitStatistics> units;         // of the whole session
  std::vector<model::UnitStatistics> launch_units;  // the part that the launch added
  // Of several members: the time that launch_units are of, from the first launch on card 0 to the
  // end of the last one, or of the collective; 0: there is one, and they are of its launch.
  uint64_t launch_units_ps = 0;
  // What the card did from the launch's first call to its last response, of several launches from
  // the first one's to the last one's; empty: a card in another process, and of several cards, each
  // of which has its own.
  std::optional<model::Activity> launch_activity;
  KernelUsages kernel_usages;                 // of every COMPUTE of the launch
  std::vector<BundleStep> steps;              // of a bundle's program, as it marks them
  std::vector<std::string> responses;         // of the session, in the order they came
  std::optional<model::FastStatistics> fast;  // of the session, with card.fidelity = "fast"
  std::optional<FormulaTimes> formula;        // in place of a simulated card
  // Shares of the launch window that changes took off when they were simulated, by the words in
  // which the report proposes them; empty: none was.
  std::map<std::string, double> simulated_changes;
  std::vector<FaultRecord> faults;        // of [[fault]], and what came of each
  uint64_t output_digest = 0;             // of all output tensors; 0: no data
  flex::HazardReport hazards;             // of the session, by runtime.hazards
  std::vector<std::string> firmware_log;  // of the management controller
  uint64_t trace_digest = 0, trace_records = 0, trace_dropped = 0, trace_bytes = 0;

  uint64_t launch_doorbells = 0, launch_interrupts = 0;  // of the launch
  HostTime launch_host;                                  // from its first call to its last response
  WindowShares launch_shares;                 // of the time from launch_begin_ps to launch_end_ps
  trace::PathTimes launch_path{}, path{};     // critical paths of the launch and of the session
  std::map<uint64_t, size_t> kernel_numbers;  // by correlation: COMPUTEs in order of their start
  flex::MemoryStatistics tensor_memory, program_memory;  // of the session

  std::vector<TenantResult> tenants;        // in the order of the configuration; empty: it has none
  std::vector<CardResult> cards;            // by number; empty: there is one card
  runtime::CollectiveCall collective_call;  // of several cards, with the algorithm
  std::optional<Verification> collective;   // empty: none, or not verified
  std::vector<ListCollective> list_collectives;  // of several cards' list, in order

  std::string out_dir;
  std::shared_ptr<const OutputDirectory> directory;  // locked until the report is in it
  std::string unwritten;                // why the trace or a tensor is not there; "": all is
  std::string transport;                // that was asked for; "": the card was in this process
  std::string trace_path;               // "" if tracing is off
  std::vector<std::string> wave_paths;  // in order of time
  std::map<std::string, std::string> tensor_paths;  // name -> .npy
  std::string spyrecode_dir;

  // From the first of the launch's operations queued to the last one finished.
  uint64_t LaunchPs() const { return launch_end_ps - launch_begin_ps; }
  // What shares of the units' time are shares of.
  uint64_t UnitsPs() const { return launch_units_ps > 0 ? launch_units_ps : LaunchPs(); }
  bool IsKernel(const flex::CompletedOperation& operation) const {
    return operation.opcode == Opcode::COMPUTE && !operation.correction &&
           kernel_names.count(operation.name) != 0;
  }
};

// What tenants and cards have in common.
struct MemberResult {
  std::string name;
  RunResult run;               // of its workload, without the figures of the card
  HostTime host;               // of its own processor, from its start to its end
  std::optional<Error> error;  // why it did not come to its end
};
struct TenantResult : MemberResult {
  uint64_t function = 0;  // virtual function
  uint64_t start_us = 0;
  std::optional<TenantTimes> alone;  // the same on a card without the others
};
// One of several cards, "card0".
struct CardResult : MemberResult {
  runtime::CollectiveTimes communication;  // of all collectives
  uint64_t peer_written_bytes = 0;  // by the card's own counter, when the last collective had ended
  // Of the first one's begin and the last one's end, and the sum of all.
  uint64_t collective_begin_ps = 0, collective_end_ps = 0, collective_ps = 0;
};
// The first error of a tenant or a card; null: there is none.
const Error* MemberError(const RunResult& result);

// What of a run is compared with its reference (compare.h), and the times beside it.
struct RunDigest {
  uint64_t sim_ps = 0;
  uint64_t window_ps = 0;  // first operation queued to last finished, with transfers
  uint64_t launch_ps = 0;
  double wall_s = 0;
  uint64_t output_digest = 0;          // of all output tensors; 0: no data
  std::vector<std::string> responses;  // in the order in which they came: stream, operation, status
  bool is_simulated = true;            // else nothing but the times can be compared
};
RunDigest DigestOf(const RunResult& result);

// The first thing that differs, or "".
std::string Difference(const RunDigest& run, const RunDigest& reference);

}  // namespace spyre::cosim
