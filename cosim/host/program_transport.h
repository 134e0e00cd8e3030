// SPDX-License-Identifier: Apache-2.0
// A card as programs of HostPrograms use it: time that a call takes passes for the calling program
// alone, and others go on meanwhile. Outside of programs it is the card's own transport.
#pragma once

#include <string>

#include "cosim/host/host_programs.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/transport.h"

namespace spyre::cosim {

class ProgramTransport final : public driver::Transport {
 public:
  ProgramTransport(HostPrograms& programs, InProcessTransport& card)
      : programs_(programs), card_(card) {}

  uint32_t ConfigRead(driver::FunctionId function, uint32_t offset) override;
  void ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) override;
  uint32_t Read32(driver::FunctionId function, int bar, uint64_t offset) override;
  void Write32(driver::FunctionId function, int bar, uint64_t offset, uint32_t value) override;
  void HotReset() override { card_.HotReset(); }
  driver::DmaRules dma_rules() const override { return card_.dma_rules(); }
  driver::IoAddress MapHost(driver::FunctionId function, void* host, size_t size) override;
  void UnmapHost(driver::FunctionId function, driver::IoAddress address) override;
  driver::IoAddress PeerWindow() const override { return card_.PeerWindow(); }
  driver::IoAddress MapPeer(driver::FunctionId function, unsigned peer, uint64_t offset,
                            uint64_t size) override {
    return card_.MapPeer(function, peer, offset, size);
  }
  void UnmapPeer(driver::FunctionId function, driver::IoAddress address) override {
    card_.UnmapPeer(function, address);
  }
  driver::WaitResult WaitInterrupt(driver::FunctionId function, int vector,
                                   uint64_t deadline_ps) override;
  uint64_t NowPs() override { return card_.NowPs(); }
  void Advance(uint64_t host_ps) override;
  std::string Diagnose() override { return card_.Diagnose(); }

 private:
  uint32_t Access(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
                  bool write, uint32_t value);

  HostPrograms& programs_;
  InProcessTransport& card_;
};

}  // namespace spyre::cosim
