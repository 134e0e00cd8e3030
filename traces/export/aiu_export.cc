// SPDX-License-Identifier: Apache-2.0
#include "traces/export/aiu_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "traces/export/aiu_kernels.h"
#include "traces/export/counters.h"
#include "traces/lanes.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kHostPid = 1000;  // and the rank: a host process a rank
// Tracks of the device.
constexpr uint32_t kExecTid = 1, kCopyInTid = 2, kCopyOutTid = 3, kCounterTid = 4;
constexpr uint32_t kFirstPrepTid = 100;

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

// Cycles of a SoC clock of 1000 MHz: nanoseconds, of which the card keeps 32 bits.
std::string Stamp(uint64_t ns) { return fmt::to_string(ns & 0xFFFFFFFF); }

class AiuWriter {
 public:
  AiuWriter(const Trace& trace, const AiuOptions& options)
      : trace_(trace), options_(options), calls_(AiuCallsOf(trace)) {}

  void Write(std::ostream& out) {
    for (const AiuKernel& kernel : calls_.kernels) AddKernel(kernel);
    for (const AiuCopy& copy : calls_.copies) AddCopy(copy);
    AddHostCalls();
    AddMemoryEvents();
    AddCounters();
    // Viewers and the tool read front to back; of two that begin together the longer is outside.
    StableSort(events_, [](const Event& a, const Event& b) {
      return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : a.dur_ns > b.dur_ns;
    });
    const Json head = {
        {"schemaVersion", 1},
        {"deviceProperties", Json::array({{{"id", options_.rank}, {"name", "Spyre"}}})},
        {"distributedInfo",
         {{"backend", "none"}, {"rank", options_.rank}, {"world_size", options_.world_size}}},
        {"displayTimeUnit", "ns"}};
    std::string text = DumpJson(head);
    text.pop_back();
    out << text << ",\"traceEvents\":[\n";
    bool first = true;
    for (const Event& event : events_) {
      out << (first ? "" : ",\n") << DumpJson(event.json);
      first = false;
    }
    out << "\n]}\n";
  }

 private:
  struct Event {
    uint64_t ts_ns, dur_ns;
    Json json;
  };

  void Add(const char* category, std::string name, uint32_t pid, uint32_t tid, uint64_t start_ns,
           uint64_t end_ns, Json args) {
    events_.push_back({start_ns,
                       end_ns - start_ns,
                       {{"ph", "X"},
                        {"cat", category},
                        {"name", std::move(name)},
                        {"pid", pid},
                        {"tid", tid},
                        {"ts", Microseconds(start_ns)},
                        {"dur", Microseconds(end_ns - start_ns)},
                        {"args", std::move(args)}}});
  }
  Json DeviceArgs(uint64_t correlation, uint32_t stream, uint64_t queued_ns) const {
    return {{"device", options_.rank},
            {"stream", stream},
            {"context", 1},
            {"correlation", correlation},
            {"queued", Microseconds(queued_ns)},
            {"submitted", Microseconds(queued_ns)}};
  }

  void AddKernel(const AiuKernel& kernel) {
    Json args = DeviceArgs(kernel.correlation, kernel.stream, kernel.queued_ns);
    args["TS1"] = args["TS2"] = Stamp(kernel.queued_ns);
    args["TS3"] = Stamp(kernel.start_ns);
    args["TS4"] = args["TS5"] = Stamp(kernel.end_ns);
    if (kernel.queued_ns < kernel.start_ns) {
      Add("gpu_prep", kernel.name + " Cmpt Prep", options_.rank,
          kFirstPrepTid + PrepLane(kernel.queued_ns, kernel.start_ns), kernel.queued_ns,
          kernel.start_ns, args);
    }
    args["ideal cycles"] = kernel.ideal_cycles;
    Add("kernel", kernel.name + " Cmpt Exec", options_.rank, kExecTid, kernel.start_ns,
        kernel.end_ns, std::move(args));
    AddArrow("f", kernel.correlation, options_.rank, kExecTid, kernel.start_ns);
  }

  // Preparations of kernels that wait overlap.
  uint32_t PrepLane(uint64_t start_ns, uint64_t end_ns) {
    size_t lane = 0;
    while (lane < prep_until_ns_.size() && prep_until_ns_[lane] > start_ns) ++lane;
    if (lane == prep_until_ns_.size()) prep_until_ns_.push_back(0);
    prep_until_ns_[lane] = end_ns;
    return static_cast<uint32_t>(lane);
  }

  void AddCopy(const AiuCopy& copy) {
    Json args = DeviceArgs(copy.correlation, copy.stream, copy.queued_ns);
    const uint64_t in_ns = copy.to_device ? copy.end_ns : copy.start_ns;
    args["TS1"] = Stamp(copy.start_ns);
    args["TS2"] = args["TS3"] = args["TS4"] = Stamp(in_ns);
    args["TS5"] = Stamp(copy.end_ns);
    args["bytes"] = copy.bytes;
    args["Bytes"] = fmt::to_string(copy.bytes);
    args["memory bandwidth (GB/s)"] =
        static_cast<double>(copy.bytes) / static_cast<double>(copy.end_ns - copy.start_ns);
    Add("gpu_memcpy", copy.to_device ? "Memcpy (HtoD) DmaI" : "Memcpy (DtoH) DmaO", options_.rank,
        copy.to_device ? kCopyInTid : kCopyOutTid, copy.start_ns, copy.end_ns, std::move(args));
  }

