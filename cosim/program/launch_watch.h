// SPDX-License-Identifier: Apache-2.0
// Watches the launches of a program that is not ours: keeps each bundle with the arguments of its
// first launch, and compares results with the reference of bundles. It looks into device memory
// when an operation begins and when it has ended, which moves no simulated time.
//
// Threads: Loaded and Launched from the program's, Job from the kernel's; they take turns. Errors:
// what cannot be kept or compared is said in the checks, or is a warning; nothing is thrown.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/program/program_bundles.h"
#include "cosim/program/program_checks.h"
#include "model/card/card.h"
#include "sdk/card/program_card.h"

namespace spyre::cosim {

class LaunchWatch {
 public:
  // config: of the card, whose bundles are in request.out. Both must outlive this, as the card.
  LaunchWatch(const RunConfig& config, const sdk::CardRequest& request, model::Card& card);

  void Loaded(const sdk::ProgramLoad& load);
  void Launched(const sdk::ProgramLaunch& launch);
  void Job(const model::Job& job, bool ended);

  // At the end. Nothing is compiled any more, so that what was not launched goes.
  ProgramChecks Finish(std::vector<std::string>& warnings);

 private:
  // A program on the card.
  struct Program {
    const ProgramBundle* bundle = nullptr;  // null: not known
    std::string why;                        // it is not
  };
  struct Running {
    const ProgramBundle* bundle = nullptr;
    std::string name;
    std::vector<sdk::TensorMemory> arguments;
    bool checked = false;
    std::vector<HostData> inputs;  // of what is to be compared
  };

  void Begin(const model::Job& job, sdk::ProgramLaunch launch);
  void End(const model::Job& job, const Running& running);
  void Compare(const model::Job& job, const Running& running, KernelCheck& check);
  static std::string ReadsOfOthers(const LaunchedBundle& launched, const Running& running);
  void CountSpecialCodes(const model::Job& job, const Running& running, KernelCheck& check);
  void Keep(const model::Job& job, const ProgramBundle& bundle, const sdk::ProgramLaunch& launch,
            KernelCheck& check);
  // The device image of argument i, as the bundle reaches it; zeros where nothing is.
  std::vector<uint8_t> ImageOf(const model::Job& job, const WorkloadTensor& tensor,
                               const sdk::TensorMemory& memory) const;
  std::string NewDirectory(const std::string& name);

  const RunConfig& config_;
  const sdk::CardRequest& request_;
  model::Card& card_;
  std::mutex mutex_;  // of what follows
  ProgramBundles bundles_;
  std::map<uint64_t, Program> programs_;             // by allocation
  std::map<uint64_t, sdk::ProgramLaunch> launches_;  // that have not begun, by correlation
  std::map<const model::Job*, Running> running_;
  std::map<const ProgramBundle*, std::string> kept_;  // and where
  std::map<std::string, int> names_;                  // of directories in use
  ProgramChecks checks_;
  std::vector<std::string> warnings_;
};

}  // namespace spyre::cosim
