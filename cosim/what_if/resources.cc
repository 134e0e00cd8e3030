// SPDX-License-Identifier: Apache-2.0
#include "cosim/what_if/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/ranges.h"
#include "cosim/trials/progress.h"
#include "traces/path_causes.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBounds = 0.03;  // what gains less bounds nothing

// Of several cards with the collective.
double Window(const TrialResult& result) { return result.Number("program_ns"); }

Verdict VerdictOf(const BoundAnswer& answer) {
  Verdict verdict;
  verdict.ran =
      fmt::format("{}, and with each resource {:g} times as fast", answer.config, answer.factor);
  verdict.checked = "times only";
  verdict.time = fmt::format(
      "{} from first to last launch operation{}",
      trace::FormatTime(static_cast<uint64_t>(Window(answer.base) * 1000)),
      std::isnan(answer.base.Number("collective_ns")) ? "" : ", or to the end of the collective");
  const std::string by = answer.BoundBy();
  verdict.bound = by == "none"
                      ? "nothing alone: no resource gains 3 %"
                      : fmt::format("{}: it gains most, {:.1f} % (simulated)",
                                    trace::ResourceText(by), 100 * answer.resources.front().gain);
  const std::string& named = answer.base.texts.front();
  const auto of_path = FindIf(
      answer.resources, [&](const ResourceAnswer& resource) { return resource.resource == named; });
  if (named != by && of_path != answer.resources.end()) {
    verdict.notes.push_back(fmt::format("the critical path is longest on {}, which gains {:.1f} %",
                                        trace::ResourceText(named), 100 * of_path->gain));
  }
  return verdict;
}

}  // namespace

const std::vector<ResourceParameters>& Resources() {
  static const std::vector<ResourceParameters> resources = {
      {"memory",
       {"card.memory.channels", "card.fast.read_mb_per_s", "card.fast.write_mb_per_s",
        "card.fast.strided_read_mb_per_s", "card.fast.turnaround_ns_per_mb"}},
      {"memory_latency",
       {"card.memory.controller_ns", "card.memory.t_rcd_ps", "card.memory.read_latency_ps",
        "card.memory.write_latency_ps", "card.fast.stream_mb_per_s", "card.fast.step_memory_ns"}},
      {"ring",
       {"card.ring.bytes_per_cycle", "card.ring.multicast_request_ps",
        "card.fast.half_ring_mb_per_s", "card.fast.half_ring_reduce_mb_per_s"}},
      {"ring_latency", {"card.ring.hop_cycles"}},
      {"partial_sums", {"card.ring.psum_bytes_per_cycle"}},
      {"lx_port", {"card.core.lx_port_bytes_per_cycle"}},
      {"pt",
       {"card.core.pt_macs_per_cycle", "card.core.pt_block_load_cycles",
        "card.core.pt_block_load_split_cycles", "card.core.pt_fill_drain_cycles"}},
      {"vector",
       {"card.core.vector_lanes", "card.core.vector_startup_cycles",
        "card.core.vector_reduce_row_cycles", "card.core.vector_loop_unary_centicycles",
        "card.core.vector_loop_function_centicycles", "card.core.vector_loop_binary_centicycles",
        "card.core.vector_loop_constant_centicycles", "card.core.vector_loop_broadcast_centicycles",
        "card.core.vector_loop_reduce_centicycles"}},
      {"token_hand_over", {"card.core.token_cycles"}},
      {"barrier", {"card.core.barrier_cycles", "card.core.step_start_cycles"}},
      // Their instructions take one cycle each; only what a translation takes has a key.
      {"sequencer", {"card.mmu.translate_cycles"}},
      {"control",
       {"card.control.decode_ns", "card.control.dispatch_ns", "card.control.respond_ns",
        "card.fast.start_ns"}},
      {"pcie",
       {"card.pcie.one_way_ns", "card.pcie.host_memory_ns", "card.pcie.rate_mts",
        "card.pcie.card_posted_data", "card.pcie.card_posted_headers", "switch.rate_mts",
        "switch.forward_ns", "switch.uplink_ns", "switch.peer_read_ns"}},
      {"host",
       {"host.register_write_ns", "host.register_read_ns", "host.interrupt_ns", "host.submit_ns",
        "host.completion_ns", "host.map_ns", "host.convert_bytes_per_ns", "host.dispatch_ns",
        "host.launch_ns", "host.convert_ns_per_kib", "host.synchronise_ns", "host.operation_ns",
        "host.operation_bytes_per_ns", "host.copy_out_ns", "host.copy_out_ns_per_kib",
        "host.copy_out_cold_ns_per_kib"}}};
  return resources;
}

