// SPDX-License-Identifier: Apache-2.0
// The host's side of the PCIe link, as a SystemC module: root complex, host memory behind an IO
// address map, and the interrupt controller. InProcessTransport drives it. Kernel thread only.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <queue>
#include <set>
#include <systemc>
#include <utility>
#include <vector>

#include "cosim/host/host_mappings.h"
#include "cosim/host/host_side.h"
#include "cosim/host/observable_transport.h"
#include "model/common/transfer.h"
#include "model/pcie/host_access.h"

namespace spyre::cosim {

// What the root complex does wrong with reads of the card that touch [address, address + bytes).
struct ReadFault {
  enum class Kind { kNoCompletion, kPoisoned, kUnsupported, kAbort };
  Kind kind = Kind::kNoCompletion;
  driver::FunctionId function = 0;
  driver::IoAddress address = 0;
  uint64_t bytes = 0;
  uint64_t times = 1;
};

class HostBridge : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<HostBridge, model::kSocketBits, model::HostAccessProtocol>
      to_card{"to_card"};
  tlm_utils::simple_target_socket<HostBridge, model::kSocketBits, model::TransferProtocol>
      from_card{"from_card"};

  sc_core::sc_signal<bool> card_lost{"card_lost"};  // pauses the simulation

  explicit HostBridge(const sc_core::sc_module_name& name);
  ~HostBridge() override { payload_.clear_extension(&access_); }

  // One 32-bit access; *delay_ps is how long the packet (and the completion) takes.
  uint32_t Access(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
                  bool write, uint32_t value, uint64_t* delay_ps);
  // One access of 1 to 4 bytes, of which bit i of `enables` writes byte i. Configuration space and
  // registers take 4 bytes only. False if nothing answers; `data` is then unchanged.
  bool AccessBytes(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
                   bool write, uint8_t* data, unsigned bytes, unsigned enables, uint64_t* delay_ps);

  driver::IoAddress Map(driver::FunctionId function, void* host, size_t size);
  void MapAt(driver::FunctionId function, driver::IoAddress address, void* host, size_t size);
  void Unmap(driver::FunctionId function, driver::IoAddress address);
  void UnmapAll();  // also forgets the observer
  size_t mappings() const { return mappings_.size(); }

  void ObserveWrites(HostWriteObserver observer) { observer_ = std::move(observer); }

  // Takes the pending interrupt of (function, vector), if any.
  bool TakeInterrupt(driver::FunctionId function, unsigned vector);
  bool HasInterrupt(driver::FunctionId function, unsigned vector) const {
    return interrupts_.count({function, vector}) == 1;
  }
  void ForgetInterrupts(driver::FunctionId function);

  void AddReadFault(const ReadFault& fault) { read_faults_.push_back(fault); }

  // From now on the card's DMA and interrupts go there; Map has no effect any more. It must outlive
  // the bridge, or its use.
  void UseHost(HostSide* side) { side_ = side; }
  uint64_t pauses() const { return pauses_; }  // that it has asked of the simulation

 private:
  // A short write (a response or an MSI) becomes visible to the host when it arrives, not when it
  // is sent.
  struct Arrival {
    uint64_t time_ps;
    uint64_t order;
    uint64_t address;
    uint16_t function;
    int msi_vector;
    std::vector<uint8_t> data;
    bool operator>(const Arrival& other) const {
      return time_ps != other.time_ps ? time_ps > other.time_ps : order > other.order;
    }
  };

  void Dma(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void Serve(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay);
  // True: the read has got its wrong answer.
  bool ReadFails(tlm::tlm_generic_payload& payload);
  void DeliverArrivals();
  void Pause();
  bool ReadFromSide(tlm::tlm_generic_payload& payload);
  void DmaToSide(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay);
  void Deliver(const Arrival& arrival);
  void DeliverBefore(const Arrival& message);
  void Interrupt(driver::FunctionId function, unsigned vector);

  HostMappings mappings_;
  driver::IoAddress next_address_;
  std::set<std::pair<driver::FunctionId, unsigned>> interrupts_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  uint64_t arrival_order_ = 0;
  HostWriteObserver observer_;
  HostSide* side_ = nullptr;
  uint64_t pauses_ = 0;
  std::vector<ReadFault> read_faults_;
  sc_core::sc_event arrival_event_;
  tlm::tlm_generic_payload payload_;
  model::HostAccess access_;
};

}  // namespace spyre::cosim
