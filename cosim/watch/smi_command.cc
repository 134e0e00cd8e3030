// SPDX-License-Identifier: Apache-2.0
#include "cosim/watch/smi_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/config/config.h"
#include "cosim/verdict/judged_run.h"
#include "driver/pci.h"
#include "driver/vfio_transport.h"
#include "driver/vfio_user_transport.h"

namespace spyre::cosim {
namespace {

constexpr const char* kRunInterval = "100us";
constexpr const char* kCardInterval = "1";  // a second, as the public tool

struct SmiArguments {
  std::string config;
  std::vector<std::string> sets;
  std::string backend;
  std::string groups = "D";
  std::string interval;  // "": by what is watched
  std::string ids;
  bool csv = false;
  bool memory = false;
  bool idle = false;
  std::string file;
  std::string metrics;
  std::string out;
  uint64_t lines = 0;
};

constexpr const char* kLines = "lines of the card";

// There is one card; the public tool counts from 0.
void CheckIds(const std::string& ids) {
  if (ids.empty() || ids == "0") return;
  throw BadInput("-i {}: there is one card, number 0", ids).Subject("-i").Value(ids);
}

SmiSettings SettingsOf(const SmiArguments& args) {
  SmiSettings settings;
  settings.format.groups = args.groups;
  CheckGroups(args.groups);
  CheckIds(args.ids);
  if (args.memory) settings.format.groups += "MS";
  settings.format.csv = args.csv;
  const std::string usual = args.backend.empty() ? kRunInterval : kCardInterval;
  settings.format.interval_ps = ParseInterval(args.interval.empty() ? usual : args.interval, "-d");
  settings.idle = args.idle || !args.backend.empty();
  settings.metrics = args.metrics;
  return settings;
}

int WatchRun(const SmiArguments& args, PrintingMonitor& monitor, const SmiHelpers& helpers) {
  CatchInterrupts(0);
  const RunConfig config = helpers.read_config(args.config, args.sets);
  const std::string out =
      args.out.empty() ? "out/" + std::filesystem::path(args.config).stem().string() : args.out;
  SessionOptions options;
  options.inputs = {args.config};
  options.warn = helpers.warn;
  options.monitor = &monitor;
  const JudgedRun run = RunAndJudge(config, out, options);
  WriteReport(run);
  return run.Status();
}

std::unique_ptr<driver::Transport> OpenCard(const std::string& backend) {
  const size_t colon = backend.find(':');
  const std::string name = backend.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : backend.substr(colon + 1);
  if (name == "vfio-user" && !rest.empty())
    return std::make_unique<driver::VfioUserTransport>(rest,
                                                       driver::VfioUserTransport::Role::kMonitor);
  if (name == "vfio" && !rest.empty()) {
    driver::VfioOptions options;
    options.device = rest;
    return std::make_unique<driver::VfioTransport>(options);
  }
  throw BadInput(
      "--backend {}: must be vfio-user:DIR, the directory of `spyre-cosim serve`, or vfio:BDF, a "
      "PCI "
      "address",
      backend)
      .Subject("--backend")
      .Value(backend);
}

SmiReading ReadThroughRegisters(driver::Transport& card) {
  SmiReading reading;
  reading.card = driver::ReadCardCounters(card);
  reading.sensors = driver::ReadSensors(card);
  driver::FunctionRegisters registers(driver::Bar0{&card, 0});
  reading.cores = registers.ReadCapabilitiesCores();
  const uint32_t percent = std::max(reading.sensors.percent, 1u);
  reading.core_clock_mhz = uint64_t{reading.sensors.core_clock_mhz} * 100 / percent;
  return reading;
}

int WatchCard(const SmiArguments& args, PrintingMonitor& monitor) {
  CatchInterrupts(0);
  const std::unique_ptr<driver::Transport> card = OpenCard(args.backend);
  // Nothing else of the function is touched: who drives the card may do so beside.
  const uint32_t command = card->ConfigRead(0, driver::pci::kCommandStatus) & 0xFFFF;
  if ((command & driver::pci::kCommandMemory) == 0)
    card->ConfigWrite(0, driver::pci::kCommandStatus, command | driver::pci::kCommandMemory);
  monitor.Take(ReadThroughRegisters(*card));
  while (args.lines == 0 || monitor.lines() < args.lines) {
    ThrowIfInterrupted();
    card->Advance(monitor.interval_ps());
    monitor.Take(ReadThroughRegisters(*card));
  }
  return kDone;
}

int Smi(const SmiArguments& args, const SmiHelpers& helpers) {
  if (args.config.empty() == args.backend.empty())
    throw BadInput("smi: give a CONFIG, which is run, or --backend, a card to watch");
  std::optional<GrowingFile> file;
  if (!args.file.empty()) file.emplace(args.file, kLines);
  std::ostream& out = file ? file->stream() : std::cout;
  PrintingMonitor monitor(SettingsOf(args), &out);
  const int status =
      args.backend.empty() ? WatchRun(args, monitor, helpers) : WatchCard(args, monitor);
  if (!out.flush()) throw BadInput("smi: cannot write all of the lines");
  return status;
}

}  // namespace

void AddSmiCommand(command_line::Command& root, const SmiHelpers& helpers) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("smi", "Watch a card as the card's public monitor does (docs/telemetry.md)");
  command.Footer(kExitText);
  const auto args = std::make_shared<SmiArguments>();
  SmiArguments& a = *args;
  command
      .Add("CONFIG", a.config,
           "what is run, as CONFIG of `run`; a line for each interval of simulated time")
      .Completes(Words::kFiles);
  helpers.add_sets(command, a.sets);
  command
      .Add("--backend", a.backend,
           "card to watch instead: vfio-user:DIR, which `serve` serves there, or vfio:BDF")
      .Placeholder("CARD");
  command
      .Add("-g,--metric-groups", a.groups,
           "columns beside power, temperature and busy: D data rates, R requests, M reserved "
           "memory, "
           "U used memory, P PT arrays, S segments, A all")
      .ShowDefault()
      .Placeholder("GROUPS");
  command
      .Add("-d,--delay", a.interval,
           "interval, as in 100us, 1ms or 2 (seconds); of a run 100us, else 1 s")
      .Placeholder("TIME");
  command.Add("-i,--id", a.ids, "cards to watch, by number").Placeholder("ID,...");
  command.Add("-s,--csv", a.csv, "comma-separated values");
  command.Add("-f,--filename", a.file, "file for the lines, instead of standard output")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Add("--mem-details", a.memory, "reserved memory, and its segments");
  command.Add("--idle", a.idle, "of a run: also the intervals in which the card does nothing");
  command
      .Add("--metrics", a.metrics,
           "metric file in the public binary format, which always has the latest reading")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Add("--lines", a.lines, "of a card: end after so many; 0: until interrupted")
      .Placeholder("N");
  command.Add("--out", a.out, "of a run: directory of its results (out/ and the file's name)")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command.Action([args, helpers] { return Smi(*args, helpers); });
}

