// SPDX-License-Identifier: Apache-2.0
// The first message of a connection: protocol version, and capabilities of both sides as JSON.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cosim/serve/time_mode.h"

namespace spyre::cosim {

// What a client has said of itself. Capabilities that this server does not use are passed over.
struct ClientVersion {
  uint16_t minor = 0;
  uint32_t transfer_bytes = 0;             // that it takes in one message, 1 to kMaxTransferBytes
  std::optional<std::string> time_client;  // name, if it uses the card's clock (spyre_time)
  uint64_t clients = 1;                    // how many of the clock there are to be, as it knows
  bool monitor = false;                    // it only reads registers: it resets nothing
  bool outcomes = false;                   // its answers are to have a TimeOutcome behind them
};

// Of the payload of VFIO_USER_VERSION; empty: not one that this server can serve, and `why` says
// what is wrong with it.
std::optional<ClientVersion> ParseVersion(std::string_view payload, std::string& why);

// The payload of the answer.
std::string VersionReply(const ClientVersion& client, TimeMode mode);

}  // namespace spyre::cosim
