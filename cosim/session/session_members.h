// SPDX-License-Identifier: Apache-2.0
// The functions that a session of several opens, each with a run of its own: tenants of a card, or
// several cards. What is the same for both. Single thread, but for what their programs call.
//
// Errors: of what all share; what goes wrong in one member is the result of its program
// (ErrorOfProgram).
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/session/function_run.h"
#include "cosim/session/run_result.h"
#include "traces/recorder.h"

namespace spyre::cosim {

struct SessionMember {
  std::string name;  // also of its directory and its part of the trace
  RunConfig config;
  RunResult* result = nullptr;
  std::unique_ptr<FunctionRun> run;
  std::unique_ptr<trace::Recorder> recorder;  // of its part of the host
};

// Whatever a program of `name` threw, as an error; throws an Interruption, which is everybody's.
std::optional<Error> ErrorOfProgram(const std::exception_ptr& failure, const std::string& name);

class SessionMembers {
 public:
  // report: as FunctionRun's. recorder: of the session; must outlive this.
  SessionMembers(FunctionRun::Report report, trace::Recorder& recorder)
      : report_(std::move(report)), recorder_(recorder) {}

  // Resolves its workload. Its files go to a directory below that of the session.
  void Add(const std::string& name, const RunConfig& config, const std::string& session_dir,
           RunResult& result);
  SessionMember& operator[](size_t i) { return *members_[i]; }
  size_t size() const { return members_.size(); }

  // "NAME (what it runs), ..."
  std::string Description() const;
  // Locks the session's directory and theirs, and removes what earlier runs left there. `inputs`:
  // paths that are read beside those of the members' keys.
  void MakeDirectories(RunResult& session, std::vector<std::string> inputs);
  void Compile();
  // Writes its tensors; a disk that is full is noted in `unwritten`, as the report must be written.
  void WriteTensors(size_t i, std::string& unwritten);

 private:
  const FunctionRun::Report report_;
  trace::Recorder& recorder_;
  std::vector<std::unique_ptr<SessionMember>> members_;
};

}  // namespace spyre::cosim