void AddMonitorOptions(command_line::Command& command, MonitorArguments& args) {
  using command_line::Words;
  command
      .Add("--smi", args.table,
           "write what `smi` prints, all groups, a line for each --smi-interval with work")
      .Placeholder("FILE")
      .Completes(Words::kFiles)
      .Group("Output");
  command
      .Add("--metrics", args.metrics,
           "write a metric file in the public binary format (docs/telemetry.md)")
      .Placeholder("FILE")
      .Completes(Words::kFiles)
      .Group("Output");
  command.Add("--smi-interval", args.interval, "simulated time between two readings of these")
      .ShowDefault()
      .Placeholder("TIME")
      .Group("Output");
}

std::unique_ptr<PrintingMonitor> MakeMonitor(const MonitorArguments& args,
                                             std::optional<GrowingFile>& table) {
  if (args.table.empty() && args.metrics.empty()) return nullptr;
  SmiSettings settings;
  settings.format.groups = "A";
  settings.format.interval_ps = ParseInterval(args.interval, "--smi-interval");
  settings.metrics = args.metrics;
  if (!args.table.empty()) table.emplace(args.table, kLines);
  return std::make_unique<PrintingMonitor>(settings, table ? &table->stream() : nullptr);
}

}  // namespace spyre::cosim
