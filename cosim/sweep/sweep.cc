// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <utility>

#include "base/build_info/build_info.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/config/direction.h"
#include "cosim/config/toml_json.h"
#include "cosim/config/toml_text.h"
#include "cosim/sweep/config_keys.h"
#include "cosim/sweep/journal.h"
#include "cosim/sweep/slurm_sweep.h"
#include "cosim/sweep/sqlite_file.h"
#include "cosim/sweep/sweep_page.h"
#include "cosim/sweep/sweep_text.h"
#include "cosim/trials/progress.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

JournalHeader HeaderOf(const PlannedSweep& planned) {
  const BuildInfo& build = ThisBuild();
  return {planned.digest, planned.points.size(),
          fmt::format("{}{}", build.commit, build.modified ? "+" : "")};
}

std::string JournalPath(const PlannedSweep& planned, const Shard& shard) {
  if (shard.count == 1) return planned.out + "/journal.jsonl";
  return fmt::format("{}/journal-{}-of-{}.jsonl", planned.out, shard.index, shard.count);
}

// Whether the journal is of another one of the commands that do a sweep together, which may have
// begun at the same time.
bool IsOfSibling(const std::string& journal, const PlannedSweep& planned, const Shard& shard) {
  for (uint64_t index = 1; index <= shard.count; ++index) {
    if (index != shard.index && journal == JournalPath(planned, {index, shard.count})) return true;
  }
  return false;
}

// Of all shards, in alphabetical order.
std::vector<std::string> JournalsIn(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("journal", 0) == 0 && entry.path().extension() == ".jsonl")
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Results by point. Of a point that is there twice, which two sweeps of different shards may do,
// the first counts: they are the same; but one that died is replaced by one that did not.
std::map<uint64_t, TrialResult> ReadAll(const PlannedSweep& planned) {
  std::map<uint64_t, TrialResult> results;
  for (const std::string& path : JournalsIn(planned.out)) {
    for (const Json& row : ReadJournal(path, HeaderOf(planned))) {
      const uint64_t point = row.value("point", UINT64_MAX);
      if (point >= planned.points.size())
        throw BadInput("{}: a row is of point {}, and the sweep has {}", path, point,
                       planned.points.size());
      TrialResult result = TrialResultOf(row);
      const auto [at, is_new] = results.try_emplace(point, result);
      if (!is_new && at->second.status == TrialStatus::kError) at->second = std::move(result);
    }
  }
  return results;
}

int ExitStatusOf(const SweepResults& results) {
  int status = results.rows.size() < results.points ? kWrong : kDone;
  for (const SweepRow& row : results.rows) {
    if (row.result.status != TrialStatus::kInfeasible)
      status = std::max<int>(status, ExitStatusOf(row.result.status));
  }
  return status;
}

