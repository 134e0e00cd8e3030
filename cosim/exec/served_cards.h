// SPDX-License-Identifier: Apache-2.0
// The cards of a program of several processes: a `spyre-cosim serve` of its own, which simulates
// all of them in lockstep, so that the program's times do not depend on how fast its processes are.
// Main thread; a thread of this class hears what the server says.
//
// Errors: Error(kBadInput) with what the server has said, if it does not come to serve.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"

namespace spyre::cosim {

struct ServedCardsChoice {
  unsigned count = 1;
  std::string config;              // of --config; "": the card of the defaults
  std::vector<std::string> sets;   // of --set
  std::vector<std::string> cards;  // of --card: "N=FILE"
  std::string out;                 // for report.json, the trace, and what the server logs
  std::string program;             // for the report
};

// The keys that cards get whose configuration is not given, before those of --set: each is opened
// by its physical function, and has room for what others write as measured (docs/multi-card.md).
std::vector<std::string> KeysOfServedCards(const ServedCardsChoice& choice);

class ServedCards {
 public:
  // Starts the server, and returns when it serves. lost: called, on a thread, with the name of the
  // first client that has gone without having said so.
  ServedCards(const ServedCardsChoice& choice, std::function<void(const std::string&)> lost);
  ~ServedCards();
  ServedCards(const ServedCards&) = delete;
  ServedCards& operator=(const ServedCards&) = delete;

  // For SPYRE_COSIM_CARD.
  std::string where() const { return "vfio-user:" + directory_; }
  // Ends the server, which writes its files. Once, when the program has ended.
  void End();
  // Who was lost first; "": nobody. After End.
  const std::string& lost() const { return lost_; }

 private:
  std::string ReadLine();
  void Start(const ServedCardsChoice& choice);
  void Listen(const std::function<void(const std::string&)>& lost);

  std::string directory_;  // of the sockets
  std::string log_;        // the server's messages
  Descriptor said_;
  std::string buffer_;
  pid_t server_ = 0;
  std::string lost_;
  std::thread listener_;
};

}  // namespace spyre::cosim
