// SPDX-License-Identifier: Apache-2.0
// A user of a virtual function who has it for long: bursts of random work on several streams
// through the runtime. Single thread.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/soak/soak.h"

namespace spyre::cosim {

class SoakWorker {
 public:
  // *counts: what is done is added there.
  SoakWorker(driver::Transport& transport, driver::FunctionId function,
             const flex::RuntimeOptions& options, SoakCounts* counts);

  void Open();   // the function has its regions
  void Close();  // waits for what is outstanding

  // Enqueues a burst; does not wait for it.
  void Burst(std::mt19937_64& random);
  void Drain();
  void Reset();  // of the function, with what is outstanding
  // Takes always the same time on a card that does nothing else; returns it.
  uint64_t Reference();

  driver::FunctionId function() const { return function_; }
  uint64_t outstanding() const;
  uint64_t allocations() const;  // live, and no programs
  // Since it was made; see SoakSample.
  uint64_t given() const;
  uint64_t answered() const;
  uint64_t given_bytes() const { return given_bytes_; }
  uint64_t answered_bytes() const { return *answered_bytes_; }

 private:
  static constexpr uint64_t kHostBytes = 1 << 20;

  void Copy(flex::FlexStream& stream, bool in, const flex::DeviceHandle& memory, uint64_t bytes);
  void Fill(flex::FlexStream& stream, const flex::DeviceHandle& memory, uint64_t bytes);
  void Launch(flex::FlexStream& stream, size_t program);
  flex::OperationInfo Counted(uint64_t bytes);
  void LoadPrograms();
  void Forget();  // the queue that is about to end

  driver::Transport& transport_;
  const driver::FunctionId function_;
  const flex::RuntimeOptions options_;
  SoakCounts& counts_;
  std::vector<uint8_t> host_;
  std::unique_ptr<flex::RuntimeContext> context_;
  std::vector<flex::DeviceHandle> programs_;
  uint64_t given_ = 0, answered_ = 0;  // of queues that have ended
  uint64_t given_bytes_ = 0;
  std::shared_ptr<uint64_t> answered_bytes_ = std::make_shared<uint64_t>(0);
};

}  // namespace spyre::cosim
