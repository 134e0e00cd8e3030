// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/serve_command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/cli/common_options.h"
#include "cosim/config/config.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/server.h"
#include "cosim/session/session_setup.h"
#include "cosim/verdict/exit_status.h"
#include "driver/pci.h"
#include "driver/physical_function.h"

namespace spyre::cosim {
namespace {

// Does what `run` does for a virtual function; clients of the physical function find the card in
// that state.
void EnableVirtualFunctions(driver::Transport& card, const RunConfig& config, uint64_t vfs) {
  {
    driver::Device admin(card, 0, RuntimeOptionsOf(config, nullptr).device);
    driver::PhysicalFunction physical(admin);
    physical.EnableVirtualFunctions(static_cast<int>(vfs));
    AssignRegions(physical, config.card.usable_bytes(), vfs);
  }
  const uint32_t command = card.ConfigRead(0, driver::pci::kCommandStatus) & 0xFFFF;
  card.ConfigWrite(0, driver::pci::kCommandStatus, command & ~driver::pci::kCommandBusMaster);
}

}  // namespace

void AddServeCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command = root.AddCommand(
      "serve", "Serve the card of a configuration to other processes (docs/serve.md)");
  command.Footer(kExitText);
  const auto args = std::make_shared<ServeArguments>();
  ServeArguments& a = *args;
  command.Add("CONFIG", a.config, "TOML file; its card is served, its workload is not run")
      .Required()
      .Completes(Words::kFiles);
  AddSets(command, a.sets);
  command
      .Add("--vfio-user", a.directory,
           "directory of the sockets, one for each function: DIR/spyre.0.sock is the physical one")
      .Placeholder("DIR")
      .Required()
      .Completes(Words::kDirectories);
  command
      .Add("--time", a.time,
           "when simulated time moves: free, whenever the card has something to do; lockstep, "
           "while all clients wait; paced, as free but no faster than --factor",
           {{"free", TimeMode::kFree},
            {"lockstep", TimeMode::kLockstep},
            {"paced", TimeMode::kPaced}})
      .ShowDefault()
      .Placeholder("MODE");
  command.Add("--clients", a.clients, "lockstep: time begins when this many have come", 1, 256)
      .ShowDefault()
      .Placeholder("N");
  command.Add("--factor", a.factor, "paced: simulated seconds in a second of wall time, at most")
      .ShowDefault()
      .Placeholder("K");
  command
      .Add("--vfs", a.vfs, "virtual functions that are enabled, with memory, before a client comes",
           0, 255)
      .ShowDefault()
      .Placeholder("N");
  command.Add("--once", a.once, "end when the last client has gone");
  command.Add("--record", a.record, "write what all clients do to the card, for replay")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Action([args] { return RunServeCommand(*args, std::cout, std::cerr); });
}

int RunServeCommand(const ServeArguments& args, std::ostream& out, std::ostream& log) {
  const RunConfig config = LoadConfig(args.config, args.sets);
  if (config.cards.count > 1) {
    throw BadInput(
        "{}: it has {} cards, and one server serves one; serve each by a server of its own, from a "
        "configuration of one card",
        args.config, config.cards.count)
        .Subject("cards.count");
  }
  if (args.vfs > config.card.num_vfs) {
    throw BadInput("--vfs {}: the card has {} virtual functions; set card.num_vfs", args.vfs,
                   config.card.num_vfs);
  }
  if (!(args.factor > 0)) throw BadInput("--factor {}: must be above 0", args.factor);
  CatchInterrupts(0);
  const HostTiming timing{config.host.register_write_ns, config.host.register_read_ns,
                          config.host.interrupt_ns};
  InProcessTransport card(config.card, timing, nullptr);
  std::unique_ptr<SessionRecorder> recorder;
  if (!args.record.empty()) {
    RunConfig recorded = config;
    recorded.preset = RunConfig().preset;  // its values are in the keys
    recorder = std::make_unique<SessionRecorder>(card, args.record, ToToml(recorded));
  }
  driver::Transport& host = recorder ? recorder->transport() : card;
  if (args.vfs > 0) EnableVirtualFunctions(host, config, args.vfs);
  ServeOptions options;
  options.directory = args.directory;
  options.time = {args.time, args.clients, args.factor};
  options.once = args.once;
  options.recorder = recorder.get();
  options.log = [&log](const std::string& line) { log << "serve: " << line << std::endl; };
  const auto functions = static_cast<unsigned>(config.card.num_vfs) + 1;
  Server server(card, functions, options);
  for (unsigned function = 0; function < functions; ++function)
    out << fmt::format("function {} at {}\n", function, server.PathOf(function));
  out << "serving\n" << std::flush;
  try {
    server.Run();
  } catch (const Interruption&) {
    if (recorder) recorder->Finish();
    throw;
  }
  if (recorder) recorder->Finish();
  return kDone;
}

}  // namespace spyre::cosim