// Of several shards that end at the same time, each may be the last.
void WriteResults(const PlannedSweep& planned, const SweepResults& results) {
  const Descriptor directory(open(planned.out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (flock(directory.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  WriteFile(planned.out + "/results.csv", ToCsv(results), "results");
  WriteFile(planned.out + "/results.jsonl", ToJsonLines(results), "results");
  WriteSqlite(planned.out + "/results.sqlite", results);
  WriteFile(planned.out + "/index.html", SweepPage(results), "page");
}

void RunPoints(const PlannedSweep& planned, const SweepOptions& options, const ConfigReader& reader,
               std::ostream& messages) {
  PrepareDirectory(planned, options.shard, options.resume);
  Journal journal(JournalPath(planned, options.shard), HeaderOf(planned));
  const std::vector<uint64_t> points = PointsToRun(planned, options.shard);
  TrialOptions trials;
  trials.jobs = options.jobs;
  trials.traces = planned.grid.traces;
  trials.verify = planned.grid.verify;
  trials.judge = true;
  if (planned.grid.traces) trials.directory = planned.out + "/points";
  trials.name_of = [&points](size_t number) { return std::to_string(points[number]); };
  TrialProgress progress("sweep", points.size(), messages);
  RunTrials(
      points.size(),
      [&](size_t number) {
        journal.CloseInChild();
        std::vector<std::string> sets = SetsOf(planned.grid, planned.points[points[number]]);
        sets.insert(sets.end(), options.sets.begin(), options.sets.end());
        return reader(planned.grid.config, sets);
      },
      trials,
      [&](size_t number, const TrialResult& result) {
        const GridPoint& point = planned.points[points[number]];
        Json set = Json::object();
        const std::vector<std::string> keys = planned.grid.Keys();
        for (size_t i = 0; i < keys.size(); ++i) set[keys[i]] = point.values[i];
        Json row = {{"point", points[number]}, {"set", std::move(set)}};
        row.update(ToJson(result));
        journal.Append(row);
        progress.Ended();
      });
}

// The values of an option --over as TOML's, where they are TOML's; else each as a text.
std::string TomlValues(const std::string& values) {
  try {
    static_cast<void>(toml::parse("v = [" + values + "]"));
    return values;
  } catch (const toml::parse_error&) {
    std::string texts;
    std::istringstream parts(values);
    for (std::string part; std::getline(parts, part, ',');)
      texts += (texts.empty() ? "" : ", ") + TomlString(part);
    return texts;
  }
}

// Throws Error(kBadInput) naming the option, which no file is to blame for.
void CheckOver(const std::string& option, const std::string& key, const std::string& values) {
  const ConfigKeys keys;
  const std::string place = "--over " + option;
  if (keys.Find(key) == nullptr) keys.RefuseKey(place, key);
  const nlohmann::ordered_json table = JsonOfToml(toml::parse("v = [" + values + "]"));
  for (const nlohmann::ordered_json& value : table["v"])
    if (value.is_primitive()) keys.CheckValue(place, key, value);
}

// Every combination of some keys of `config`, and as objectives the launch window and each of the
// keys, so that the front is what a cheaper card costs in time. over: "KEY=VALUE,VALUE...", values
// as in TOML. Throws Error(kBadInput).
Grid GridOver(const std::string& config, const std::vector<std::string>& over) {
  std::string objectives = "\"launch_ns\"", axes;
  for (const std::string& one : over) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == one.size())
      throw BadInput("--over {}: must be KEY=VALUE,VALUE..., for example card.cores=8,16,32", one)
          .Subject("--over")
          .Value(one);
    const std::string key = one.substr(0, equals);
    const std::string values = TomlValues(one.substr(equals + 1));
    CheckOver(one, key, values);
    objectives += fmt::format(", \"{}\"", key);
    axes += fmt::format("{} = [{}]\n", key, values);
  }
  // A string of JSON is one of TOML.
  const std::string path = DumpJson(nlohmann::ordered_json(fs::absolute(config).string()));
  Grid grid = ParseGrid(
      fmt::format("[sweep]\nconfig = {}\nobjectives = [{}]\n[axes]\n{}", path, objectives, axes),
      config);
  grid.config = config;  // as it was given, for the commands that are proposed
  return grid;
}

// Of a key as an objective less is better, because less of most things is cheaper: cores, channels,
// rates. A latency is dearer when it is smaller.
bool IsCheaperWhenLarger(const std::string& key) {
  RunConfig config;
  for (const Field& field : Fields(config))
    if (field.key == key) return DirectionOf(field) == Direction::kLessIsFaster;
  return false;
}

}  // namespace

Shard ParseShard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, shard.index);
  if (first == std::errc() && slash != end && *slash == '/') {
    const auto [rest, second] = std::from_chars(slash + 1, end, shard.count);
    if (second == std::errc() && rest == end && shard.index >= 1 && shard.index <= shard.count)
      return shard;
  }
  throw BadInput("--shard {}: must be I/N with I from 1 to N, for example 3/8", text)
      .Subject("--shard")
      .Value(text);
}

