// SPDX-License-Identifier: Apache-2.0
// One core alone, at 1000 MHz so that a cycle is 1000 ps: its ring answers every burst after
// `ring_cycles` and brings zeros. One bench per test: SystemC has one kernel per process.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <memory>
#include <string>
#include <vector>

#include "model/core/core.h"

namespace spyre::model {

class CoreBench : sc_core::sc_module, MulticastTransport {
 public:
  CardConfig config;  // set before the first Run
  uint64_t ring_cycles = 0;
  // Of multicasts: until the last member asks, and in memory, half of ring_cycles later.
  uint64_t partner_cycles = 0, memory_cycles = 0;
  tlm::tlm_response_status ring_status = tlm::TLM_OK_RESPONSE;
  std::vector<uint64_t> asked;  // cycles at which bursts reached the ring

  CoreBench() : sc_module("bench") { config.clock.core_mhz = 1000; }

  // Runs `program` on the core; its outcome.
  Status Run(Program program) {
    if (core_ == nullptr) Build();
    auto job = std::make_unique<Job>();
    job->program = std::make_shared<const Program>(std::move(program));
    job->function = 0;
    job->cores = UINT32_MAX;  // a group may have any core
    job->fabric = &fabric_;
    job->segments[0] = {0, kMapped, kPermissionRead | kPermissionWrite};
    const uint64_t begin = NowPs();
    core_->Start(*job);
    sc_core::sc_start();
    EXPECT_EQ(job->units_running, 0);
    elapsed_ps = NowPs() - begin;
    return job->status;
  }
  Status Run(const std::string& text) { return Run(Assemble(text)); }

  uint64_t elapsed_ps = 0;  // of the last Run
  // Busy and lost time of a unit ("pt") so far, in cycles of 1000 MHz.
  uint64_t BusyCycles(const std::string& unit) const { return Statistics(unit).busy_ps / 1000; }
  uint64_t LostCycles(const std::string& unit, Loss cause) const {
    return Statistics(unit).lost(cause) / 1000;
  }

 private:
  UnitStatistics Statistics(const std::string& unit) const {
    for (const UnitStatistics& statistics : core_->Statistics()) {
      if (statistics.name == "core00." + unit) return statistics;
    }
    ADD_FAILURE() << "no unit " << unit;
    return {};
  }
  void Build() {
    mmu_ = std::make_unique<Mmu>(config);
    mmu_->Map({0, kMapped, kPermissionRead | kPermissionWrite});
    core_ = std::make_unique<Core>("core", 0, config, *mmu_, nullptr);
    core_->SetPeers({core_.get()});
    ring_.register_nb_transport_fw(this, &CoreBench::Answer);
    core_->ring_socket.bind(ring_);
    core_->multicast_port.bind(*this);
    peer_.bind(core_->lx_socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  tlm::tlm_sync_enum Answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                            sc_core::sc_time& delay) {
    asked.push_back((NowPs() + delay.value()) / 1000);
    delay += Ps(ring_cycles * 1000);
    payload.set_response_status(ring_status);
    return tlm::TLM_COMPLETED;
  }

  void JoinMulticast(const TransferRequest& /*transfer*/, const MulticastBurst& burst,
                     MulticastMember& member) override {
    asked.push_back(burst.asks_ps / 1000);
    MulticastEnd end{ring_status, 0};
    end.joined_ps = burst.asks_ps + partner_cycles * 1000;
    end.times.at_memory_ps = end.joined_ps + ring_cycles * 500;
    end.times.memory_ps = end.times.at_memory_ps + memory_cycles * 1000;
    end.done_ps = end.times.memory_ps + ring_cycles * 500;
    member.MulticastEnded(burst.place, end);
  }

  static constexpr uint64_t kMapped = 1 << 30;
  SyncFabric fabric_;
  std::unique_ptr<Mmu> mmu_;
  std::unique_ptr<Core> core_;
  tlm_utils::simple_target_socket<CoreBench, kSocketBits, TransferProtocol> ring_{"ring"};
  tlm_utils::simple_initiator_socket<CoreBench, kSocketBits, TransferProtocol> peer_{"peer"};
};

}  // namespace spyre::model
