// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/serve_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/cli/common_options.h"
#include "cosim/config/config.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/server.h"
#include "cosim/served/served_report.h"
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

// Of each card. "--card N=FILE": the card of FILE is the one of this number.
std::vector<RunConfig> ConfigsOf(const ServeArguments& args) {
  const RunConfig first = LoadConfig(args.config, args.sets);
  std::vector<RunConfig> configs(std::max<uint64_t>(first.cards.count, 1), first);
  for (const std::string& words : args.cards) {
    const size_t equals = words.find('=');
    size_t number = 0;
    const char* const end = words.data() + std::min(equals, words.size());
    const auto [stop, error] = std::from_chars(words.data(), end, number);
    if (equals == std::string::npos || error != std::errc() || stop != end ||
        number >= configs.size()) {
      throw BadInput("--card {}: N=FILE is expected, N from 0 to {} (cards.count)", words,
                     configs.size() - 1);
    }
    configs[number] = LoadConfig(words.substr(equals + 1), {});
  }
  for (const RunConfig& config : configs) {
    if (config.card.num_vfs != first.card.num_vfs) {
      throw BadInput("--card: all cards must have as many virtual functions (card.num_vfs), {}",
                     first.card.num_vfs)
          .Subject("card.num_vfs");
    }
  }
  if (!args.record.empty() && configs.size() > 1) {
    throw BadInput("--record: it is for one card, and this configuration has {} (cards.count)",
                   configs.size())
        .Subject("cards.count");
  }
  if (args.vfs > first.card.num_vfs) {
    throw BadInput("--vfs {}: the card has {} virtual functions; set card.num_vfs", args.vfs,
                   first.card.num_vfs);
  }
  if (!(args.factor > 0)) throw BadInput("--factor {}: must be above 0", args.factor);
  return configs;
}

// One card has its own link to the host; several are behind a switch. report: may be null.
std::vector<std::unique_ptr<InProcessTransport>> MakeCards(const std::vector<RunConfig>& configs,
                                                           ServedReport* report) {
  std::vector<InProcessTransport::CardSetup> setups;
  for (const RunConfig& config : configs) {
    const HostTiming timing{config.host.register_write_ns, config.host.register_read_ns,
                            config.host.interrupt_ns};
    trace::Recorder* const recorder =
        report == nullptr ? nullptr : report->CardRecorder(setups.size());
    setups.push_back({config.card, timing, recorder});
  }
  const bool several = setups.size() > 1;
  return InProcessTransport::Several(
      setups, several ? &configs.front().cards.pcie_switch : nullptr,
      several && report != nullptr ? report->SwitchRecorder() : nullptr);
}

}  // namespace

void AddServeCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command = root.AddCommand(
      "serve", "Serve the card of a configuration to other processes (docs/serve.md)");
  command.Footer(kExitText);
  const auto args = std::make_shared<ServeArguments>();
  ServeArguments& a = *args;
  command.Add("CONFIG", a.config, "TOML file; its cards are served, its workload is not run")
      .Completes(Words::kFiles);
  AddSets(command, a.sets);
  command
      .Add("--vfio-user", a.directory,
           "directory of the sockets, one for each function: DIR/spyre.0.sock is the physical one; "
           "of several cards, DIR/card0/spyre.0.sock is that of the first")
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
  command
      .Add("--below", a.below,
           "lockstep: the clients are processes below this one; one that waits on the host for "
           "another does not stop time",
           1, 1 << 22)
      .Placeholder("PROCESS");
  command.Add("--factor", a.factor, "paced: simulated seconds in a second of wall time, at most")
      .ShowDefault()
      .Placeholder("K");
  command
      .Add("--vfs", a.vfs, "virtual functions that are enabled, with memory, before a client comes",
           0, 255)
      .ShowDefault()
      .Placeholder("N");
  command
      .Add("--card", a.cards,
           "of several cards: the card of this number is that of FILE, with its faults")
      .Placeholder("N=FILE");
  command.Add("--out", a.out, "directory of report.json, summary.txt and the trace, at the end")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command.Add("--program", a.program, "for the report: what uses the cards").Placeholder("TEXT");
  command.Add("--once", a.once, "end when the last client has gone");
  command.Add("--record", a.record, "write what all clients do to the card, for replay")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Action([args] { return RunServeCommand(*args, std::cout, std::cerr); });
}

int RunServeCommand(const ServeArguments& args, std::ostream& out, std::ostream& log) {
  const std::vector<RunConfig> configs = ConfigsOf(args);
  const RunConfig& config = configs.front();
  CatchInterrupts(0);
  std::signal(SIGPIPE, SIG_IGN);  // who reads what is served may have read enough
  std::unique_ptr<ServedReport> report;
  if (!args.out.empty()) {
    std::vector<std::string> inputs;
    if (!args.config.empty()) inputs.push_back(args.config);
    const std::string program = args.program.empty() ? "clients of serve" : args.program;
    report = std::make_unique<ServedReport>(configs, args.out, program, inputs);
  }
  const auto cards = MakeCards(configs, report.get());
  std::vector<InProcessTransport*> served;
  served.reserve(cards.size());
  for (const auto& card : cards) served.push_back(card.get());
  if (report) report->Watch(served);
  std::unique_ptr<SessionRecorder> recorder;
  if (!args.record.empty()) {
    RunConfig recorded = config;
    recorded.preset = RunConfig().preset;  // its values are in the keys
    recorder = std::make_unique<SessionRecorder>(*served.front(), args.record, ToToml(recorded));
  }
  for (size_t i = 0; args.vfs > 0 && i < served.size(); ++i) {
    driver::Transport& host =
        recorder ? recorder->transport() : static_cast<driver::Transport&>(*served[i]);
    EnableVirtualFunctions(host, configs[i], args.vfs);
  }
  ServeOptions options;
  options.directory = args.directory;
  options.time = {args.time, args.clients, args.factor, static_cast<int>(args.below)};
  options.once = args.once;
  options.recorder = recorder.get();
  options.log = [&log](const std::string& line) { log << "serve: " << line << std::endl; };
  options.lost = [&](const std::string& client) {
    if (report) report->Lost(client);
    out << fmt::format("lost {}\n", client) << std::flush;
  };
  options.listener = report.get();
  const auto functions = static_cast<unsigned>(config.card.num_vfs) + 1;
  Server server(served, functions, options);
  for (size_t card = 0; card < served.size(); ++card) {
    const std::string of = served.size() == 1 ? "" : fmt::format("card {} ", card);
    for (unsigned function = 0; function < functions; ++function)
      out << fmt::format("{}function {} at {}\n", of, function, server.PathOf(card, function));
  }
  out << "serving\n" << std::flush;
  const auto finish = [&] {
    if (recorder) recorder->Finish();
    if (report) report->Finish();
  };
  try {
    server.Run();
  } catch (const Interruption&) {
    finish();
    throw;
  }
  finish();
  return kDone;
}

}  // namespace spyre::cosim
