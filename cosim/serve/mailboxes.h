// SPDX-License-Identifier: Apache-2.0
// Messages between the clients of a server: what the hosts of ranks tell each other. They take no
// simulated time, and whoever sleeps for one sleeps in simulated time, so that in lockstep it does
// not matter which process is faster. Kernel thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {

class Mailboxes {
 public:
  // False: too many wait to be taken, as of a client that was never there.
  bool Post(const driver::vfio_user::MailAddress& address, std::string message);
  // For number `to`: whether there is one, and the first one of the sender of the lowest number.
  struct Mail {
    uint32_t from = 0;
    std::string message;
  };
  bool Has(uint32_t to) const { return boxes_.count(to) != 0; }
  std::optional<Mail> Take(uint32_t to);
  void Clear() { boxes_.clear(); }

 private:
  std::map<uint32_t, std::map<uint32_t, std::deque<std::string>>> boxes_;  // by to and from
};

}  // namespace spyre::cosim
