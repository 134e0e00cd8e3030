// SPDX-License-Identifier: Apache-2.0
#include "traces/check/rules.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "traces/path_causes.h"
#include "traces/recording/recorder.h"
#include "traces/trace_file.h"

namespace spyre::trace {
namespace {

using Kind = Rule::Kind;

const std::map<std::string, Kind> kKinds = {
    {"kernel", Kind::kKernel},   {"unit", Kind::kUnit},        {"wait", Kind::kWait},
    {"counter", Kind::kCounter}, {"window", Kind::kWindow},    {"order", Kind::kOrder},
    {"overlap", Kind::kOverlap}, {"baseline", Kind::kBaseline}};

// One [[rule]]: what it has, by key; a key that is not asked for is an error.
class RuleReader {
 public:
  RuleReader(const toml::table& table, std::string where)
      : table_(table), where_(std::move(where)) {}

  [[noreturn]] void Fail(const std::string& problem) const { throw Error(where_ + problem); }

  std::string Text(const char* key) {
    const toml::node* const node = Find(key);
    if (node == nullptr) return "";
    if (!node->is_string()) Fail(fmt::format("{} must be a string", key));
    return node->as_string()->get();
  }
  std::optional<double> Number(const std::string& key) {
    const toml::node* const node = Find(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value<double>();
    if (!value || !(*value >= 0)) Fail(fmt::format("{} must be a number, 0 or more", key));
    return value;
  }
  // "max_time_us" and "min_time_us" for "time_us".
  Limits Range(const std::string& what) {
    Limits limits{Number("min_" + what), Number("max_" + what)};
    if (limits.least && limits.most && *limits.least > *limits.most)
      Fail(fmt::format("min_{0} is above max_{0}", what));
    return limits;
  }
  std::vector<std::string> Texts(const char* key) {
    const toml::node* const node = Find(key);
    if (node == nullptr) return {};
    if (node->is_string()) return {node->as_string()->get()};
    std::vector<std::string> texts;
    if (!node->is_array()) Fail(fmt::format("{} must be a string or a list of them", key));
    for (const toml::node& entry : *node->as_array()) {
      if (!entry.is_string()) Fail(fmt::format("{} must be a string or a list of them", key));
      texts.push_back(entry.as_string()->get());
    }
    return texts;
  }
  std::vector<std::string> Resources(const char* key) {
    std::vector<std::string> texts = Texts(key);
    const std::vector<std::string> known = ResourceNames();
    for (const std::string& text : texts) {
      if (std::find(known.begin(), known.end(), text) == known.end())
        Fail(fmt::format("{}: \"{}\" is not a resource; must be one of {}{}", key, text,
                         Joined(known, ", "), DidYouMean(text, known)));
    }
    return texts;
  }
  SliceMatch Slices(const char* key) {
    const toml::node* const node = Find(key);
    if (node == nullptr || !node->is_table())
      Fail(fmt::format("{} must be a table such as {{ track = \"card/dma in\" }}", key));
    RuleReader inner(*node->as_table(), fmt::format("{}{}: ", where_, key));
    SliceMatch match{inner.Text("track"), inner.Text("name"), inner.Text("category")};
    inner.End();
    if (match.track.empty() && match.name.empty() && match.category.empty())
      Fail(fmt::format("{} says neither track, name nor category", key));
    if (!match.category.empty()) {
      try {
        CategoryMask({match.category});
      } catch (const std::invalid_argument& problem) {
        Fail(fmt::format("{}: {}", key, problem.what()));
      }
    }
    return match;
  }
  void End() const {
    for (const auto& [key, node] : table_) {
      if (asked_.count(std::string(key.str())) == 0)
        Fail(fmt::format("unknown key '{}'; known here: {}", std::string(key.str()),
                         Joined(asked_, ", ")));
    }
  }

 private:
  const toml::node* Find(const std::string& key) {
    asked_.insert(key);
    return table_.get(key);
  }

  const toml::table& table_;
  const std::string where_;
  std::set<std::string> asked_;
};

void RequireOne(const RuleReader& reader, bool has_one, const char* what) {
  if (!has_one) reader.Fail(fmt::format("says no limit; give {}", what));
}

Rule ReadRule(const toml::table& table, const std::string& where, const std::string& directory) {
  RuleReader reader(table, where);
  Rule rule;
  rule.name = reader.Text("name");
  const std::string kind = reader.Text("kind");
  const auto known = kKinds.find(kind);
  if (known == kKinds.end()) {
    std::vector<std::string> names;
    names.reserve(kKinds.size());
    for (const auto& [name, value] : kKinds) names.push_back(name);
    reader.Fail(fmt::format("kind = \"{}\" must be one of {}", kind, Joined(names, ", ")));
  }
  rule.kind = known->second;
  switch (rule.kind) {
    case Kind::kKernel:
      rule.match.name = reader.Text("kernel");
      rule.time_us = reader.Range("time_us");
      rule.count = reader.Range("count");
      rule.bound_by = reader.Resources("bound_by");
      RequireOne(reader, !rule.time_us.empty() || !rule.count.empty() || !rule.bound_by.empty(),
                 "max_time_us, min_count, bound_by, ...");
      break;
    case Kind::kUnit:
      rule.match.track = reader.Text("unit");
      rule.percent = reader.Range("percent");
      RequireOne(reader, !rule.percent.empty(), "min_percent or max_percent");
      break;
    case Kind::kWait:
      rule.match.track = reader.Text("unit");
      rule.match.name = reader.Text("wait");
      rule.percent = reader.Range("percent");
      rule.time_us = reader.Range("time_us");
      RequireOne(reader, !rule.percent.empty() || !rule.time_us.empty(),
                 "max_percent or max_time_us");
      break;
    case Kind::kCounter:
      rule.counter = reader.Text("counter");
      rule.percent = reader.Range("mean");
      rule.peak = reader.Range("peak");
      RequireOne(reader, !rule.percent.empty() || !rule.peak.empty(), "min_mean, max_peak, ...");
      break;
    case Kind::kWindow:
      rule.time_us = reader.Range("time_us");
      rule.host = reader.Range("host_percent");
      rule.idle = reader.Range("idle_percent");
      rule.bound_by = reader.Resources("bound_by");
      RequireOne(reader,
                 !rule.time_us.empty() || !rule.host.empty() || !rule.idle.empty() ||
                     !rule.bound_by.empty(),
                 "max_time_us, max_host_percent, bound_by, ...");
      break;
    case Kind::kOrder:
      rule.match = reader.Slices("first");
      rule.other = reader.Slices("then");
      rule.shift = static_cast<uint64_t>(reader.Number("shift").value_or(0));
      break;
    case Kind::kOverlap:
      rule.match = reader.Slices("of");
      rule.other = reader.Slices("with");
      rule.shift = static_cast<uint64_t>(reader.Number("shift").value_or(0));
      rule.percent = reader.Range("percent");
      RequireOne(reader, !rule.percent.empty(), "min_percent or max_percent");
      break;
    case Kind::kBaseline:
      rule.file = reader.Text("file");
      if (rule.file.empty()) reader.Fail("file must name the trace to compare with");
      if (rule.file.front() != '/' && !directory.empty()) rule.file = directory + "/" + rule.file;
      rule.tolerance_percent = reader.Number("tolerance_percent").value_or(0);
      break;
  }
  reader.End();
  if (rule.name.empty()) rule.name = kind;
  return rule;
}

}  // namespace

std::string SliceMatch::ToString() const {
  std::vector<std::string> parts;
  if (!track.empty()) parts.push_back(fmt::format("track \"{}\"", track));
  if (!name.empty()) parts.push_back(fmt::format("name \"{}\"", name));
  if (!category.empty()) parts.push_back(fmt::format("category {}", category));
  return fmt::format("{}", Joined(parts, ", "));
}

std::vector<Rule> ParseRules(const std::string& text, const std::string& path) {
  toml::table file;
  try {
    file = toml::parse(text, path);
  } catch (const toml::parse_error& problem) {
    throw Error(fmt::format("{}:{}: {}", path, problem.source().begin.line,
                            std::string(problem.description())));
  }
  const std::string directory = std::filesystem::path(path).parent_path().string();
  std::vector<Rule> rules;
  for (const auto& [key, node] : file) {
    if (key.str() != "rule" || !node.is_array_of_tables()) {
      throw Error(fmt::format("{}: '{}': rules are tables [[rule]], and there is nothing else",
                              path, std::string(key.str())));
    }
    for (const toml::node& entry : *node.as_array()) {
      const std::string where =
          fmt::format("{}:{}: rule {}: ", path, entry.source().begin.line, rules.size() + 1);
      rules.push_back(ReadRule(*entry.as_table(), where, directory));
    }
  }
  if (rules.empty()) throw Error(fmt::format("{}: there is no [[rule]] in it", path));
  return rules;
}

std::vector<Rule> ReadRules(const std::string& path) {
  return ParseRules(ReadFile(path, "rules"), path);
}

}  // namespace spyre::trace
