// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/run_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/effect.h"
#include "cosim/config/toml_json.h"
#include "cosim/trials/processes.h"
#include "cosim/verdict/failure.h"
#include "cosim/verdict/judged_run.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxCases = 100'000;

const std::vector<std::string>& ListKeys() {
  static const std::vector<std::string> keys = {"dims",  "tensors", "ops",
                                                "hints", "outputs", "plan"};
  return keys;
}

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

const char* StatusWord(int status) {
  switch (status) {
    case kDone:
      return "passed";
    case kWrong:
      return "failed";
    case kBadInputStatus:
      return "refused";
    case kFaultStatus:
      return "fault";
    default:
      return "error";
  }
}

// An id names a directory.
std::string CheckId(const std::string& id) {
  const bool usable =
      !id.empty() && id.size() <= 100 && id.front() != '.' && AllFit(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      });
  if (usable) return id;
  throw BadInput("id \"{}\" must be 1 to 100 letters, digits, dots, - and _, no dot first", id);
}

// The lines of one file.
class CaseReader {
 public:
  CaseReader(const RunArguments& args, std::string out) : args_(args), out_(std::move(out)) {}

  // Sets run.id as soon as it is known. Throws for a line that is not a case.
  void Read(const std::string& line, RunCase& run) {
    Json value;
    CheckJsonText(line, "the line");
    try {
      value = JsonOf(line);
    } catch (const Json::parse_error& error) {
      throw BadInput("not valid JSON: {}", error.what());
    }
    if (!value.is_object()) throw BadInput("must be an object, found {}", DumpJson(value));
    run.id = IdOf(value, run.line);
    if (!ids_.insert(run.id).second) throw BadInput("the id \"{}\" is there twice", run.id);
    CheckKeys(value);
    run.out = out_ + "/" + run.id;
    const std::vector<std::string> sets = SetsOf(value);
    const bool has_list = value.contains("ops");
    std::string config = args_.config;
    if (value.contains("config")) config = FromFile(TextOf(value, "config"));
    run.config = ConfigOf(config, sets, args_.bundle);
    if (has_list) {
      TakeList(value, run);
    } else if (config.empty()) {
      throw BadInput("nothing to run: give ops, or config, or a configuration before --cases");
    } else {
      for (const std::string& key : ListKeys()) {
        if (value.contains(key))
          throw BadInput("{} is of a list of operations, and the line has no ops", key);
      }
    }
  }

 private:
  static std::string IdOf(const Json& value, uint64_t line) {
    const auto id = value.find("id");
    if (id == value.end()) return std::to_string(line);
    if (id->is_number_integer()) return CheckId(id->dump());
    if (!id->is_string())
      throw BadInput("id must be a text or a whole number, found {}", id->dump());
    return CheckId(id->get<std::string>());
  }

  static std::string TextOf(const Json& value, const char* key) {
    if (!value[key].is_string())
      throw BadInput("{} must be a text, found {}", key, DumpJson(value[key]));
    return value[key].get<std::string>();
  }

  static void CheckKeys(const Json& value) {
    std::vector<std::string> known = {"id", "config", "set"};
    known.insert(known.end(), ListKeys().begin(), ListKeys().end());
    for (const auto& [key, item] : value.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw BadInput("unknown key '{}'{}", key, DidYouMean(key, known));
    }
  }

  std::string FromFile(const std::string& path) const {
    const fs::path given = path;
    if (!given.is_relative()) return path;
    return (fs::absolute(args_.cases).parent_path() / given).lexically_normal().string();
  }

  // Those of the command line, then the line's own.
  std::vector<std::string> SetsOf(const Json& value) const {
    std::vector<std::string> sets = args_.sets;
    const auto own = value.find("set");
    if (own == value.end()) return sets;
    if (!own->is_object()) throw BadInput("set must be an object of keys and values");
    for (const auto& [key, item] : own->items()) sets.push_back(key + "=" + TomlOfJson(item));
    return sets;
  }

  // The list becomes a file beside the directory of the case, which `run` takes too.
  void TakeList(const Json& value, RunCase& run) const {
    if (HasOpList(run.config.workload) || !run.config.workload.bundle.empty())
      throw BadInput("the line has ops of its own, and its configuration has a workload too");
    Json list = Json::object();
    for (const std::string& key : ListKeys())
      if (value.contains(key)) list[key] = value[key];
    if (list.contains("tensors") && list["tensors"].is_array()) {
      for (Json& tensor : list["tensors"]) {
        if (tensor.is_object() && tensor.contains("file") && tensor["file"].is_string())
          tensor["file"] = FromFile(tensor["file"].get<std::string>());
      }
    }
    run.config.workload.graph = run.out + ".json";
    WriteFile(run.config.workload.graph, DumpJson(list, 1) + "\n", "list of operations");
  }

