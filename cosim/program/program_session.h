// SPDX-License-Identifier: Apache-2.0
// The session of a program that is not ours: card, trace and report of a process that has come by
// its own ways to the SDK. The counterpart of session.h, where the program is a workload. At most
// one per process. Threads and errors: as sdk/card/program_card.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/host/host_time.h"
#include "cosim/measure/kernel_log.h"
#include "cosim/program/launch_watch.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session_card.h"
#include "cosim/session/session_trace.h"
#include "driver/device.h"
#include "runtime/flex/runtime_context.h"
#include "sdk/card/program_card.h"

namespace spyre::cosim {

class ProgramSession : public sdk::ProgramCard {
 public:
  explicit ProgramSession(const sdk::CardRequest& request);
  ~ProgramSession() override;
  ProgramSession(const ProgramSession&) = delete;
  ProgramSession& operator=(const ProgramSession&) = delete;

  driver::Transport& transport() override { return card_->transport(); }
  driver::FunctionId function() const override;
  const flex::RuntimeOptions& options() const override { return options_; }

  void Loaded(const sdk::ProgramLoad& load) override;
  void Launched(const sdk::ProgramLaunch& launch) override;
  void Converted(const sdk::ProgramCopy& copy) override;
  void Failed(const std::string& what) override;
  void Finish(flex::RuntimeContext& context) noexcept override;

 private:
  void Open(const sdk::CardRequest& request);
  void Measure(flex::RuntimeContext& context);
  void WriteFiles();

  const sdk::CardRequest request_;
  RunConfig config_;
  RunResult result_;
  std::unique_ptr<SessionTrace> trace_;
  std::vector<HostWait> host_waits_;
  std::mutex names_mutex_;  // the kernel's thread may be another one than the program's
  std::map<uint64_t, std::string> names_;  // of launches that have not ended, by correlation
  std::unique_ptr<SessionCard> card_;
  std::unique_ptr<driver::Device> admin_;  // VF mode: the PF, which set the VFs up
  std::unique_ptr<LaunchWatch> watch_;     // only if bundles are kept
  std::optional<KernelLog> kernels_;       // only if a report is wanted
  ProgramChecks checks_;
  uint64_t special_to_card_ = 0, special_from_card_ = 0;
  flex::RuntimeOptions options_;
};

}  // namespace spyre::cosim
