// SPDX-License-Identifier: Apache-2.0
// Records what all clients of a served card do, for `spyre-cosim replay` (docs/replay.md): the
// server tells it of every access in the order in which the card sees them. Host memory lies with
// the clients; it is copied where the card may read it, and where it has written.
//
// What a recording has words for only: accesses of 1 to 3 bytes are recorded as the word that has
// the same effect. Kernel thread. Errors: BadInput if the file cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cosim/host/inprocess_transport.h"
#include "cosim/replay/recording_transport.h"

namespace spyre::cosim {

class SessionRecorder {
 public:
  // Reads memory of a client, whatever rights the card has there. False: it cannot be read.
  using ReadMemory = std::function<bool(driver::FunctionId function, driver::IoAddress address,
                                        uint8_t* data, uint64_t bytes)>;

  // card: one that has not been used.
  SessionRecorder(InProcessTransport& card, const std::string& path, const std::string& config);
  ~SessionRecorder();
  SessionRecorder(const SessionRecorder&) = delete;
  SessionRecorder& operator=(const SessionRecorder&) = delete;

  // For what the server does to the card itself, before the clients.
  driver::Transport& transport() { return *recording_; }
  // The functions below are told what is done from now on.
  void BeginSession(ReadMemory read);
  void Finish() { recording_->Finish(); }

  // Of whole words, with what they gave.
  void Read(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
            uint32_t value);
  // Before the card sees it. `word` is at `offset`, a multiple of 4; bit i of `enables`: its byte i
  // is written.
  void Write(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
             uint32_t word, unsigned enables);
  // False: a recording does not hold that much (64 GiB in all).
  bool Map(driver::FunctionId function, driver::IoAddress address, uint64_t bytes);
  void Unmap(driver::FunctionId function, driver::IoAddress address);
  void Wait(driver::FunctionId function, unsigned vector, uint64_t begin_ps, uint64_t deadline_ps,
            driver::WaitResult result);
  void Advance(uint64_t begin_ps);  // until now
  // The card has written host memory; it is there.
  void CardWrote(driver::FunctionId function, driver::IoAddress address, uint64_t bytes);

 private:
  class Seam;

  std::unique_ptr<Seam> seam_;
  std::unique_ptr<RecordingTransport> recording_;
  uint64_t last_ps_ = 0;  // of the last record
  std::map<std::pair<driver::FunctionId, driver::IoAddress>, uint64_t> mapped_;
  uint64_t mapped_bytes_ = 0;
};

}  // namespace spyre::cosim
