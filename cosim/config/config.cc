// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/config.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/cards.h"
#include "cosim/config/check_expect.h"
#include "cosim/config/config_override.h"
#include "cosim/config/effect.h"
#include "cosim/config/fault_tables.h"
#include "cosim/config/host_preset.h"
#include "cosim/config/memory_rate.h"
#include "cosim/config/tenants.h"
#include "cosim/config/toml_json.h"
#include "cosim/config/toml_text.h"
#include "model/card/check_card.h"
#include "runtime/compiler/front_end/front_end.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

// Puts the values of one TOML document into the fields.
class Reader {
 public:
  // `base`: directory for relative paths, "" for the working directory. `is_set`: the document is
  // one --set argument, which has no lines worth naming. `given`: takes the keys; may be null.
  Reader(std::vector<Field>& fields, std::string name, fs::path base, bool is_set,
         std::set<std::string>* given)
      : fields_(fields),
        name_(std::move(name)),
        base_(std::move(base)),
        is_set_(is_set),
        given_(given) {}

  void Apply(const toml::table& table, const std::string& prefix = "") {
    for (const auto& [name, node] : table) {
      const std::string key =
          prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
      const auto field = FindIf(fields_, [&](const Field& f) { return f.key == key; });
      if (field != fields_.end()) {
        Assign(*field, node);
        if (given_ != nullptr) given_->insert(key);
      } else if (IsFormerKey(key)) {
        if (is_set_) throw BadInput("{}: {} has no effect any more", name_, key).Subject(key);
      } else if (!IsTable(key)) {
        throw UnknownKey(key, name.source());
      } else if (const toml::table* inner = node.as_table()) {
        Apply(*inner, key);
      } else {
        throw BadInput("{}: {} is a table, such as [{}], not a value", Place(node.source()), key,
                       key);
      }
    }
  }

 private:
  std::string Place(const toml::source_region& region) const {
    return is_set_ ? name_ : fmt::format("{}:{}:{}", name_, region.begin.line, region.begin.column);
  }
  bool IsTable(const std::string& key) const {
    const std::string table = key + ".";
    return AnyFits(fields_, [&](const Field& f) { return f.key.rfind(table, 0) == 0; });
  }
  Error UnknownKey(const std::string& key, const toml::source_region& region) const {
    std::vector<std::string> candidates;
    for (const Field& field : fields_) candidates.push_back(field.key);
    for (const Field& field : fields_) {  // tables too: [wrokload]
      const std::string& k = field.key;
      for (size_t dot = k.find('.'); dot != std::string::npos; dot = k.find('.', dot + 1))
        candidates.push_back(k.substr(0, dot));
    }
    return BadInput("{}: unknown key '{}'{} (docs/configuration.md lists the keys)", Place(region),
                    key, DidYouMean(key, candidates))
        .Subject(key)
        .Remedy(Nearest(key, candidates));
  }
  Error WrongType(const Field& field, const toml::node& node, const char* expected) const {
    std::ostringstream got;
    node.visit([&](const auto& value) { got << value; });
    return BadInput("{}: {} = {} must be {} (allowed: {}{}{})", Place(node.source()), field.key,
                    got.str(), expected, field.AllowedText(), field.unit.empty() ? "" : " ",
                    field.unit)
        .Subject(field.key)
        .Value(got.str())
        .Remedy(expected);
  }

  void Assign(const Field& field, const toml::node& node) const {
    if (auto* number = std::get_if<uint64_t*>(&field.value)) {
      AssignNumber(field, **number, node);
    } else if (auto* fraction = std::get_if<double*>(&field.value)) {
      const auto value = node.value<double>();  // of an integer too
      if (!node.is_number() || !value || !(*value >= 0 && *value <= 1))
        throw WrongType(field, node, "a number");
      **fraction = *value;
    } else if (auto* flag = std::get_if<bool*>(&field.value)) {
      if (!node.is_boolean()) throw WrongType(field, node, "true or false");
      **flag = node.as_boolean()->get();
    } else if (auto* text = std::get_if<std::string*>(&field.value)) {
      **text = AssignText(field, node);
    } else if (auto* choice = std::get_if<ChoiceRef>(&field.value)) {
      const std::string name = AssignText(field, node);
      const auto at = std::find(field.choices.begin(), field.choices.end(), name);
      choice->Set(static_cast<size_t>(at - field.choices.begin()));
    } else if (auto* list = std::get_if<std::vector<std::string>*>(&field.value)) {
      AssignList(field, **list, node);
    } else if (auto* table = std::get_if<NumberTable*>(&field.value)) {
      AssignTable(field, **table, node);
    } else if (auto* either = std::get_if<FileOrTable*>(&field.value)) {
      AssignFileOrTable(field, **either, node);
    } else {
      AssignTables(field, *std::get<TableList*>(field.value), node);
    }
  }

