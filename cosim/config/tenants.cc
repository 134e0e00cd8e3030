// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/toml_json.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxStartUs = 1'000'000'000;
constexpr size_t kMaxNameLength = 64;

// Reads the table of one tenant.
class TenantReader {
 public:
  TenantReader(const RunConfig& run, const Json& table, size_t number)
      : run_(run), table_(table), number_(number), where_(fmt::format("tenant {}", number)) {}

  Tenant Read() const {
    CheckKeys();
    Tenant tenant;
    tenant.name = Name();
    tenant.function = Number("function", 1, run_.card.num_vfs, std::nullopt);
    tenant.start_us = Number("start_us", 0, kMaxStartUs, 0);
    tenant.weight = Number("weight", 1, UINT8_MAX, 1);
    tenant.cores = Number("cores", 1, (1ull << run_.card.cores) - 1, 0);
    tenant.config = Workload();
    return tenant;
  }

 private:
  void CheckKeys() const {
    const std::vector<std::string> known = {"name",     "function", "workload",
                                            "start_us", "weight",   "cores"};
    for (const auto& [key, value] : table_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      throw BadInput(
          "{}: unknown key '{}'{}; a tenant has function, workload, name, start_us, "
          "weight and cores",
          where_, key, DidYouMean(key, known))
          .Subject("tenant." + key)
          .Remedy(Nearest(key, known));
    }
  }

  // Names go into messages, tracks and names of directories.
  std::string Name() const {
    if (!table_.contains("name")) return fmt::format("tenant{}", number_);
    const Json& value = table_["name"];
    std::string name = value.is_string() ? value.get<std::string>() : "";
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    };
    if (name.empty() || name.size() > kMaxNameLength || !AllFit(name, fits)) {
      throw BadInput("{}: name = {} must be 1 to {} letters, digits, '-' and '_'", where_,
                     DumpJson(value), kMaxNameLength)
          .Subject("tenant.name");
    }
    return name;
  }

  uint64_t Number(const char* key, uint64_t min, uint64_t max,
                  std::optional<uint64_t> usual) const {
    if (!table_.contains(key)) {
      if (usual) return *usual;
      throw BadInput("{}: '{}' is missing: {} .. {}", where_, key, min, max)
          .Subject(fmt::format("tenant.{}", key));
    }
    const Json& value = table_[key];
    if (std::string_view(key) == "function" && value == 0) {
      throw BadInput(
          "{}: function = 0 is the physical function, which hands the card out; tenants are "
          "virtual functions, 1 .. {} (card.num_vfs)",
          where_, max)
          .Subject("tenant.function")
          .Value("0");
    }
    const bool fits = value.is_number_integer() && value.get<int64_t>() >= 0 &&
                      value.get<uint64_t>() >= min && value.get<uint64_t>() <= max;
    if (!fits) {
      throw BadInput("{}: {} = {} must be a whole number, {} .. {}{}", where_, key, DumpJson(value),
                     min, max, std::string_view(key) == "function" ? " (card.num_vfs)" : "")
          .Subject(fmt::format("tenant.{}", key))
          .Value(DumpJson(value));
    }
    return value.get<uint64_t>();
  }

  RunConfig Workload() const {
    RunConfig config = run_;
    config.tenants = {};
    config.given.erase("tenant");
    config.given.erase("tenants.alone");
    if (!table_.contains("workload")) return config;
    const Json& workload = table_["workload"];
    try {
      if (workload.is_string()) return WithWorkloadOf(config, workload.get<std::string>());
      if (workload.is_object()) {
        return WithWorkload(
            config, TomlOfJson(workload),
            run_.source.empty() ? where_ : fmt::format("{}, {}", run_.source, where_),
            std::filesystem::path(run_.source).parent_path().string());
      }
    } catch (const Error& error) {
      throw error.Within(where_);
    }
    throw BadInput("{}: workload = {} must be a table of keys of [workload], or a path", where_,
                   DumpJson(workload))
        .Subject("tenant.workload");
  }

  const RunConfig& run_;
  const Json& table_;
  const size_t number_;
  const std::string where_;
};

void CheckApart(const std::vector<Tenant>& tenants) {
  for (size_t i = 0; i < tenants.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (tenants[i].function == tenants[j].function) {
        throw BadInput("tenants {} and {}: both have function = {}; every tenant has its own",
                       j + 1, i + 1, tenants[i].function)
            .Subject("tenant.function")
            .Value(tenants[i].function);
      }
      if (tenants[i].name == tenants[j].name) {
        throw BadInput("tenants {} and {}: both have the name '{}'", j + 1, i + 1, tenants[i].name)
            .Subject("tenant.name")
            .Value(tenants[i].name);
      }
    }
  }
}

}  // namespace

void DescribeTenants(FieldCollector& f, TenantsConfig& tenants) {
  f.SetPrefix("");
  f.Tables(
      "tenant", tenants.list,
      "[[tenant]]: workloads that run at the same time, each on a virtual function of its "
      "own: { function, workload, name?, start_us?, weight?, cores? }. workload is a table with "
      "keys of "
      "[workload], or another configuration's path, whose [workload] counts; what neither "
      "says is as this file's [workload] says. weight (1 .. 255) is its share of the engines, "
      "cores a mask of the cores that its programs may use (docs/tenants.md)",
      "workload");
  f.SetPrefix("tenants");
  f.Flag("alone", tenants.alone,
         "Run every tenant alone on the same card as well, in a process of its own, and report how "
         "much slower it was beside the others");
}

std::vector<Tenant> TenantsOf(const RunConfig& config) {
  std::vector<Tenant> tenants;
  if (config.tenants.list.json.empty()) return tenants;
  const Json list = JsonOf(config.tenants.list.json);
  if (config.mode == FunctionMode::kPhysical) {
    throw BadInput(
        "card.mode = \"pf\": tenants are virtual functions; leave card.mode out, or use \"vf\"")
        .Subject("card.mode")
        .Value("pf")
        .Remedy("vf");
  }
  if (list.size() > config.card.num_vfs) {
    throw BadInput("there are {} tenants, and the card has {} virtual functions (card.num_vfs)",
                   list.size(), config.card.num_vfs)
        .Subject("card.num_vfs")
        .Value(config.card.num_vfs)
        .Remedy(fmt::format("{}", list.size()));
  }
  for (size_t i = 0; i < list.size(); ++i)
    tenants.push_back(TenantReader(config, list[i], i + 1).Read());
  CheckApart(tenants);
  return tenants;
}

}  // namespace spyre::cosim
