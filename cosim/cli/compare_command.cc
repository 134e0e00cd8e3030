// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/compare_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "cosim/cli/common_options.h"
#include "cosim/cli/run_cases.h"
#include "cosim/cli/run_command.h"
#include "cosim/config/effect.h"
#include "cosim/trials/processes.h"
#include "cosim/verdict/exit_status.h"
#include "cosim/workload/resolve.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// One column.
struct Variant {
  std::string name;
  std::vector<std::string> sets;
};

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

// The list as it is, then each plan.
std::vector<Variant> VariantsOf(const CompareArguments& args) {
  std::vector<Variant> variants = {{"as given", {}}};
  for (const std::string& plan : args.plans) {
    Variant variant;
    if (plan.find('=') != std::string::npos) {
      variant.name = plan;
      variant.sets = SplitAt(plan, ';');
    } else {
      variant.name = fs::path(plan).stem().string();
      variant.sets = {"workload.plan=\"" + plan + "\""};
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

Json FactsJson(const compiler::PlanFacts& facts) {
  Json operations = Json::array();
  for (const compiler::OperationFacts& op : facts.operations) {
    operations.push_back({{"name", op.name},
                          {"op", op.op},
                          {"splits", op.splits},
                          {"cores", op.cores},
                          {"place", op.place}});
  }
  return {{"loops", facts.loops},
          {"operations", std::move(operations)},
          {"lx_bytes", facts.lx_bytes},
          {"pool_bytes", facts.pool_bytes},
          {"bytes_read", facts.traffic.bytes_read},
          {"bytes_written", facts.traffic.bytes_written}};
}

// The predictions for all kernels of a list that is cut.
Json Predicted(const std::vector<KernelFacts>& kernels) {
  Json all = {{"kernels", Json::array()}, {"program_bytes", 0}, {"instructions", 0},
              {"bytes_read", 0},          {"bytes_written", 0}, {"lx_bytes", 0},
              {"pool_bytes", 0}};
  for (const KernelFacts& kernel : kernels) {
    Json facts = FactsJson(kernel.plan);
    facts["program_bytes"] = kernel.program_bytes;
    facts["instructions"] = kernel.instructions;
    for (const char* key : {"program_bytes", "instructions", "bytes_read", "bytes_written"})
      all[key] = all[key].get<int64_t>() + facts[key].get<int64_t>();
    for (const char* key : {"lx_bytes", "pool_bytes"})
      all[key] = std::max(all[key].get<int64_t>(), facts[key].get<int64_t>());
    all["kernels"].push_back(std::move(facts));
  }
  return all;
}

// In a process of its own.
Json Run(const CompareArguments& args, const Variant& variant, const std::string& out) {
  std::vector<std::string> sets = args.sets;
  sets.insert(sets.end(), variant.sets.begin(), variant.sets.end());
  const RunConfig config = ConfigOf(args.list, sets, {});
  if (!HasOpList(config.workload))
    throw BadInput("{}: plans are of a list of operations, and this is none", args.list);
  Json column = {{"predicted", Predicted(ResolveWorkload(config)->facts())}};
  column.update(RunSessionOf({0, variant.name, config, out}));
  return column;
}

// ---------------------------------------------------------------- the table

using CellOf = std::function<std::string(const Json& column)>;

std::string Bytes(const Json& bytes) { return trace::FormatBytes(bytes.get<uint64_t>()); }

std::string Time(const Json& ns) {
  return trace::FormatTime(static_cast<uint64_t>(ns.get<double>() * 1000));
}

std::string Join(const Json& items, const char* key, const char* separator) {
  std::string text;
  for (const Json& item : items)
    text += (text.empty() ? "" : separator) + item[key].get<std::string>();
  return text;
}

// Names of operations in order of their first appearance in any column.
std::vector<std::string> OperationNames(const std::vector<Json>& columns) {
  std::vector<std::string> names;
  for (const Json& column : columns) {
    if (!column.contains("predicted")) continue;
    for (const Json& kernel : column["predicted"]["kernels"])
      for (const Json& op : kernel["operations"])
        if (std::find(names.begin(), names.end(), op["name"]) == names.end())
          names.push_back(op["name"]);
  }
  return names;
}

// "32 x 1, lx 0"
std::string OperationText(const Json& column, const std::string& name) {
  for (const Json& kernel : column["predicted"]["kernels"]) {
    for (const Json& op : kernel["operations"]) {
      if (op["name"] == name)
        return fmt::format("{}, {}", op["splits"].get<std::string>(),
                           op["place"].get<std::string>());
    }
  }
  return "-";
}

std::string Gain(const Json& column, const Json& first) {
  if (!first.contains("device_ns") || &column == &first) return "";
  const double change =
      column["device_ns"].get<double>() / first["device_ns"].get<double>() * 100 - 100;
  return fmt::format("{:+.1f} %", change);
}

// Of a run that did not come to its end: a word in the first row, the reason is below the table.
std::string Missing(const Json& column, bool is_first_row) {
  if (!is_first_row) return "";
  return column["exit_status"] == static_cast<int>(kBadInputStatus) ? "refused" : "failed";
}

std::string TableText(const std::vector<Json>& columns) {
  std::vector<std::string> header = {""};
  for (const Json& column : columns) header.push_back(column["plan"]);
  trace::Table table(header, header.size());
  const auto add = [&](const std::string& name, const CellOf& cell) {
    std::vector<std::string> row = {name};
    for (const Json& column : columns)
      row.push_back(column.contains("error") ? Missing(column, table.empty()) : cell(column));
    table.Add(std::move(row));
  };
  const auto predicted = [](const char* key) {
    return [key](const Json& column) { return Bytes(column["predicted"][key]); };
  };
  const auto measured = [](const char* key) {
    return [key](const Json& column) { return Bytes(column["device_memory"][key]); };
  };
  add("loops",
      [](const Json& column) { return Join(column["predicted"]["kernels"], "loops", " | "); });
  for (const std::string& name : OperationNames(columns))
    add(name, [&name](const Json& column) { return OperationText(column, name); });
  add("LX of a core", predicted("lx_bytes"));
  add("pool", predicted("pool_bytes"));
  add("read, predicted", predicted("bytes_read"));
  add("read, measured", measured("bytes_read"));
  add("written, predicted", predicted("bytes_written"));
  add("written, measured", measured("bytes_written"));
  add("kernels", [](const Json& column) { return Time(column["device_ns"]); });
  add("change", [&](const Json& column) { return Gain(column, columns.front()); });
  add("launch", [](const Json& column) { return Time(column["launch_ns"]); });
  add("bound by", [](const Json& column) { return column["bound_by"].get<std::string>(); });
  add("program", predicted("program_bytes"));
  add("numbers", [](const Json& column) -> std::string {
    if (column["verified"].is_null()) return "not verified";
    return column["verified"].get<bool>() ? "right" : "WRONG";
  });
  return table.ToString("");
}

}  // namespace

void AddCompareCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("compare", "Run a list of operations under several plans, side by side");
  command.Footer(
      "The first column is the list as it is. Of a plan that is refused, the reason stands below.\n"
      "Exit status: the largest of the runs. docs/plans.md has an example.");
  const auto args = std::make_shared<CompareArguments>();
  command.Add("LIST", args->list, "configuration of a list of operations, or such a list in JSON")
      .Required()
      .Completes(Words::kFiles);
  command
      .Add("PLAN", args->plans,
           "JSON or TOML file of a plan (docs/plans.md), or keys as of --set: "
           "'workload.lx=none;workload.agree=false'")
      .Completes(Words::kFiles);
  AddSets(command, args->sets);
  command.Add("--out", args->out, "directory of the runs, one below it for each plan")
      .ShowDefault()
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command.Add("--jobs", args->jobs, "processes at a time; 0: one for each processor", 0, 1024)
      .Placeholder("N");
  command.Add("--json", args->json, "print one JSON object instead of the table");
  command.Action([args] {
    CatchInterrupts(0);
    return RunCompareCommand(*args, std::cout);
  });
}

int RunCompareCommand(const CompareArguments& args, std::ostream& out) {
  std::error_code error;
  fs::create_directories(args.out, error);
  if (error) throw BadInput("--out {}: cannot make the directory: {}", args.out, error.message());
  const std::vector<Variant> variants = VariantsOf(args);
  std::vector<Json> columns;
  RunInProcesses(
      variants.size(), args.jobs,
      [&](size_t number) {
        return Run(args, variants[number], fmt::format("{}/{}", args.out, number));
      },
      Order::kByNumber,
      [&](size_t number, const Json& answer) {
        columns.push_back({{"plan", variants[number].name}});
        columns.back().update(answer);
      });
  int worst = kDone;
  for (const Json& column : columns) worst = std::max(worst, column["exit_status"].get<int>());
  if (args.json) {
    out << DumpJson(Json{{"list", args.list}, {"plans", columns}}, 2) << "\n";
    return worst;
  }
  out << TableText(columns);
  for (const Json& column : columns) {
    if (!column.contains("error")) continue;
    out << fmt::format("\n{}: {}\n", column["plan"].get<std::string>(),
                       column["error"]["message"].get<std::string>());
  }
  return worst;
}

}  // namespace spyre::cosim
