// SPDX-License-Identifier: Apache-2.0
// Messages between ranks, sorted: those of one kind from one rank are taken in the order in which
// they were sent, whatever came between them. One thread at a time.
//
// Errors: DeviceFault, naming both ranks, if what is waited for can come no more: nothing is left
// to happen, as where the others have called something else, have ended or have died.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/card/program_card.h"

namespace spyre::sdk {

class RankChannel {
 public:
  // mail: null if there is one rank; must outlive this.
  RankChannel(RankMail* mail, size_t rank, size_t ranks)
      : mail_(mail), rank_(rank), waiting_(ranks) {}

  // kind: without line ends. what: for people, what the rank has called; body: the rest.
  void Send(size_t to, std::string_view kind, std::string_view what, std::string_view body = "");
  // waits_for: for people, "all_reduce of 4096 bytes ...".
  std::string Receive(size_t from, std::string_view kind, const std::string& waits_for);
  // Whether there is one, of those that have been looked at; Wait looks at one more, of any rank
  // and kind. from: of whom there is to be one.
  bool Has(size_t from, std::string_view kind) const;
  void Wait(size_t from, const std::string& waits_for);

 private:
  struct Message {
    std::string kind, what, body;
  };
  static Message Parse(const std::string& text);

  RankMail* const mail_;
  const size_t rank_;
  std::vector<std::deque<Message>> waiting_;  // by the rank that they are from
};

}  // namespace spyre::sdk
