// SPDX-License-Identifier: Apache-2.0
#include "traces/export/aiu_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/json_text.h"
#include "base/ranges.h"
#include "traces/run_results.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr std::string_view kCompute = "COMPUTE ";
constexpr std::string_view kCorrection = " correction";

struct CallName {
  const char* call;
  const char* runtime;
};
// Names of this runtime and driver, and of the card's profiling library.
constexpr CallName kCallNames[] = {{"submit", "aiuLaunchControlBlocks"},
                                   {"doorbell", "aiuLaunchScheduleCompute"},
                                   {"wait for interrupt", "aiuScheduleWait"},
                                   {"poll", "aiuScheduleWait"},
                                   {"CopyToDevice", "aiuDataTransferHtoD"},
                                   {"CopyFromDevice", "aiuDataTransferDtoH"},
                                   {"Launch", "aiuLaunchComputeStream"},
                                   {"LaunchTiled", "aiuLaunchSuperNode"},
                                   {"Launch graph", "aiuGraphExecution"},
                                   {"convert", "aiuDataConvert"},
                                   {"map", "aiuPrepareDMAs"}};

bool IsCorrection(std::string_view name) {
  return name.size() > kCorrection.size() &&
         name.substr(name.size() - kCorrection.size()) == kCorrection;
}

// Multiply-accumulates of all PT arrays of the card in a cycle; 0: the metadata do not say.
uint64_t MacsPerCycle(const Trace& trace) {
  const auto metadata = SortedJsonOf(trace.metadata);
  const auto number = [&metadata](const char* pointer) -> uint64_t {
    const nlohmann::json::json_pointer at(pointer);
    const bool known = metadata.contains(at) && metadata[at].is_number_unsigned();
    return known ? metadata[at].get<uint64_t>() : 0;
  };
  return number("/config/card/cores") * number("/config/card/core/corelets") *
         number("/config/card/core/pt_macs_per_cycle");
}

// Kernels that follow each other share the correlation of the first of them, until a program comes
// again. If these rounds are not all alike, all kernels are one round: the tool takes the kernels
// of a correlation for one pass over its table of ideal cycles.
void AssignRounds(AiuCalls& calls) {
  std::vector<std::vector<std::string>> rounds;
  std::set<std::string> in_round;
  std::vector<size_t> round(calls.kernels.size());
  for (size_t i = 0; i < calls.kernels.size(); ++i) {
    const std::string& name = calls.kernels[i].name;
    if (rounds.empty() || !in_round.insert(name).second) {
      rounds.emplace_back();
      in_round = {name};
    }
    rounds.back().push_back(name);
    round[i] = rounds.size() - 1;
  }
  const bool alike =
      AllFit(rounds, [&rounds](const auto& other) { return other == rounds.front(); });
  std::map<size_t, uint64_t> correlation;
  for (size_t i = 0; i < calls.kernels.size(); ++i) {
    AiuKernel& kernel = calls.kernels[i];
    const uint64_t flow = kernel.correlation;
    kernel.correlation = correlation.emplace(alike ? round[i] : 0, flow).first->second;
    calls.round_of[flow] = kernel.correlation;
  }
}

// The tool reads its table in order of names, and compares that with the order of events: kernels
// get a number in front if their names are not in this order.
void NumberNames(std::vector<AiuKernel>& kernels) {
  std::vector<std::string> names;
  for (const AiuKernel& kernel : kernels) {
    if (std::find(names.begin(), names.end(), kernel.name) == names.end())
      names.push_back(kernel.name);
  }
  if (std::is_sorted(names.begin(), names.end())) return;
  const size_t digits = fmt::to_string(names.size() - 1).size();
  for (AiuKernel& kernel : kernels) {
    const auto at = std::find(names.begin(), names.end(), kernel.name) - names.begin();
    kernel.name = fmt::format("{:0{}}_{}", at, digits, kernel.name);
  }
}

}  // namespace

std::string AiuRuntimeName(const std::string& call) {
  for (const CallName& name : kCallNames) {
    if (call == name.call) return name.runtime;
  }
  return "";
}

AiuCalls AiuCallsOf(const Trace& trace) {
  const RunResults results = ParseRunResults(trace.results);
  const uint64_t macs_per_cycle = MacsPerCycle(trace);
  std::map<uint64_t, uint64_t> submitted_ps;
  std::vector<const Record*> blocks;
  for (const Record& r : trace.records) {
    if (r.category == kHost && r.flow != 0 && trace.names[r.name] == "submit")
      submitted_ps[r.flow] = r.end_ps;
    const bool is_block = r.category == kControl && trace.tracks[r.track].process == "card" &&
                          StartsWith(trace.tracks[r.track].name, "stream ");
    if (is_block && r.end_ps / 1000 > r.start_ps / 1000) blocks.push_back(&r);
  }
  StableSort(blocks, [](const Record* a, const Record* b) { return a->start_ps < b->start_ps; });
  AiuCalls calls;
  std::map<uint32_t, uint64_t> prepared_ns;  // by stream: when a correction began
  for (const Record* r : blocks) {
    const std::string& name = trace.names[r->name];
    const auto submitted = submitted_ps.find(r->flow);
    const uint64_t start_ns = r->start_ps / 1000, end_ns = r->end_ps / 1000;
    const uint64_t queued_ns =
        submitted == submitted_ps.end() ? start_ns : std::min(submitted->second / 1000, start_ns);
    if (!StartsWith(name, kCompute)) {
      if (name == "DMA_IN" || name == "DMA_OUT") {
        calls.copies.push_back(
            {name == "DMA_IN", r->flow, r->detail, queued_ns, start_ns, end_ns, r->bytes});
      }
      continue;
    }
    if (IsCorrection(name)) {
      prepared_ns.emplace(r->detail, start_ns);
      continue;
    }
    AiuKernel kernel{name.substr(kCompute.size()),
                     r->flow,
                     r->detail,
                     queued_ns,
                     start_ns,
                     end_ns,
                     r->bytes,
                     0,
                     false};
    if (const auto prepared = prepared_ns.find(r->detail); prepared != prepared_ns.end()) {
      kernel.queued_ns = std::min(kernel.queued_ns, prepared->second);
      prepared_ns.erase(prepared);
    }
    const auto macs = results.macs.find(r->flow);
    if (macs != results.macs.end() && macs_per_cycle > 0) {
      kernel.ideal_cycles = (macs->second + macs_per_cycle - 1) / macs_per_cycle;
      kernel.has_macs = macs->second > 0;
    }
    calls.kernels.push_back(std::move(kernel));
  }
  NumberNames(calls.kernels);
  AssignRounds(calls);
  return calls;
}

}  // namespace spyre::trace