  void AssignTables(const Field& field, TableList& target, const toml::node& node) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) throw WrongType(field, node, "a list of tables");
    nlohmann::ordered_json tables = JsonOfToml(node);
    target.places.clear();
    for (size_t i = 0; i < tables.size(); ++i) {
      target.places.push_back(Place(array->get(i)->source()));
      if (!tables[i].is_object()) throw WrongType(field, *array->get(i), "a list of tables");
      const auto path = tables[i].find(field.path_key);
      if (path != tables[i].end() && path->is_string()) *path = FromBase(path->get<std::string>());
    }
    target.json = tables.empty() ? "" : DumpJson(tables);
  }

  // A path replaces what is there; a table goes into it, so that --set changes one entry of many.
  void AssignFileOrTable(const Field& field, FileOrTable& target, const toml::node& node) const {
    using Json = nlohmann::ordered_json;
    if (node.is_string()) {
      const std::string& path = node.as_string()->get();
      target.json = path.empty() ? "" : DumpJson(Json{{"file", FromBase(path)}});
      return;
    }
    if (node.as_table() == nullptr) throw WrongType(field, node, "a path or a table");
    Json table = JsonOfToml(node);
    const auto file = table.find("file");
    if (file != table.end() && file->is_string()) *file = FromBase(file->get<std::string>());
    Json merged = target.json.empty() ? Json::object() : JsonOf(target.json);
    merged.merge_patch(table);
    target.json = merged.empty() ? "" : DumpJson(merged);
  }

  // Adds to what is there, so that --set workload.dims.A=4 leaves the other names alone.
  void AssignTable(const Field& field, NumberTable& target, const toml::node& node) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) throw WrongType(field, node, "a table of whole numbers");
    for (const auto& [name, value] : *table) {
      Field entry = field;
      entry.key += "." + std::string(name.str());
      AssignNumber(entry, target[std::string(name.str())], value);
    }
  }

  void AssignNumber(const Field& field, uint64_t& target, const toml::node& node) const {
    if (!node.is_integer()) throw WrongType(field, node, "a whole number");
    const int64_t value = node.as_integer()->get();
    if (value < 0 || static_cast<uint64_t>(value) < field.min ||
        static_cast<uint64_t>(value) > field.max) {
      throw BadInput("{}: {} = {}{}{} is out of range; allowed: {}", Place(node.source()),
                     field.key, value, field.unit.empty() ? "" : " ", field.unit,
                     field.AllowedText())
          .Subject(field.key)
          .Value(value)
          .Remedy(field.AllowedText());
    }
    target = static_cast<uint64_t>(value);
  }

  std::string AssignText(const Field& field, const toml::node& node) const {
    if (!node.is_string()) throw WrongType(field, node, "a string");
    std::string value = node.as_string()->get();
    CheckChoice(field, value, node);
    const bool is_preset_name = field.key == "card.preset" && value == kBuiltInPreset;
    return field.is_path && !is_preset_name ? FromBase(value) : value;
  }

  std::string FromBase(const std::string& path) const {
    if (path.empty() || !fs::path(path).is_relative()) return path;
    return (base_ / path).lexically_normal().string();
  }

  void AssignList(const Field& field, std::vector<std::string>& target,
                  const toml::node& node) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) throw WrongType(field, node, "a list of strings");
    std::vector<std::string> values;
    for (const toml::node& item : *array) {
      if (!item.is_string()) throw WrongType(field, node, "a list of strings");
      const std::string& value = item.as_string()->get();
      CheckChoice(field, value, item);
      values.push_back(field.is_path ? FromBase(value) : value);
    }
    target = std::move(values);
  }

  void CheckChoice(const Field& field, const std::string& value, const toml::node& node) const {
    const auto& allowed = field.choices;
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end())
      return;
    throw BadInput("{}: {} = {} is not allowed{} (allowed: {})", Place(node.source()), field.key,
                   TomlString(value), DidYouMean(value, allowed), field.AllowedText())
        .Subject(field.key)
        .Value(value)
        .Remedy(field.AllowedText());
  }

  std::vector<Field>& fields_;
  std::string name_;
  fs::path base_;
  bool is_set_;
  std::set<std::string>* given_;
};

