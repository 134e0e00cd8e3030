// SPDX-License-Identifier: Apache-2.0
// A session: one run of a configuration, from building the card to verified tensors on disk. At
// most one per process (SystemC has one kernel); single thread.
//
// Errors: Error of any kind from the folders below; the trace up to that moment is written first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/session/run_result.h"
#include "cosim/smi/reading.h"

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

// Who watches a run, and what is asked of it beside its configuration. Pointers may be null and
// must outlive the run.
struct SessionOptions {
  ProgressListener* progress = nullptr;
  model::Debugger* debugger = nullptr;  // of the management controller, which must be RTL
  std::string record{};                 // file for what the host does to the card; "": none
  std::string transport{};              // "vfio-user:DIR": a served card; "": one in this process
  std::vector<std::string> inputs{};    // files that were read beside those that the keys name
  // Told of the workload's warnings before anything runs.
  void (*warn)(const std::vector<std::string>& warnings) = nullptr;
  SmiMonitor* monitor = nullptr;  // takes readings of a card in this process
};

// A run with [[fault]] that the card's faults have ended: the error, which names the faults that
// have struck, and what there is of the result.
class FaultedRun : public Error {
 public:
  FaultedRun(const Error& error, const std::string& what, std::shared_ptr<const RunResult> result)
      : Error(error.kind(), what), message_(error.what()), result_(std::move(result)) {}
  const RunResult& result() const { return *result_; }
  const std::string& message() const { return message_; }  // without the faults

 private:
  std::string message_;
  std::shared_ptr<const RunResult> result_;
};

// Runs `config`; files go to `out_dir`, which is made. Throws FaultedRun for a device fault of a
// run with declared faults.
RunResult RunSession(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options = {});

}  // namespace spyre::cosim
