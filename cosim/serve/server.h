// SPDX-License-Identifier: Apache-2.0
// Serves a card to other processes by the vfio-user protocol (docs/serve.md): one socket for each
// function, DIR/spyre.F.sock, of which each has one client at a time. One thread, which is also the
// kernel's.
//
// Errors: BadInput for a directory or socket that cannot be used, also if another server uses it;
// those of the card, which is then gone for its clients. The sockets are removed at the end,
// however that comes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cosim/host/host_side.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/schedule.h"
#include "cosim/serve/served_function.h"

namespace spyre::cosim {

struct ServeOptions {
  std::string directory;
  TimeOptions time;
  bool once = false;                    // end when the last client has gone
  SessionRecorder* recorder = nullptr;  // must outlive the server
  ServeLog log;
};

class Server : private HostSide {
 public:
  // functions: the physical one and all virtual ones, enabled or not. card: must outlive the
  // server; its memory accesses go to clients from now on.
  Server(InProcessTransport& card, unsigned functions, const ServeOptions& options);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string PathOf(unsigned function) const;

  // Until a signal (Interruption), or, once, until the last client has gone.
  void Run();

 private:
  struct Listener {
    std::string path;
    Descriptor socket;
  };

  void Listen(unsigned function);
  void Poll(int patience_ms);
  void Accept(unsigned function);
  void Receive(ServedFunction& function, short events);
  void Sweep();
  void Guarded(const std::function<void()>& action);
  bool Connected() const;

  bool Allows(driver::FunctionId function, driver::IoAddress address, uint64_t bytes,
              bool write) override;
  Answer Read(driver::FunctionId function, driver::IoAddress address, uint8_t* data, uint64_t bytes,
              std::shared_ptr<model::LateAnswer>* late) override;
  bool Write(driver::FunctionId function, driver::IoAddress address, const uint8_t* data,
             uint64_t bytes) override;
  void Interrupt(driver::FunctionId function, unsigned vector) override;

  InProcessTransport& card_;
  const ServeOptions options_;
  Schedule::Functions functions_;
  std::vector<Listener> listeners_;
  Schedule schedule_;
  bool served_ = false;  // a client
};

}  // namespace spyre::cosim
