// SPDX-License-Identifier: Apache-2.0
// Serves the cards of a simulation to other processes by the vfio-user protocol (docs/serve.md):
// one socket for each function, DIR/spyre.F.sock, of several cards DIR/cardN/spyre.F.sock, of which
// each has one client at a time. One thread, which is also the kernel's.
//
// Errors: BadInput for a directory or socket that cannot be used, also if another server uses it;
// those of the card, which is then gone for its clients. The sockets are removed at the end,
// however that comes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/card_side.h"
#include "cosim/serve/mailboxes.h"
#include "cosim/serve/schedule.h"
#include "cosim/serve/served_function.h"

namespace spyre::cosim {

struct ServeOptions {
  std::string directory;
  TimeOptions time;
  bool once = false;                    // end when the last client has gone
  SessionRecorder* recorder = nullptr;  // must outlive the server
  ServeLog log;
  // Takes the name of a client that has gone without having said so; may be empty.
  std::function<void(const std::string& client)> lost;
  NeighbourAccess::Listener* listener = nullptr;  // must outlive the server
};

class Server {
 public:
  // functions: of each card, the physical one and all virtual ones, enabled or not. cards: of one
  // simulation, must outlive the server; their memory accesses go to clients from now on.
  // options.recorder: for one card only.
  Server(const std::vector<InProcessTransport*>& cards, unsigned functions,
         const ServeOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string PathOf(size_t card, unsigned function) const;

  // Until a signal (Interruption), or, once, until the last client has gone.
  void Run();

 private:
  struct Listener {
    std::string path;
    Descriptor socket;
  };

  void Listen(size_t card, unsigned function);
  void MakeDirectory(const std::string& directory) const;
  bool HasInput() const;
  void Poll(int patience_ms);
  void Accept(size_t function);
  void Receive(ServedFunction& function, short events);
  void TellLost(ServedFunction& function);
  void Sweep();
  void Guarded(const std::function<void()>& action);
  bool Connected() const;

  const std::vector<InProcessTransport*> cards_;
  const ServeOptions options_;
  Mailboxes mail_;
  Schedule::Functions functions_;  // card by card
  std::vector<std::unique_ptr<CardSide>> sides_;
  std::vector<Listener> listeners_;  // of each function
  Schedule schedule_;
  bool served_ = false;  // a client
};

}  // namespace spyre::cosim
