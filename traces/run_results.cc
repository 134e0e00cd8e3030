// SPDX-License-Identifier: Apache-2.0
#include "traces/run_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

using Json = nlohmann::json;

Json CausesJson(const PathTimes& path) {
  Json causes = Json::object();
  for (size_t i = 0; i < kCauses; ++i) {
    if (path[i] > 0) causes[CauseName(static_cast<Cause>(i))] = static_cast<double>(path[i]) / 1e3;
  }
  return causes;
}

uint64_t PsOf(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return 0;
  const auto ns = found->get<double>();
  return ns > 0 && ns < 1.8e16 ? static_cast<uint64_t>(std::llround(ns * 1e3)) : 0;
}

PathTimes CausesOf(const Json& object) {
  PathTimes path{};
  for (size_t i = 0; i < kCauses; ++i) path[i] = PsOf(object, CauseName(static_cast<Cause>(i)));
  return path;
}

uint64_t NumberOf(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? Printable(found->get<std::string>()) : "";
}

std::vector<LxProgram> ProgramsOf(const Json& lx) {
  std::vector<LxProgram> programs;
  const auto list = [](const Json& object, const char* key) -> const Json& {
    static const Json kNone = Json::array();
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_array() ? *found : kNone;
  };
  for (const Json& entry : list(lx, "programs")) {
    LxProgram program;
    program.program = TextOf(entry, "program");
    for (const Json& step : list(entry, "steps"))
      program.steps.push_back(step.is_string() ? Printable(step.get<std::string>()) : "");
    for (const Json& buffer : list(entry, "buffers")) {
      program.buffers.push_back({TextOf(buffer, "name"), NumberOf(buffer, "address"),
                                 NumberOf(buffer, "bytes"), NumberOf(buffer, "first_step"),
                                 NumberOf(buffer, "last_step"),
                                 static_cast<uint32_t>(NumberOf(buffer, "cores"))});
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace

std::string EncodeRunResults(const RunResults& results) {
  Json kernels = Json::array();
  for (const auto& [flow, path] : results.kernels) {
    const auto macs = results.macs.find(flow);
    Json kernel = {{"flow", flow},
                   {"macs", macs == results.macs.end() ? 0 : macs->second},
                   {"causes_ns", CausesJson(path)}};
    const auto label = results.labels.find(flow);
    if (label != results.labels.end()) kernel["label"] = label->second;
    const auto program = results.programs.find(flow);
    if (program != results.programs.end()) kernel["program"] = program->second;
    kernels.push_back(std::move(kernel));
  }
  const auto ns = [](uint64_t ps) { return static_cast<double>(ps) / 1e3; };
  const Json json = {{"launch",
                      {{"begin_ns", ns(results.launch_begin_ps)},
                       {"end_ns", ns(results.launch_end_ps)},
                       {"card_ns", ns(results.card_ps)},
                       {"host_ns", ns(results.host_ps)},
                       {"idle_ns", ns(results.idle_ps)},
                       {"causes_ns", CausesJson(results.path)}}},
                     {"kernels", std::move(kernels)},
                     {"lx", {{"core_bytes", results.lx_bytes}, {"programs", ToJson(results.lx)}}}};
  return DumpJson(json);
}

RunResults ParseRunResults(const std::string& text) {
  RunResults results;
  const Json json = SortedJsonOf(text);
  if (const auto launch = json.find("launch"); launch != json.end()) {
    results.launch_begin_ps = PsOf(*launch, "begin_ns");
    results.launch_end_ps = PsOf(*launch, "end_ns");
    results.card_ps = PsOf(*launch, "card_ns");
    results.host_ps = PsOf(*launch, "host_ns");
    results.idle_ps = PsOf(*launch, "idle_ns");
    if (launch->is_object() && launch->contains("causes_ns"))
      results.path = CausesOf((*launch)["causes_ns"]);
  }
  if (const auto lx = json.find("lx"); lx != json.end() && lx->is_object()) {
    results.lx_bytes = NumberOf(*lx, "core_bytes");
    results.lx = ProgramsOf(*lx);
  }
  const auto kernels = json.find("kernels");
  if (kernels == json.end() || !kernels->is_array()) return results;
  for (const Json& kernel : *kernels) {
    if (!kernel.is_object() || !kernel.contains("flow") || !kernel["flow"].is_number_unsigned())
      continue;
    const auto flow = kernel["flow"].get<uint64_t>();
    if (kernel.contains("causes_ns")) results.kernels[flow] = CausesOf(kernel["causes_ns"]);
    if (kernel.contains("macs") && kernel["macs"].is_number_unsigned())
      results.macs[flow] = kernel["macs"].get<uint64_t>();
    if (kernel.contains("label")) results.labels[flow] = TextOf(kernel, "label");
    if (kernel.contains("program")) results.programs[flow] = TextOf(kernel, "program");
  }
  return results;
}

Json ToJson(const std::vector<LxProgram>& programs) {
  Json list = Json::array();
  for (const LxProgram& program : programs) {
    Json buffers = Json::array();
    for (const LxBuffer& buffer : program.buffers) {
      buffers.push_back({{"name", buffer.name},
                         {"address", buffer.address},
                         {"bytes", buffer.bytes},
                         {"first_step", buffer.first_step},
                         {"last_step", buffer.last_step},
                         {"cores", buffer.cores}});
    }
    list.push_back(
        {{"program", program.program}, {"steps", program.steps}, {"buffers", std::move(buffers)}});
  }
  return list;
}

Json ToJson(const PathTimes& path) {
  const Bound bound = BoundOf(path);
  return {{"bound_by", bound.resource}, {"share", bound.share()}, {"causes_ns", CausesJson(path)}};
}

std::string CausesText(const PathTimes& path, const std::string& indent) {
  std::vector<size_t> order;
  for (size_t i = 0; i < kCauses; ++i) {
    if (path[i] > 0) order.push_back(i);
  }
  StableSort(order, [&path](size_t a, size_t b) { return path[a] > path[b]; });
  const auto total = static_cast<double>(TotalPs(path));
  Table table({"spent on", "resource", "time", "share"}, 2);
  for (const size_t i : order) {
    const auto cause = static_cast<Cause>(i);
    std::string name = CauseName(cause);
    std::replace(name.begin(), name.end(), '_', ' ');
    table.Add({name, std::string(ResourceText(ResourceName(cause))), FormatTime(path[i]),
               FormatPercent(static_cast<double>(path[i]) / total)});
  }
  return table.empty() ? "" : table.ToString(indent);
}

}  // namespace spyre::trace
