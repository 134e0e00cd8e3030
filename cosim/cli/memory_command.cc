// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/memory_command.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/time_units.h"
#include "cosim/cli/common_options.h"
#include "cosim/config/config.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// A line for each access: some fifty million.
constexpr uint64_t kMaxTraceBytes = 1ull << 30;
constexpr uint64_t kMaxOutstanding = 65536;

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Where the time of a bus went, in the order of both outputs.
struct Use {
  const char* name;
  const char* header;
  uint64_t ps;
};
std::vector<Use> ChannelUses(const model::ChannelStatistics& s) {
  return {{"data", "data", s.busy_ps - s.check_ps},
          {"ecc", "ECC", s.check_ps},
          {"row", "row", s.lost_row_ps},
          {"bank_group", "group", s.lost_bank_group_ps},
          {"turnaround", "turn", s.lost_turnaround_ps},
          {"refresh", "refresh", s.lost_refresh_ps},
          {"idle", "idle", s.idle_ps}};
}
double RowHitRate(const model::ChannelStatistics& s) {
  return Share(s.row_hits, s.row_hits + s.row_misses + s.row_conflicts);
}

// One unit with what it is measured against.
struct View {
  const MemoryUnitResult& unit;
  uint64_t elapsed_ps;
  uint64_t bus_ps;  // elapsed time of all its buses
  double peak_gbps;

  double Gbps() const { return Share(unit.statistics.bytes(), elapsed_ps) * 1e3; }
};
View AllOf(const MemoryResult& r) {
  return {r.all, r.elapsed_ps, r.elapsed_ps * r.channels.size(), r.peak_gbps};
}
View ChannelOf(const MemoryResult& r, size_t i) {
  return {r.channels[i], r.elapsed_ps, r.elapsed_ps,
          r.peak_gbps / static_cast<double>(r.channels.size())};
}

std::string Text(const MemoryResult& r, const std::string& what) {
  std::string text = fmt::format("{}\n{} requests in {} on {} channels of {:.1f} GB/s\n\n", what,
                                 r.requests, trace::FormatTime(r.elapsed_ps), r.channels.size(),
                                 r.peak_gbps / static_cast<double>(r.channels.size()));
  std::vector<std::string> header = {"memory", "GB/s", "of peak", "row hits"};
  for (const Use& use : ChannelUses({})) header.emplace_back(use.header);
  trace::Table use_table(header);
  trace::Table latency_table({"latency", "count", "mean ns", "p95 ns", "p99 ns", "max ns"});
  const auto add_latency = [&](const std::string& name, const LatencyHistogram& latency) {
    if (latency.count() == 0) return;
    latency_table.Add({name, fmt::format("{}", latency.count()),
                       fmt::format("{:.1f}", latency.mean_ps() * 1e-3),
                       fmt::format("{:.1f}", Nanoseconds(latency.PercentilePs(0.95))),
                       fmt::format("{:.1f}", Nanoseconds(latency.PercentilePs(0.99))),
                       fmt::format("{:.1f}", Nanoseconds(latency.max_ps()))});
  };
  const auto add = [&](const std::string& name, const View& view) {
    const model::ChannelStatistics& s = view.unit.statistics;
    std::vector<std::string> row = {name, fmt::format("{:.1f}", view.Gbps()),
                                    trace::FormatPercent(view.Gbps() / view.peak_gbps),
                                    trace::FormatPercent(RowHitRate(s))};
    for (const Use& use : ChannelUses(s))
      row.push_back(trace::FormatPercent(Share(use.ps, view.bus_ps)));
    use_table.Add(row);
    add_latency(name + " reads", view.unit.reads);
    add_latency(name + " writes", view.unit.writes);
  };
  add("all", AllOf(r));
  for (size_t i = 0; i < r.channels.size(); ++i)
    add(fmt::format("channel {:02}", i), ChannelOf(r, i));
  text += use_table.ToString() + "\n" + latency_table.ToString();
  if (r.all.statistics.writes > 0)
    text += "\nA write's latency ends when the write queues have all of it.\n";
  return text;
}

Json LatencyJson(const LatencyHistogram& latency) {
  return {{"count", latency.count()},
          {"mean_ns", latency.mean_ps() * 1e-3},
          {"p95_ns", Nanoseconds(latency.PercentilePs(0.95))},
          {"p99_ns", Nanoseconds(latency.PercentilePs(0.99))},
          {"max_ns", Nanoseconds(latency.max_ps())}};
}