std::vector<std::string> FasterSets(const RunConfig& config, const ResourceParameters& resource,
                                    double factor) {
  std::vector<std::string> sets, keys;
  // Those of the closed form say nothing where the run is simulated, nor those of the switch where
  // there is one card, and may not be asked.
  std::copy_if(resource.keys.begin(), resource.keys.end(), std::back_inserter(keys),
               [&](const std::string& key) {
                 if (key.rfind("switch.", 0) == 0) return config.cards.count > 1;
                 return config.card.fidelity == model::Fidelity::kFast ||
                        key.rfind("card.fast.", 0) != 0;
               });
  for (const Parameter& parameter : ParametersOf(config, keys).asked) {
    const std::optional<uint64_t> value = Faster(parameter, factor);
    if (!value) continue;
    const std::vector<std::string> own = SetsOf(parameter, *value);
    sets.insert(sets.end(), own.begin(), own.end());
  }
  return sets;
}

std::string BoundAnswer::BoundBy() const {
  return resources.empty() || resources.front().gain < kBounds ? "none"
                                                               : resources.front().resource;
}

BoundAnswer AskResources(const WhatIfOptions& options, const ConfigReader& reader,
                         std::ostream& messages) {
  BoundAnswer answer;
  answer.config = options.config;
  answer.factor = options.factor;
  const RunConfig config = reader(options.config, options.sets);
  for (const ResourceParameters& resource : Resources()) {
    std::vector<std::string> sets = FasterSets(config, resource, options.factor);
    if (!sets.empty()) answer.resources.push_back({resource.resource, std::move(sets), {}, 0});
  }
  TrialOptions trials;
  trials.jobs = options.jobs;
  TrialProgress progress("what-if", answer.resources.size() + 1, messages);
  RunTrials(
      answer.resources.size() + 1,
      [&](size_t number) {
        std::vector<std::string> sets = options.sets;
        if (number > 0) {
          const std::vector<std::string>& own = answer.resources[number - 1].sets;
          sets.insert(sets.end(), own.begin(), own.end());
        }
        return reader(options.config, sets);
      },
      trials,
      [&](size_t number, TrialResult result) {
        (number == 0 ? answer.base : answer.resources[number - 1].result) = std::move(result);
        progress.Ended();
      });
  RequireEnded(answer.base);
  for (ResourceAnswer& resource : answer.resources) {
    if (resource.result.ended() && Window(answer.base) > 0)
      resource.gain = 1 - Window(resource.result) / Window(answer.base);
  }
  StableSort(answer.resources,
             [](const ResourceAnswer& a, const ResourceAnswer& b) { return a.gain > b.gain; });
  return answer;
}

Json ToJson(const BoundAnswer& answer) {
  Json resources = Json::array();
  for (const ResourceAnswer& resource : answer.resources) {
    Json json = {{"resource", resource.resource}, {"set", resource.sets}};
    if (resource.result.ended()) json["change"] = -resource.gain;
    Json result = ToJson(resource.result);
    result.erase("wall_s");
    json.update(result);
    resources.push_back(std::move(json));
  }
  Json base = ToJson(answer.base);
  base.erase("wall_s");
  return {{"config", answer.config},
          {"factor", answer.factor},
          {"bound_by", answer.BoundBy()},
          {"base", std::move(base)},
          {"resources", std::move(resources)}};
}

std::string ToText(const BoundAnswer& answer, size_t width) {
  trace::Table table({"resource", "window", "change"});
  for (const ResourceAnswer& resource : answer.resources) {
    const bool ended = resource.result.ended();
    table.Add({std::string(trace::ResourceText(resource.resource)),
               ended ? trace::FormatTime(static_cast<uint64_t>(Window(resource.result) * 1000))
                     : Name(resource.result.status),
               ended ? fmt::format("{:+.1f} %", -100 * resource.gain) : "-"});
  }
  TextStyle style;
  style.width = width;
  return fmt::format("Launch window with one resource {:g} times as fast:\n", answer.factor) +
         table.ToString("  ", width) + "\n" + ToText(VerdictOf(answer), style);
}

}  // namespace spyre::cosim
