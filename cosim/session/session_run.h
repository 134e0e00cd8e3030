// SPDX-License-Identifier: Apache-2.0
// A session at work: N members, each a function of a card with a workload of its own, from cards
// that are plugged in to verified tensors on disk. What the members have in common is a class of
// its own: one function of one card (session.cc), tenants of one card (tenants_session.h), cards
// behind a switch (cards_session.h).
//
// The only member of a session runs in the caller's thread and its result is the session's. Several
// are programs of a host beside each other (cosim/host/host_programs.h), each with a result of its
// own. Single thread, but for what their programs call.
//
// Errors: of what all members share; what goes wrong in one of several is in its MemberResult, and
// the others go on. The trace up to an error is written first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/host/host_programs.h"
#include "cosim/measure/kernel_log.h"
#include "cosim/session/function_run.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session.h"
#include "cosim/session/session_card.h"
#include "cosim/session/session_faults.h"
#include "cosim/session/session_trace.h"
#include "driver/physical_function.h"
#include "traces/run_results.h"

namespace spyre::cosim {

class SessionRun {
 public:
  SessionRun(const SessionRun&) = delete;
  SessionRun& operator=(const SessionRun&) = delete;
  virtual ~SessionRun() = default;

  RunResult Run();

 protected:
  struct Member {
    std::string name;  // also of its directory and its part of the trace; "": it is the only one
    RunConfig config;
    RunResult* result = nullptr;
    MemberResult* own = nullptr;  // with `result`; null: the result is the session's
    std::unique_ptr<FunctionRun> run;
    std::unique_ptr<trace::Recorder> recorder;  // of its part of the host; null: the session's
    size_t card = 0;
    driver::FunctionId function = 0;
    uint64_t start_ps = 0;

    bool failed() const { return own != nullptr && own->error; }
  };

  SessionRun(const RunConfig& config, const std::string& out_dir, const SessionOptions& options);

  // Resolves its workload. The first is of the session itself, whose files go to its directory.
  Member& AddOnly(driver::FunctionId function);
  // One of several, whose files go to a directory below that of the session.
  Member& Add(const RunConfig& config, MemberResult& result);
  // Tells the workloads' warnings; once all members are there.
  void Warn() const;
  void Report(const char* phase, uint64_t done = 0, uint64_t total = 0) const;

  // What kinds of sessions do in their own way.
  virtual void BeforeCards() {}  // the directories are not made yet
  virtual void Compile();
  virtual void Plug() = 0;  // fills cards_, and, of several members, programs_
  virtual trace::Recorder& CardRecorder(size_t /*card*/) { return trace_.recorder(); }
  virtual void Execute(Member& member);  // its function is open
  virtual void Finish();                 // while there are cards
  virtual void Verify();

  void PlugOne();
  // Opens the physical function of the only card and enables its virtual ones.
  driver::PhysicalFunction OpenAdmin(driver::Transport& card);
  void Launch(Member& member);
  // Of several members on card 0: what the units have done until now is of the launches.
  void EndUnits();

  const RunConfig config_;
  const SessionOptions options_;
  RunResult result_;
  SessionTrace trace_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<SessionCard>> cards_;
  std::optional<HostPrograms> programs_;  // none: the only member runs in this thread
  trace::RunResults results_;             // for the trace
  bool is_judged_ = true;                 // else its digest is enough: no verification, no files

 private:
  void MakeDirectories();
  void Simulate();
  void RunPrograms();
  void Work(Member& member);
  void BeginUnits();
  void BeginWindow(const std::vector<std::string>& marks, bool with_steps);
  void EndWindow();
  void EndInFault(const Error& error);
  void ReadFaults();
  void Unplug();
  void WriteTensors();

  std::unique_ptr<driver::Device> admin_;  // the PF, which set the VFs up
  SessionFaults faults_;
  // Of each card, what it had done before the first launch.
  std::vector<std::optional<model::Activity>> done_before_;
  // What the launches are measured by: from the only member's launch to its end; of several,
  // kernels from the start of the programs to their end, and units from the first launch to the
  // last end.
  std::optional<KernelLog> log_;
  HostTime host_before_;
  std::vector<model::UnitStatistics> units_before_;
  uint64_t units_begin_ps_ = 0;
};

}  // namespace spyre::cosim
