// SPDX-License-Identifier: Apache-2.0
// A GDB remote stub for the management controller: listens on the loopback interface, waits for GDB
// at the first stop, and speaks the remote serial protocol while the processor is stopped.
// Simulated time stands still meanwhile, as Stopped does not return.
//
// A connection that breaks counts as "detach". After a detach the run goes on without a debugger.
// Kernel thread only; Stopped blocks for as long as GDB is silent, WantsStop never does. A thread
// of its own waits for GDB meanwhile, so that Ctrl-C reaches a processor that sleeps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cosim/gdb/gdb_commands.h"
#include "cosim/gdb/gdb_packet.h"
#include "model/control/debug_target.h"

namespace spyre::cosim {

class GdbServer : public model::Debugger {
 public:
  // Listens on 127.0.0.1:port, 0 being any free one; the first stop says on standard error that it
  // waits there. Throws Error(kBadInput) if the port is taken.
  explicit GdbServer(uint16_t port);
  // Tells GDB, if it waits for a stop, that the program has ended.
  ~GdbServer() override;
  GdbServer(const GdbServer&) = delete;
  GdbServer& operator=(const GdbServer&) = delete;

  uint16_t port() const { return port_; }
  // What GDB is told when the run ends; until then a run that ends has failed with a device fault.
  void SetExitStatus(int status) { exit_status_ = status; }

  Resume Stopped(model::DebugTarget& target, Stop why) override;
  bool WantsStop() override;
  void WatchInput(std::function<void()> input) override;

 private:
  struct Item {
    GdbPacketReader::Event event;
    std::string payload;
  };
  void Accept();
  // Reads what there is, or waits for something; false: the other side has gone.
  bool Receive(bool wait);
  void SendRaw(const std::string& bytes);
  void Send(const std::string& payload);
  // Answers one item of the stream; what Stopped is to return, if it is time to.
  std::optional<Resume> Serve(const Item& item, model::DebugTarget& target);
  Resume Detach(model::DebugTarget& target);
  void CloseAll();
  void StartWatching();
  void StopWatching();
  void Watch();  // thread
  void Arm();    // the watcher tells of the next input

  int listener_ = -1, connection_ = -1;
  uint16_t port_ = 0;
  int exit_status_ = 3;
  bool detached_ = false;
  bool awaits_stop_ = false;  // GDB has been promised a stop reply
  bool acknowledge_ = true;
  std::string last_packet_;
  GdbPacketReader reader_;
  std::deque<Item> items_;
  GdbCommands commands_;

  std::function<void()> input_;
  std::thread watcher_;
  int watcher_end_ = -1;  // an event descriptor: becomes readable when the watcher is to end
  std::mutex watch_mutex_;
  std::condition_variable watch_changed_;
  bool armed_ = false, ending_ = false;  // under watch_mutex_
};

}  // namespace spyre::cosim
