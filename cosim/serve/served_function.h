// SPDX-License-Identifier: Apache-2.0
// One function of the card as one client sees it by the vfio-user protocol: device, regions,
// interrupts, DMA windows, and the operation that the client waits for. The Schedule lets time
// move; the Server owns the sockets.
//
// A client that is lost loses its windows, its interrupts and its bus mastering; the next one finds
// the function after a reset. Kernel thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cosim/host/host_side.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/access_watch.h"
#include "cosim/serve/card_access.h"
#include "cosim/serve/client_memory.h"
#include "cosim/serve/connection.h"
#include "cosim/serve/device_info.h"
#include "cosim/serve/interrupt_lines.h"
#include "cosim/serve/neighbour_access.h"
#include "cosim/serve/time_mode.h"
#include "cosim/serve/version.h"

namespace spyre::cosim {

// Takes a line for people.
using ServeLog = std::function<void(const std::string& line)>;

class ServedFunction {
 public:
  // recorder: may be null. mail: of all functions of the server, which outlives them.
  ServedFunction(InProcessTransport& card, driver::FunctionId function, TimeMode mode,
                 Mailboxes& mail, SessionRecorder* recorder, ServeLog log);

  driver::FunctionId function() const { return site_.function; }

  // A client has come; there must be none.
  void Connect(Descriptor socket);
  Connection* connection() { return connection_.get(); }
  // The client is gone, or is sent away.
  void Disconnect();
  // Who has been lost since the last call without having said that it goes; "": nobody.
  std::string TakeLost() { return std::exchange(lost_, ""); }
  // Of the client, once it has said its version; else null.
  const ClientVersion* client() const { return client_ ? &*client_ : nullptr; }

  void Log(const std::string& text) const;
  void TellTo(NeighbourAccess::Listener* listener, size_t card) {
    neighbours_.TellTo(listener, card);
  }

  // Answers commands, in order, until one has to wait for the card. Before that: what waited for
  // posted writes.
  void Serve();

  // The client waits for something that happens at wake_ps, or sooner.
  bool waiting() const { return access_ != nullptr || pause_.has_value(); }
  uint64_t wake_ps() const { return access_ != nullptr ? access_->wake_ps() : pause_->wake_ps; }
  // For an interrupt or a message, and none has come.
  bool waits_for_interrupt() const { return pause_ && pause_->sleeping; }
  void Step();           // at wake_ps
  void TakeInterrupt();  // wakes it, if what it sleeps for has come
  void EndSleep();       // nothing is left that could wake it

  // The interface HostSide.
  bool Allows(uint64_t address, uint64_t bytes, bool write) const;
  HostSide::Answer Read(uint64_t address, uint8_t* data, uint64_t bytes,
                        std::shared_ptr<model::LateAnswer>* late);
  bool Write(uint64_t address, const uint8_t* data, uint64_t bytes);
  // Whatever the card may; waits for the client.
  bool Peek(uint64_t address, uint8_t* data, uint64_t bytes);
  // Behind the writes that were posted before it, as on PCIe.
  void Raise(unsigned vector);

 private:
  // The client's processor works, or sleeps until an interrupt.
  struct Pause {
    uint64_t begin_ps = 0, wake_ps = 0;
    bool wait = false;  // for an interrupt, at most until deadline_ps
    unsigned vector = 0;
    uint64_t deadline_ps = 0;
    bool sleeping = false;         // and it has not come
    std::optional<uint32_t> mail;  // it sleeps for a message for this number
  };

  void Handle(ClientMessage message);
  void Hello(const ClientMessage& message);
  int MapMemory(ClientMessage& message);
  int UnmapMemory(const ClientMessage& message);
  DeviceInfo Info() const { return {function(), client_->time_client.has_value()}; }
  // In lockstep nothing depends on how fast a client is; a recording has no word for what is late.
  bool waits_for_clients() const {
    return mode_ == TimeMode::kLockstep || site_.recorder != nullptr;
  }
  void SettlePosted();
  void LetHeldGo();
  bool WriteFiles(uint64_t address, const uint8_t* data, uint64_t bytes);
  int Describe(const ClientMessage& message);
  int AccessRegion(const ClientMessage& message);
  int AccessTime(const ClientMessage& message, uint64_t offset, const std::string& data,
                 uint64_t count);
  int WriteTime(const ClientMessage& message, uint64_t offset, const std::string& data);
  int WaitFor(const ClientMessage& message, const std::string& data);
  int Receive(const ClientMessage& message, const std::string& data);
  void ReplyAccess(const vfio_user::Header& header, const std::string& data,
                   const std::string& behind_outcome = "");
  void EndPause();
  void Configure(uint32_t offset, uint32_t value, unsigned enables);
  void Reset();

  AccessSite site_;
  const TimeMode mode_;
  const ServeLog log_;
  std::unique_ptr<Connection> connection_;  // null: no client
  std::optional<ClientVersion> client_;
  bool used_ = false;  // by a client before
  std::string lost_;
  ClientMemory memory_;
  InterruptLines lines_;
  AccessWatch watch_;
  VirtualConfig virtual_config_;
  NeighbourAccess neighbours_;
  bool takes_leave_ = false;       // the client has said that it goes
  vfio_user::Header waiting_for_;  // the command that is to be answered then
  vfio_user::RegionAccess region_access_;
  std::unique_ptr<CardAccess> access_;
  std::optional<Pause> pause_;
  uint32_t wait_result_ = 0;

  // Writes that the client has been sent and has not answered; the card went on.
  struct Posted {
    uint64_t address, bytes;
    std::shared_ptr<model::LateAnswer> answer;
  };
  std::vector<Posted> posted_;
  // What must not be seen before them, in its order: writes of files, reads that may see those,
  // interrupts. Empty if posted_ is.
  std::vector<std::function<void()>> held_;
  uint64_t held_bytes_ = 0;
};

}  // namespace spyre::cosim