  void AddHostCalls() {
    const Lanes lanes = AssignLanes(trace_);
    std::map<std::pair<TrackId, uint32_t>, uint32_t> tids;
    std::set<uint64_t> launched;  // correlations whose arrow has begun
    for (const uint32_t index : lanes.order) {
      const Record& record = trace_.records[index];
      const uint64_t start_ns = record.start_ps / 1000, end_ns = record.end_ps / 1000;
      if (record.category != kHost || end_ns <= start_ns) continue;
      const auto tid = tids.emplace(std::pair{record.track, lanes.lane[index]},
                                    static_cast<uint32_t>(tids.size() + 1))
                           .first->second;
      const std::string& call = trace_.names[record.name];
      const std::string name = AiuRuntimeName(call);
      const auto round = calls_.round_of.find(record.flow);
      const uint64_t correlation = round == calls_.round_of.end() ? record.flow : round->second;
      Json args = {{"correlation", correlation}};
      if (record.bytes > 0) args["bytes"] = record.bytes;
      if (call == "submit") args["num_cbs"] = 1;
      const uint32_t pid = kHostPid + options_.rank;
      Add("cuda_runtime", name.empty() ? call : name, pid, tid, start_ns, end_ns, std::move(args));
      if (call == "submit" && round != calls_.round_of.end() && launched.insert(correlation).second)
        AddArrow("s", correlation, pid, tid, start_ns);
    }
  }

  // Allocations of device memory, with what is held afterwards.
  void AddMemoryEvents() {
    std::vector<const Record*> changes;
    for (const Record& record : trace_.records) {
      const std::string& name = trace_.names[record.name];
      if (record.category == kHost && trace_.tracks[record.track].name == "device memory" &&
          (name == "allocate" || name == "free"))
        changes.push_back(&record);
    }
    StableSort(changes, [](const Record* a, const Record* b) { return a->start_ps < b->start_ps; });
    int64_t allocated = 0;
    for (const Record* record : changes) {
      const auto size = static_cast<int64_t>(record->bytes);
      const int64_t bytes = trace_.names[record->name] == "free" ? -size : size;
      allocated += bytes;
      const uint64_t ns = record->start_ps / 1000;
      events_.push_back({ns,
                         0,
                         {{"ph", "i"},
                          {"s", "t"},
                          {"cat", "cpu_instant_event"},
                          {"name", "[memory]"},
                          {"pid", kHostPid + options_.rank},
                          {"tid", 0},
                          {"ts", Microseconds(ns)},
                          {"args",
                           {{"Bytes", bytes},
                            {"Addr", uint64_t{record->detail} * 128},
                            {"Total Allocated", allocated},
                            {"Device Id", options_.rank}}}}});
    }
  }

  // Draws an arrow from the call that handed over the first control block to the kernels with the
  // same correlation.
  void AddArrow(const char* phase, uint64_t correlation, uint32_t pid, uint32_t tid, uint64_t ns) {
    Json arrow = {{"ph", phase}, {"cat", "ac2g"}, {"name", "ac2g"},        {"id", correlation},
                  {"pid", pid},  {"tid", tid},    {"ts", Microseconds(ns)}};
    if (*phase == 'f') arrow["bp"] = "e";
    events_.push_back({ns, 0, std::move(arrow)});
  }

  void AddCounters() {
    const Counters counters = CountersOf(trace_);
    for (const Counter& counter : counters.counters) {
      double last = -1;
      for (size_t i = 0; i <= counter.values.size(); ++i) {
        const double value = i == counter.values.size() ? 0 : counter.values[i];
        if (value == last) continue;
        last = value;
        const uint64_t ns = (counters.from_ps + i * counters.period_ps) / 1000;
        events_.push_back({ns,
                           0,
                           {{"ph", "C"},
                            {"name", counter.name},
                            {"pid", options_.rank},
                            {"tid", kCounterTid},
                            {"ts", Microseconds(ns)},
                            {"args", {{counter.unit, value}}}}});
      }
    }
  }

  const Trace& trace_;
  const AiuOptions options_;
  const AiuCalls calls_;
  std::vector<uint64_t> prep_until_ns_;  // by lane
  std::vector<Event> events_;
};

}  // namespace

void ExportAiu(const Trace& trace, const AiuOptions& options, std::ostream& out) {
  AiuWriter(trace, options).Write(out);
}

std::vector<IdealCycles> IdealCyclesOf(const Trace& trace) {
  std::vector<IdealCycles> table;
  const AiuCalls calls = AiuCallsOf(trace);
  if (calls.kernels.empty()) return table;
  const uint64_t first_round = calls.kernels.front().correlation;
  for (const AiuKernel& kernel : calls.kernels) {
    if (kernel.correlation != first_round) continue;  // the others are the same again
    auto known =
        FindIf(table, [&kernel](const IdealCycles& entry) { return entry.kernel == kernel.name; });
    if (known == table.end()) {
      known = table.insert(table.end(), {kernel.name, {}, kernel.has_macs ? "matmul" : "vector"});
    }
    // The tool divides by them, and leaves out kernels that have none.
    known->cycles.push_back(std::max<uint64_t>(kernel.ideal_cycles, 1));
  }
  return table;
}

std::vector<std::string> WriteIdealCycles(const Trace& trace, const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (const IdealCycles& entry : IdealCyclesOf(trace)) {
    std::string name = entry.kernel;
    std::replace(name.begin(), name.end(), '/', '_');  // of a bundle's files: no directories
    const fs::path directory = fs::path(path).parent_path() / "inductor-spyre" / name / "perf";
    std::error_code error;
    fs::create_directories(directory, error);
    Json entries = Json::array();
    for (const uint64_t cycles : entry.cycles)
      entries.push_back({{"ideal_cycles", cycles}, {"op_category", entry.category}});
    paths.push_back((directory / "ideal_cycles.json").string());
    WriteFile(paths.back(), DumpJson(entries, 2) + "\n", "ideal cycles");
  }
  return paths;
}

}  // namespace spyre::trace
