// SPDX-License-Identifier: Apache-2.0
// A transport that records: every call goes on to another one and then, with what it gave, into a
// file. Also recorded are what the host has put where the card may read it, and what the card has
// written: responses, and outputs as the host finds them (docs/replay.md).
//
// Threads: calls are serialised. Blocking: as the inner transport. Memory: a copy of the host
// memory that the card reads or writes, as long as it is mapped.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cosim/host/observable_transport.h"
#include "cosim/replay/queue_watch.h"
#include "cosim/replay/recording.h"

namespace spyre::cosim {

class RecordingTransport : public driver::Transport {
 public:
  // `inner` must outlive this and be new, since a replay starts with a new card. `config`: the TOML
  // of the run. BadInput if the file cannot be made.
  RecordingTransport(ObservableTransport& inner, const std::string& path,
                     const std::string& config);
  ~RecordingTransport() override { inner_.ObserveHostWrites({}); }

  // The host's memory is elsewhere: what is mapped here are copies, which this brings up to date.
  void RefreshBy(HostMappings::Refresh refresh) { mappings_.RefreshBy(std::move(refresh)); }
  // Records what the card has written since the last call. For a host whose clients see the card
  // between their calls; in calls it happens by itself.
  void AddArrived();
  // As MapHost, at an address that the caller has chosen.
  void MapHostAt(driver::FunctionId function, driver::IoAddress address, void* host, size_t size);

  // Ends the recording and closes the file; calls after it are not recorded.
  void Finish();

  uint32_t ConfigRead(driver::FunctionId function, uint32_t offset) override;
  void ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) override;
  uint32_t Read32(driver::FunctionId function, int bar, uint64_t offset) override;
  void Write32(driver::FunctionId function, int bar, uint64_t offset, uint32_t value) override;
  driver::IoAddress MapHost(driver::FunctionId function, void* host, size_t size) override;
  void UnmapHost(driver::FunctionId function, driver::IoAddress address) override;
  driver::WaitResult WaitInterrupt(driver::FunctionId function, int vector,
                                   uint64_t deadline_ps) override;
  uint64_t NowPs() override { return inner_.NowPs(); }
  void Advance(uint64_t host_ps) override;
  std::string Diagnose() override { return inner_.Diagnose(); }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  using Shadow = std::unique_ptr<uint8_t[], Free>;  // what a replay has in its place
  struct Output {
    CardResponse response;
    std::string data;
  };

  void AddResponses();
  void AddMapping(driver::FunctionId function, driver::IoAddress address, void* host, size_t size);
  void Add(RecordKind kind, int unit, driver::FunctionId function, uint64_t address, uint64_t value,
           std::string_view data = {});
  // Adds what has changed since the last time where the card may read.
  void AddHostData(driver::FunctionId function);
  void AddChanges(driver::FunctionId function, const IoRange& range);
  // Adds a call that is over, and what the card wrote during it.
  void AddCall(RecordKind kind, int unit, driver::FunctionId function, uint64_t address,
               uint64_t value);
  void CardWrote(driver::FunctionId function, driver::IoAddress address, uint64_t bytes);

  std::mutex mutex_;
  ObservableTransport& inner_;
  RecordingWriter writer_;
  bool finished_ = false;
  HostMappings mappings_, shadows_;
  std::map<std::pair<driver::FunctionId, driver::IoAddress>, Shadow> shadow_memory_;
  QueueWatch watch_{mappings_};
  std::vector<Output> arrived_;  // during the present call
};

}  // namespace spyre::cosim