// Whatever the document says of the preset, before anything else is read.
std::string PresetOf(const toml::table& document) {
  const toml::node_view<const toml::node> preset = document["card"]["preset"];
  return preset.is_string() ? preset.as_string()->get() : "";
}

void ApplyPreset(RunConfig& config, const std::string& preset) {
  if (preset == kBuiltInPreset) return;  // the defaults are those of this card
  if (preset.find('/') == std::string::npos && preset.find(".toml") == std::string::npos) {
    throw BadInput("card.preset = {} is not known; use \"spyre\" or a path to a TOML file",
                   TomlString(preset));
  }
  const toml::table document = ParseToml(ReadFile(preset, "card preset"), preset);
  std::vector<Field> fields = Fields(config);
  fields.erase(std::remove_if(fields.begin(), fields.end(),
                              [](const Field& f) {
                                return f.key.rfind("card.", 0) != 0 || f.key == "card.preset" ||
                                       f.key == "card.mode";
                              }),
               fields.end());
  Reader(fields, preset, "", false, nullptr).Apply(document);
}

// The defaults of workload.compiler, where they have an effect and the user says nothing else: a
// report shows what counts.
void ApplyCompiler(RunConfig& config) {
  WorkloadConfig& workload = config.workload;
  if (workload.compiler == compiler::CompilerPreset::kOwn) return;
  const compiler::FrontEndOptions options = compiler::OptionsOf(workload.compiler);
  const auto is_open = [&](const char* key) {
    return config.given.count(key) == 0 && HasEffect(config, key);
  };
  if (is_open("workload.division")) workload.division = options.division.rule;
  if (is_open("workload.agree")) workload.agree = options.division.agree;
  if (is_open("workload.lx"))
    workload.lx = options.lx.all_operations ? LxResults::kAll : LxResults::kPublic;
}

// Whether there are signals to record.
bool IsRtl(const model::CardConfig& card, WavesBlock block) {
  switch (block) {
    case WavesBlock::kNone:
      return true;
    case WavesBlock::kControl:
      return card.control.fidelity == model::BlockFidelity::kRtl;
    case WavesBlock::kManagement:
      return card.management.fidelity == model::ManagementFidelity::kRtl;
    case WavesBlock::kPt:
      break;
  }
  return card.pt.fidelity == model::BlockFidelity::kRtl;
}

// What no single key can be wrong about. Messages name the keys.
void CheckTogether(const RunConfig& config) {
  const uint64_t entries = config.runtime.ring_entries;
  if ((entries & (entries - 1)) != 0) {
    throw BadInput("runtime.ring_entries = {} entries must be a power of two, 2 .. 65536", entries);
  }
  const uint64_t deadline_ns = config.runtime.deadline_ms * 1000000;
  if (config.runtime.completion == Completion::kPolled &&
      config.runtime.poll_interval_ns >= deadline_ns) {
    throw BadInput(
        "runtime.poll_interval_ns = {} is not below runtime.deadline_ms = {}: the host would not "
        "look in time",
        config.runtime.poll_interval_ns, config.runtime.deadline_ms);
  }
  const WavesConfig& waves = config.trace.waves;
  if (waves.to != 0 && waves.to < waves.from) {
    throw BadInput("trace.waves.to = {} ns is before trace.waves.from = {} ns", waves.to,
                   waves.from);
  }
  CheckExpect(config);
  if (!IsRtl(config.card, waves.block)) {
    throw BadInput(
        "trace.waves.block = \"{0}\": that block of this card is not RTL; card.{0}.fidelity = "
        "\"rtl\" is needed",
        Name(waves.block));
  }
  model::CheckCard(config.card);
  CheckCards(config);
  TenantsOf(config);
}