PlannedSweep PlanSweep(const SweepOptions& options, const ConfigReader& reader) {
  PlannedSweep planned;
  planned.grid =
      options.over.empty() ? LoadGrid(options.grid) : GridOver(options.grid, options.over);
  planned.grid.traces = planned.grid.traces || options.traces;
  planned.sets = options.sets;
  planned.out = options.out.empty() ? "out/" + fs::path(options.grid).stem().string() : options.out;
  std::vector<std::string> sets = planned.grid.fixed;
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  const RunConfig base = reader(planned.grid.config, sets);
  for (const std::string& key : planned.grid.Keys()) {
    for (const std::string& set : options.sets) {
      if (set.rfind(key + "=", 0) == 0)
        throw BadInput("--set {}: the grid sweeps {}; change its axis", set, key).Subject(key);
    }
  }
  Expansion expansion = Expand(planned.grid, base);
  planned.digest = DigestOf(planned.grid, base, expansion);
  planned.points = std::move(expansion.points);
  planned.unmet = expansion.unmet;
  planned.duplicate = expansion.duplicate;
  return planned;
}

void PrepareDirectory(const PlannedSweep& planned, const Shard& shard, bool resume) {
  std::error_code error;
  fs::create_directories(planned.out, error);
  if (error) throw BadInput("--out {}: cannot make it: {}", planned.out, error.message());
  if (resume) return;
  for (const std::string& journal : JournalsIn(planned.out)) {
    if (IsOfSibling(journal, planned, shard)) continue;
    throw BadInput(
        "{} has the results of a sweep ({}); --resume goes on with it, --out DIR puts this one "
        "elsewhere",
        planned.out, fs::path(journal).filename().string());
  }
}

std::vector<uint64_t> PointsToRun(const PlannedSweep& planned, const Shard& shard) {
  const std::map<uint64_t, TrialResult> done = ReadAll(planned);
  std::vector<uint64_t> points;
  for (uint64_t point = shard.index - 1; point < planned.points.size(); point += shard.count) {
    const auto found = done.find(point);
    if (found == done.end() || found->second.status == TrialStatus::kError) points.push_back(point);
  }
  return points;
}

SweepResults CollectSweep(const PlannedSweep& planned) {
  SweepResults results;
  results.name = fs::path(planned.grid.path).stem().string();
  results.config = planned.grid.config;
  results.digest = planned.digest;
  results.keys = planned.grid.Keys();
  results.points = planned.points.size();
  for (const std::string& name : planned.grid.objectives) {
    const bool is_key =
        std::find(results.keys.begin(), results.keys.end(), name) != results.keys.end();
    results.objectives.push_back({name, is_key
                                            ? IsCheaperWhenLarger(name)
                                            : NumberFigures()[NumberFigure(name)].more_is_better});
  }
  for (auto& [point, result] : ReadAll(planned))
    results.rows.push_back({point, planned.points[point].values, std::move(result), false});
  MarkFront(results);
  return results;
}

int RunSweep(const SweepOptions& options, const ConfigReader& reader, std::ostream& out,
             std::ostream& messages) {
  const PlannedSweep planned = PlanSweep(options, reader);
  std::string slurm_text;
  if (options.slurm) {
    std::optional<std::string> text = RunOnSlurm(planned, options, out, messages);
    if (!text) return 0;
    slurm_text = std::move(*text);
  } else if (!options.collect) {
    RunPoints(planned, options, reader, messages);
  }
  const SweepResults results = CollectSweep(planned);
  if (options.collect && results.rows.empty())
    throw BadInput("{}: there is no journal of this sweep; run it first", planned.out);
  const bool is_whole = results.rows.size() == results.points;
  const bool has_files = is_whole || options.collect || (options.slurm && !results.rows.empty());
  if (has_files) WriteResults(planned, results);
  out << SweepText(planned, results, has_files) << slurm_text;
  if (options.shard.count > 1 && !options.collect && !is_whole) {
    // A shard is done when its own points are.
    SweepResults own = results;
    own.points = own.rows.size();
    return ExitStatusOf(own);
  }
  return ExitStatusOf(results);
}

}  // namespace spyre::cosim
