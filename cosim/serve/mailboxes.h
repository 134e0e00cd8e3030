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
#include <utility>

#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {

class Mailboxes {
 public:
  // False: too many wait to be taken, as of a client that was never there.
  bool Post(const driver::vfio_user::MailAddress& address, std::string message);
  // The one that was posted first; empty: there is none.
  std::optional<std::string> Take(const driver::vfio_user::MailAddress& address);
  void Clear() { boxes_.clear(); }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::deque<std::string>> boxes_;  // by from and to
};

}  // namespace spyre::cosim
