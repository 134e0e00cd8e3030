// SPDX-License-Identifier: Apache-2.0
// What GDB asks of a stopped RV32 processor, packet by packet: registers, memory, breakpoints, how
// to go on. Knows no sockets and no framing. Malformed packets are answered with an error, unknown
// ones with an empty answer, as the protocol says. Must not be used by several threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "model/control/debug_target.h"

namespace spyre::cosim {

class GdbCommands {
 public:
  struct Reply {
    std::optional<std::string> text;                // none: the answer is the next stop
    std::optional<model::Debugger::Resume> resume;  // the processor goes on, after the text
  };
  Reply Handle(const std::string& packet, model::DebugTarget& target);

  // The processor has stopped: the stop reply, which is also the answer to '?' from now on.
  const std::string& Stopped(model::DebugTarget& target, model::Debugger::Stop why);
  // Takes back every breakpoint that was set.
  void ClearBreakpoints(model::DebugTarget& target);

 private:
  std::string Breakpoint(std::string_view arguments, bool set, model::DebugTarget& target);
  Reply Continue(std::string_view arguments, char action, model::DebugTarget& target);

  std::string stop_reply_ = "S05";
  std::set<uint32_t> breakpoints_;
};

}  // namespace spyre::cosim