Json UnitJson(const View& view) {
  const model::ChannelStatistics& s = view.unit.statistics;
  Json shares;
  for (const Use& use : ChannelUses(s)) shares[use.name] = Share(use.ps, view.bus_ps);
  return {{"bytes_read", s.read_bytes},
          {"bytes_written", s.write_bytes},
          {"bandwidth_gbps", view.Gbps()},
          {"peak_gbps", view.peak_gbps},
          {"of_peak", view.Gbps() / view.peak_gbps},
          {"row_hit_rate", RowHitRate(s)},
          {"row_hits", s.row_hits},
          {"row_misses", s.row_misses},
          {"row_conflicts", s.row_conflicts},
          {"activates", s.activates},
          {"refreshes", s.refreshes},
          {"turnarounds", s.turnarounds},
          {"forwarded_reads", s.forwarded},
          {"bus_share", shares},
          {"read_latency", LatencyJson(view.unit.reads)},
          {"write_latency", LatencyJson(view.unit.writes)}};
}

std::string JsonText(const MemoryResult& r) {
  Json root = {{"requests", r.requests},
               {"elapsed_ns", Nanoseconds(r.elapsed_ps)},
               {"all", UnitJson(AllOf(r))},
               {"channels", Json::array()}};
  for (size_t i = 0; i < r.channels.size(); ++i)
    root["channels"].push_back(UnitJson(ChannelOf(r, i)));
  return DumpJson(root, 2) + "\n";
}

model::CardConfig LoadCard(const MemoryOptions& options) {
  std::vector<std::string> sets;
  if (!options.card.empty()) sets.push_back("card.preset=" + TomlString(options.card));
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  if (options.channels) sets.push_back(fmt::format("card.memory.channels={}", *options.channels));
  return LoadConfig("", sets).card;
}

void CheckLoad(const MemoryLoad& load) {
  if (load.outstanding == 0 || load.outstanding > kMaxOutstanding) {
    throw BadInput("--outstanding {} is out of range; allowed: 1 .. {}", load.outstanding,
                   kMaxOutstanding);
  }
  // The negation refuses what is not a number, too.
  if (!(load.rate >= 0 && load.rate <= 1))
    throw BadInput("--rate {} of the peak is outside 0 .. 1", load.rate);
}

}  // namespace

void AddMemoryCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command = root.AddCommand(
      "memory", "What memory gives by itself, under a trace or a pattern of requests");
  command.Footer("Exit status: 0 done; 2 bad input. Examples are in docs/memory.md.");
  const auto options = std::make_shared<MemoryOptions>();
  MemoryOptions& o = *options;
  command_line::Option& trace =
      command
          .Add("--trace", o.trace, "file of requests, a line each: [ARRIVAL_NS] R|W ADDRESS BYTES")
          .Placeholder("FILE")
          .Completes(Words::kFiles);
  command.Add("--pattern", o.pattern.pattern, "sequential, random, stride or mix")
      .ShowDefault()
      .Placeholder("NAME")
      .Suggests({"sequential", "random", "stride", "mix"})
      .Excludes(trace);
  command.Add("--requests", o.pattern.requests, "requests of a pattern").ShowDefault();
  command.Add("--read-fraction", o.pattern.read_fraction, "share of reads, 0 .. 1").ShowDefault();
  command.Add("--block", o.pattern.block_bytes, "bytes of a request").ShowDefault();
  command.Add("--stride", o.pattern.stride_bytes,
              "bytes from request to request (stride), of a stream's region (mix); 2 MiB");
  command.Add("--streams", o.pattern.streams, "requesters of mix").ShowDefault();
  command.Add("--seed", o.pattern.seed, "of everything random").ShowDefault();
  command_line::Option& outstanding =
      command.Add("--outstanding", o.load.outstanding, "requests in flight of each stream")
          .ShowDefault();
  command
      .Add("--rate", o.load.rate,
           "requests come at this share of the peak, however many are in flight")
      .Excludes(outstanding);
  command.Add("--channels", o.channels, "as card.memory.channels");
  command.Add("--card", o.card, "card preset or TOML file, as card.preset")
      .Placeholder("CARD")
      .Completes(Words::kFiles);
  command.Add("--json", o.json, "as JSON");
  AddSets(command, o.sets);
  command.Action([options] { return RunMemoryCommand(*options, std::cout); });
}

int RunMemoryCommand(const MemoryOptions& options, std::ostream& out) {
  CheckLoad(options.load);
  const model::CardConfig card = LoadCard(options);
  const PatternOptions& p = options.pattern;
  std::unique_ptr<MemoryTraffic> traffic;
  std::string what = options.trace;
  if (options.trace.empty()) {
    traffic = MakePattern(p, card.usable_bytes());
    what = fmt::format("{}{} of {} bytes, {} reads", p.pattern,
                       p.pattern == "mix" ? fmt::format(" of {} streams", p.streams) : "",
                       p.block_bytes, trace::FormatPercent(p.read_fraction));
  } else {
    traffic = ParseTrace(ReadFile(options.trace, "memory trace", kMaxTraceBytes), options.trace,
                         card.usable_bytes());
  }
  const MemoryResult result = RunMemory(card.memory, *traffic, options.load);
  out << (options.json ? JsonText(result) : Text(result, what));
  return 0;
}

}  // namespace spyre::cosim
