// A session: one run of a configuration, from building the card to verified tensors on disk. At
// most one per process (SystemC has one kernel); single thread.
//
// Errors: Error of any kind from the rooms below; the trace up to that moment is written first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cosim/bundle_steps.h"
#include "cosim/config.h"
#include "cosim/host_time.h"
#include "cosim/issue_summary.h"
#include "cosim/reference.h"
#include "cosim/usage.h"
#include "model/card/resource.h"
#include "runtime/compiler/kernel.h"
#include "runtime/flex/control_block_request.h"
#include "runtime/flex/scheduler.h"
#include "runtime/flex/spyre_allocator.h"

namespace spyre::model {
class Debugger;
}

namespace spyre::cosim {

// Told how far the run is; called often, from the session's thread.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  // done of total operations; total 0: not known.
  virtual void Update(const char* phase, uint64_t done, uint64_t total) = 0;
};

struct WallTimes {      // seconds
  double generate = 0;  // input data
  double compile = 0;   // kernel and SpyreCode directory
  double model = 0;     // everything between the first and the last register access
  double verify = 0;
  double total = 0;
};

struct RunResult {
  RunConfig config;
  std::string description;
  compiler::KernelPlan plan;
  std::set<std::string> kernel_names;  // of the COMPUTE operations that are no corrections
  std::optional<IssueSummary> issue;   // of a workload of many launches

  uint64_t sim_ps = 0;                              // simulated time of the whole session
  uint64_t begin_ps = 0;                            // first operation queued
  uint64_t end_ps = 0;                              // last operation finished
  uint64_t launch_begin_ps = 0, launch_end_ps = 0;  // of the launch's operations
  WallTimes wall;

  std::optional<Verification> verification;         // empty: verify = "none" or not functional
  flex::OperationCounts launch_counts;              // the launch's stream operations
  uint64_t transfers = 0;                           // tensor copies
  uint64_t program_loads = 0;                       // copies of init packets
  std::vector<flex::CompletedOperation> launches;   // the launch's operations, in order
  std::vector<model::UnitStatistics> units;         // of the whole session
  std::vector<model::UnitStatistics> launch_units;  // the part that the launch added
  KernelUsages kernel_usages;                       // of every COMPUTE of the launch
  std::vector<BundleStep> steps;                    // of a bundle's program, as it marks them
  std::vector<std::string> responses;               // of the session, in the order they came
  uint64_t output_digest = 0;                       // of all output tensors; 0: no data
  flex::HazardReport hazards;                       // of the session, by runtime.hazards
  std::vector<std::string> firmware_log;            // of the management controller
  uint64_t trace_digest = 0, trace_records = 0, trace_dropped = 0;

  uint64_t launch_doorbells = 0, launch_interrupts = 0;  // of the launch
  HostTime launch_host;                                  // from its first call to its last response
  flex::MemoryStatistics tensor_memory, program_memory;  // of the session

  std::string out_dir;
  std::string trace_path;                           // "" if tracing is off
  std::vector<std::string> wave_paths;              // in order of time
  std::map<std::string, std::string> tensor_paths;  // name -> .npy
  std::string spyrecode_dir;

  bool IsKernel(const flex::CompletedOperation& operation) const {
    return operation.opcode == Opcode::COMPUTE && kernel_names.count(operation.name) != 0;
  }
};

// Who watches a run, and what is asked of it beside its configuration. Pointers may be null and
// must outlive the run.
struct SessionOptions {
  ProgressListener* progress = nullptr;
  model::Debugger* debugger = nullptr;  // of the management controller, which must be RTL
  std::string record{};                 // file for what the host does to the card; "": none
};

// Runs `config`; files go to `out_dir`, which is made.
RunResult RunSession(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options = {});

}  // namespace spyre::cosim
