// SPDX-License-Identifier: Apache-2.0
#include "traces/export/text_export.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json_text.h"
#include "traces/lanes.h"

namespace spyre::trace {
namespace {

constexpr size_t kFlushBytes = 1 << 20;

std::string Quoted(const std::string& text) { return DumpJson(nlohmann::json(text)); }

// Commas or quotes in a field: the field in quotes, its quotes doubled.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

class ChromeExporter {
 public:
  ChromeExporter(const Trace& trace, std::ostream& out)
      : trace_(trace), out_(out), lanes_(AssignLanes(trace)) {}

  void Run() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":" + trace_.metadata + ",\"traceEvents\":[";
    WriteProcesses();
    std::vector<std::string> names;
    for (const std::string& name : trace_.names) names.push_back(Quoted(name));
    for (const Record& record : trace_.records) {
      if (record.flow != 0 && record.end_ps > record.start_ps) ++flows_[record.flow].left;
    }
    // In time order, so that a flow's events go from its first slice to its last.
    for (const Event& event : Events(trace_, lanes_)) {
      if (event.kind == Event::kEnd) continue;
      const Record& record = trace_.records[event.record];
      WriteRecord(record, names[record.name], tid_[record.track] + lanes_.lane[event.record]);
    }
    text_ += "\n]}\n";
    Flush();
  }

 private:
  struct Flow {
    uint64_t left = 0;  // slices still to come
    bool started = false;
  };

  template <typename... Args>
  void Emit(fmt::format_string<Args...> format, Args&&... args) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_ += fmt::format(format, std::forward<Args>(args)...);
    if (text_.size() > kFlushBytes) Flush();
  }
  void Flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }
  // Microseconds, exactly.
  static std::string Time(uint64_t ps) {
    return fmt::format("{}.{:06}", ps / 1000000, ps % 1000000);
  }

  void WriteProcesses() {
    pid_.resize(trace_.tracks.size());
    tid_.resize(trace_.tracks.size());
    uint64_t pid = 0, tid = 0;
    for (const ProcessTracks& process : Processes(trace_)) {
      ++pid;
      Emit(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid,
           Quoted(process.name));
      Emit(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", pid,
           pid);
      for (const TrackId id : process.tracks) {
        pid_[id] = pid;
        tid_[id] = tid + 1;
        for (uint32_t lane = 0; lane < lanes_.count[id]; ++lane) {
          ++tid;
          const std::string suffix = lane == 0 ? "" : fmt::format(" ({})", lane + 1);
          Emit(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", pid,
               tid, Quoted(trace_.tracks[id].name + suffix));
          Emit(
              R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
              pid, tid, tid);
        }
      }
    }
  }

  void WriteRecord(const Record& record, const std::string& name, uint64_t tid) {
    const uint64_t pid = pid_[record.track];
    const char* category = CategoryName(static_cast<Category>(record.category));
    const std::string args =
        fmt::format(R"({{"flow":{},"bytes":{},"{}":{}}})", record.flow, record.bytes,
                    record.category == kControl ? "stream" : "detail", record.detail);
    if (record.start_ps == record.end_ps) {
      Emit(R"({{"ph":"i","s":"t","ts":{},"pid":{},"tid":{},"cat":"{}","name":{},"args":{}}})",
           Time(record.start_ps), pid, tid, category, name, args);
      return;
    }
    Emit(R"({{"ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"cat":"{}","name":{},"args":{}}})",
         Time(record.start_ps), Time(record.end_ps - record.start_ps), pid, tid, category, name,
         args);
    if (record.flow == 0) return;
    Flow& flow = flows_[record.flow];
    --flow.left;
    if (flow.left == 0 && !flow.started) return;  // alone
    const char* phase = !flow.started ? "s" : flow.left > 0 ? "t" : "f";
    flow.started = true;
    Emit(
        R"({{"ph":"{}","bp":"e","id":{},"ts":{},"pid":{},"tid":{},"cat":"flow","name":"control block"}})",
        phase, record.flow, Time(record.start_ps), pid, tid);
  }

  const Trace& trace_;
  std::ostream& out_;
  Lanes lanes_;
  std::vector<uint64_t> pid_, tid_;  // by track
  std::unordered_map<uint64_t, Flow> flows_;
  std::string text_;
  bool is_first_ = true;
};

}  // namespace

void ExportChrome(const Trace& trace, std::ostream& out) { ChromeExporter(trace, out).Run(); }

void ExportCsv(const Trace& trace, std::ostream& out) {
  std::string text = "start_ps,end_ps,process,track,category,name,flow,bytes,detail\n";
  for (const Record& record : trace.records) {
    const Track& track = trace.tracks[record.track];
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{}\n", record.start_ps, record.end_ps, CsvField(track.process),
        CsvField(track.name), CategoryName(static_cast<Category>(record.category)),
        CsvField(trace.names[record.name]), record.flow, record.bytes, record.detail);
    if (text.size() < kFlushBytes) continue;
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace spyre::trace
