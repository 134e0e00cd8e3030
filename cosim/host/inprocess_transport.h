// SPDX-License-Identifier: Apache-2.0
// The default transport: the card is simulated in this process, and the SystemC kernel runs in the
// thread of whoever calls. Simulated time moves only inside these calls, so equal programs see
// equal times.
//
// Threads: calls are serialised by a mutex; the kernel may thereby run on different threads, one at
// a time. SystemC elaborates once in the life of a process. So there is one simulation, with one
// card or with several that are made together (Several); one that is made later is BadInput, also
// when the first is gone. A process that needs cards one after the other resets the one that it
// has, or makes a process for each (child_process.h).
//
// Several cards share simulated time: while the host waits for one, the others work on. A card
// works until the transports of all of them are gone.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cosim/host/host_bridge.h"
#include "cosim/host/host_time.h"
#include "cosim/host/observable_transport.h"
#include "model/card/card.h"
#include "model/pcie_switch/pcie_switch.h"

namespace spyre::cosim {

// What an access costs the host's processor, before the packet leaves. Assumptions, see
// docs/configuration.md [host].
struct HostTiming {
  uint64_t register_write_ns = 50;
  uint64_t register_read_ns = 50;
  uint64_t interrupt_ns = 1000;  // from MSI to the waiting thread
};

class InProcessTransport : public ObservableTransport {
 public:
  // recorder: may be null; must outlive the transports of all cards.
  struct CardSetup {
    model::CardConfig config;
    HostTiming timing;
    trace::Recorder* recorder = nullptr;
  };
  InProcessTransport(const model::CardConfig& config, const HostTiming& timing,
                     trace::Recorder* recorder);
  // A transport for each card, in the order of `cards`. With a switch, all of them are behind it,
  // and reach each other; its port to the host costs what the first card's link says.
  static std::vector<std::unique_ptr<InProcessTransport>> Several(
      const std::vector<CardSetup>& cards, const model::SwitchConfig* pcie_switch = nullptr,
      trace::Recorder* recorder = nullptr);
  ~InProcessTransport() override;

  uint32_t ConfigRead(driver::FunctionId function, uint32_t offset) override;
  void ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) override;
  uint32_t Read32(driver::FunctionId function, int bar, uint64_t offset) override;
  void Write32(driver::FunctionId function, int bar, uint64_t offset, uint32_t value) override;
  void HotReset() override;
  driver::IoAddress MapHost(driver::FunctionId function, void* host, size_t size) override;
  void UnmapHost(driver::FunctionId function, driver::IoAddress address) override;
  driver::IoAddress PeerWindow() const override;
  driver::IoAddress MapPeer(driver::FunctionId function, unsigned peer, uint64_t offset,
                            uint64_t size) override;
  void UnmapPeer(driver::FunctionId function, driver::IoAddress address) override;
  driver::WaitResult WaitInterrupt(driver::FunctionId function, int vector,
                                   uint64_t deadline_ps) override;
  uint64_t NowPs() override;
  void Advance(uint64_t host_ps) override;
  std::string Diagnose() override;
  void ObserveHostWrites(HostWriteObserver observer) override;
  void MapHostAt(driver::FunctionId function, driver::IoAddress address, void* host,
                 size_t size) override;

  // False: as if the card were pulled out. True: as if it were put back, with power on.
  void SetPresent(bool present);

  // For a server, which has several clients and must not wait for one: lets the card run until
  // `until_ps`, or only until an interrupt has come. when_idle: time moves even when the card has
  // nothing left to do.
  void RunUntil(uint64_t until_ps, bool when_idle);
  bool idle();  // nothing is left to happen in the card
  // Why the card has been lost, until HotReset or SetPresent; "": it is not lost.
  std::string LossOfCard() const;

  // From now on, while simulated time moves by whatever transport of this simulation, calls
  // `sample` at each of its multiples of `interval_ps`. It may look at the card, must not let time
  // move, and changes no times. `sample` must live as long as the simulation, or until it is taken
  // back.
  using Sampler = std::function<void()>;
  void SampleEvery(uint64_t interval_ps, Sampler sample);
  void EndSampling();
  // For HostPrograms, which lets time pass itself: one access without its times, but for
  // `*delay_ps`, how long the packet and the completion take.
  uint32_t AccessNow(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
                     bool write, uint32_t value, uint64_t* delay_ps);
  // As WaitInterrupt, without waiting.
  bool TakeInterrupt(driver::FunctionId function, int vector);
  bool HasInterrupt(driver::FunctionId function, int vector);
  bool ended();  // a process of the simulation has thrown: it runs no more
  void Check();  // Error(kDeviceFault) if the card has just been lost, once
  static model::HostAccess::Space SpaceOfBar(int bar);  // BadInput if the card has no such BAR

  HostBridge& bridge() { return bridge_; }
  const HostTiming& timing() const { return timing_; }

  model::Card& card() { return card_; }
  const model::PcieSwitch* pcie_switch() const;  // null: there is none
  HostTime host_time();                          // since the beginning
  // From now on every sleep of the host is appended, in order of time. null: none any more.
  void LogWaits(std::vector<HostWait>* waits);

 private:
  friend class ProgramTransport;
  class Kernel;
  InProcessTransport(std::shared_ptr<Kernel> kernel, const CardSetup& setup);
  uint32_t Access(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset,
                  bool write, uint32_t value);
  driver::WaitResult Sleep(driver::FunctionId function, int vector, uint64_t deadline_ps);
  void Run(uint64_t ps);  // lets the card run for this long
  void Simulate(uint64_t until_ps, sc_core::sc_starvation_policy policy);
  bool Starves();  // nothing is left to happen, in any card
  void RunSampled(uint64_t until_ps, sc_core::sc_starvation_policy policy);
  void CheckCard();  // Error(kDeviceFault) if it has just been lost

  const std::shared_ptr<Kernel> kernel_;
  const size_t number_;  // of the card
  const HostTiming timing_;
  std::recursive_mutex& mutex_;  // the kernel's, and what follows
  model::Card& card_;
  HostBridge& bridge_;
  bool& ended_;  // a process of the simulation has thrown
  bool lost_ = false;
  uint64_t after_ps_ = 0;  // that the host has waited since: its deadlines still pass
  uint64_t waited_ps_ = 0;
  std::vector<HostWait>* wait_log_ = nullptr;
  bool waits_ = false;
  uint64_t waits_since_ps_ = 0;
};

}  // namespace spyre::cosim
