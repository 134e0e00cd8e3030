// SPDX-License-Identifier: Apache-2.0
// What an exception means to the caller of the program: an exit status, and who is wrong. One
// mapping for every command. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/verdict/exit_status.h"

namespace spyre::cosim {

struct Failure {
  int status = kBugStatus;
  // Of a compiler's refusal the public compiler's type and kind ("RuntimeError", "not_divisible");
  // else "InvalidInput", "DeviceFault", "Interrupted" or "InternalError", without a kind.
  std::string type, kind;
  std::string message;

  // The line on standard error: "device fault: ...", or the message and behind it "[type: kind]".
  std::string Line() const;
};

// {exit_status, verified: null, error: {type, kind?, message}}: the result of a run that did not
// come to its end.
nlohmann::ordered_json ToJson(const Failure& failure);

// Describes the exception that is being handled. Call it from a catch block.
Failure CurrentFailure();

}  // namespace spyre::cosim
