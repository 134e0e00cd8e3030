// SPDX-License-Identifier: Apache-2.0
// A client's access to configuration space or a BAR, in the steps that a bus makes of it: each at a
// time of its own, and at the price that the in-process transport charges. Kernel thread.
#pragma once

#include <cstdint>
#include <string>

#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/access_watch.h"
#include "cosim/serve/session_recorder.h"
#include "cosim/serve/virtual_config.h"

namespace spyre::cosim {

// What the accesses of one function share; it outlives them.
struct AccessSite {
  InProcessTransport* card;
  driver::FunctionId function;
  VirtualConfig* virtual_config;  // null: the physical function
  AccessWatch* watch;
  SessionRecorder* recorder;  // null if nothing is recorded
};

class CardAccess {
 public:
  // data: what is written, or as many bytes as are to be read. [offset, offset + size) lies in the
  // region. now_ps: when it begins.
  CardAccess(model::HostAccess::Space space, uint64_t offset, bool is_write, std::string data,
             const InProcessTransport& card, uint64_t now_ps);

  uint64_t wake_ps() const { return wake_ps_; }
  bool done() const { return done_ == data_.size(); }
  // The next step, at wake_ps. True: the client's driver spins, as the watch can tell.
  bool Step(const AccessSite& site);

  const std::string& data() const { return data_; }  // after the last step

 private:
  void Issue(const AccessSite& site);
  void ApplyVirtualConfig(VirtualConfig& config, uint32_t at, unsigned enables);
  bool Look(const AccessSite& site, uint64_t address, uint32_t value) const;

  model::HostAccess::Space space_;
  uint64_t offset_;
  bool is_write_;
  std::string data_;
  uint64_t done_ = 0;
  uint64_t step_bytes_ = 0;  // of the read that is under way
  uint32_t word_ = 0;        // that the client sees
  uint32_t raw_ = 0;         // that the card has given
  uint64_t start_ps_;        // what the host's processor takes for one step
  uint64_t wake_ps_;
};

}  // namespace spyre::cosim