RunConfig Build(toml::table document, const std::string& name, const fs::path& base,
                const std::vector<std::string>& overrides) {
  std::vector<toml::table> sets;
  sets.reserve(overrides.size());
  for (const std::string& text : overrides) sets.push_back(ParseOverride(text));

  // The preset lies under everything, so it is found first, by the same rules as any other key.
  RunConfig config;
  const std::optional<uint64_t> cards = NumberedCards(document, name);
  std::string preset = PresetOf(document);
  if (!preset.empty() && preset != kBuiltInPreset && fs::path(preset).is_relative())
    preset = (base / preset).lexically_normal().string();
  for (const toml::table& set : sets) {
    if (!set["card"]["preset"].is_string()) continue;
    preset = PresetOf(set);
    if (preset.empty())
      throw BadInput("card.preset is empty; use \"spyre\" or a path to a TOML file");
  }
  ApplyPreset(config, preset.empty() ? config.preset : preset);
  FindHostPreset(config.host, document, name);
  for (size_t i = 0; i < sets.size(); ++i)
    FindHostPreset(config.host, sets[i], "--set " + overrides[i]);
  ApplyHostPreset(config.host);

  const model::MemoryConfig memory_of_preset = config.card.memory;
  std::vector<Field> fields = Fields(config);
  config.source = name;
  config.cards.count = cards.value_or(config.cards.count);
  Reader(fields, name, base, false, &config.given).Apply(document);
  if (cards && config.cards.count != *cards) {
    throw BadInput("{}: cards.count = {}, and there are {} [[card]] tables", name,
                   config.cards.count, *cards)
        .Subject("cards.count");
  }
  for (size_t i = 0; i < sets.size(); ++i)
    Reader(fields, "--set " + overrides[i], "", true, &config.given).Apply(sets[i]);
  config.workload.cards = config.cards.count;
  FollowMemoryRate(memory_of_preset, config);
  ApplyCompiler(config);
  config.card.faults = ReadFaults(config.fault, config.card);
  try {
    CheckTogether(config);
  } catch (const Error& error) {  // no line is to blame alone
    throw error.Within(name.empty() ? "configuration" : name);
  }
  return config;
}

// The document's [workload] goes over that of `config`.
RunConfig WithWorkloadIn(RunConfig config, const toml::table& document, const std::string& name,
                         const fs::path& base, bool is_set) {
  std::vector<Field> fields = Fields(config);
  if (const toml::table* workload = document["workload"].as_table())
    Reader(fields, name, base, is_set, &config.given).Apply(*workload, "workload");
  ApplyCompiler(config);
  return config;
}

}  // namespace

RunConfig WithWorkloadOf(RunConfig config, const std::string& path) {
  const std::string text = ReadFile(path, "configuration");
  const RunConfig own = ParseConfig(text, path);
  if (!own.tenants.list.json.empty())
    throw BadInput("{}: it has tenants itself; name the workload of one of them", path);
  config.source = path;
  return WithWorkloadIn(std::move(config), ParseToml(text, path), path,
                        fs::path(path).parent_path(), false);
}

RunConfig WithWorkload(RunConfig config, const std::string& table, const std::string& name,
                       const std::string& base) {
  config.source = name;
  return WithWorkloadIn(std::move(config), ParseToml("workload = " + table, name), name, base,
                        true);
}

RunConfig ParseConfig(const std::string& text, const std::string& name,
                      const std::vector<std::string>& overrides) {
  return Build(ParseToml(text, name), name, fs::path(name).parent_path(), overrides);
}

RunConfig LoadConfig(const std::string& path, const std::vector<std::string>& overrides) {
  if (path.empty()) return ParseConfig("", "", overrides);
  return ParseConfig(ReadFile(path, "configuration"), path, overrides);
}

}  // namespace spyre::cosim