  const RunArguments& args_;
  const std::string out_;
  std::set<std::string> ids_;
};

class Results {
 public:
  explicit Results(std::ostream& out) : out_(out) {}

  void Add(uint64_t line, const std::string& id, Json fields) {
    const int status = fields["exit_status"].get<int>();
    Json result = {{"id", id.empty() ? Json(nullptr) : Json(id)},
                   {"line", line},
                   {"status", StatusWord(status)}};
    result.update(fields);
    out_ << DumpJson(result) << std::endl;
    ++counts_[status];
    worst_ = std::max(worst_, status);
  }

  int worst() const { return worst_; }
  std::string Summary() const {
    size_t all = 0;
    std::string parts;
    for (const auto& [status, count] : counts_) {
      all += count;
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, StatusWord(status));
    }
    return fmt::format("{} case{}: {}", all, all == 1 ? "" : "s", parts);
  }

 private:
  std::ostream& out_;
  std::map<int, size_t> counts_;  // by exit status
  int worst_ = kDone;
};

struct CaseEntry {
  RunCase run;
  Json refusal;  // not null: the line is not a case
};

std::vector<CaseEntry> ReadCases(const RunArguments& args, const std::string& out) {
  InputFile file = OpenFile(args.cases, "file of cases", UINT64_MAX);
  std::error_code error;
  fs::create_directories(out, error);
  if (error) throw BadInput("--out {}: cannot make the directory: {}", out, error.message());
  std::vector<CaseEntry> entries;
  LineReader lines(file.stream, args.cases);
  CaseReader reader(args, out);
  for (std::string line; lines.Next(line);) {
    if (line.find_first_not_of(" \t\r\n\v\f") == std::string::npos) continue;
    if (entries.size() == kMaxCases)
      throw BadInput("{}: more than {} cases; cut the file", args.cases, kMaxCases);
    CaseEntry entry;
    entry.run.line = lines.number();
    try {
      reader.Read(line, entry.run);
    } catch (const std::exception&) {
      Failure failure = CurrentFailure();
      failure.message = fmt::format("{}, line {}: {}", args.cases, lines.number(), failure.message);
      entry.refusal = ToJson(failure);
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) throw BadInput("{}: there is no case in it", args.cases);
  return entries;
}

}  // namespace

Json RunSessionOf(const RunCase& run) {
  const JudgedRun judged = RunAndJudge(run.config, run.out);
  const RunResult& result = judged.result;
  const Json whole = JsonOf(WriteReport(judged));
  Json fields = {{"exit_status", static_cast<int>(judged.Status())}, {"verified", nullptr}};
  if (const std::optional<bool> verified = judged.Verified()) fields["verified"] = *verified;
  double device_ns = 0;
  for (const Json& kernel : whole["kernels"]) device_ns += kernel["device_ns"].get<double>();
  fields["device_ns"] = device_ns;
  fields["launch_ns"] = whole["launch_ns"];
  fields["device_memory"] = whole["device_memory"];
  // By the closed form there are no counters of a card.
  fields["bound_by"] =
      result.formula ? whole["fast"]["bound_by"] : whole["roofline"]["launches"]["bound_by"];
  if (result.verification && !result.verification->passed())
    fields["mismatches"] = result.verification->mismatches;
  if (const std::vector<std::string> unmet = judged.Unmet(); !unmet.empty())
    fields["unmet"] = unmet;
  if (!result.warnings.empty()) fields["warnings"] = result.warnings;
  fields["report"] = run.out + "/report.json";
  return fields;
}

int RunCases(const RunArguments& args, const CaseRunner& runner, std::ostream& results,
             std::ostream& messages) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string out =
      args.out.empty() ? "out/" + fs::path(args.cases).stem().string() : args.out;
  const std::vector<CaseEntry> entries = ReadCases(args, out);
  Results all(results);
  RunInProcesses(
      entries.size(), args.jobs,
      [&](size_t number) {
        const CaseEntry& entry = entries[number];
        if (!entry.refusal.is_null()) return entry.refusal;
        const auto start = std::chrono::steady_clock::now();
        CatchInterrupts(args.limit);
        Json fields = AnswerOrFailure([&] { return runner(entry.run); });
        fields["wall_s"] = Seconds(std::chrono::steady_clock::now() - start);
        return fields;
      },
      Order::kByNumber,
      [&](size_t number, Json fields) {
        all.Add(entries[number].run.line, entries[number].run.id, std::move(fields));
      });
  messages << fmt::format("spyre-cosim: {}: {} in {:.1f} s; reports in {}\n", args.cases,
                          all.Summary(), Seconds(std::chrono::steady_clock::now() - begin), out)
           << std::flush;
  return all.worst();
}

}  // namespace spyre::cosim
