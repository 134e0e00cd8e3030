// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/ranges.h"
#include "base/time_units.h"
#include "cosim/measure/usage.h"
#include "cosim/report/nanoseconds.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

double ShareOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
double PerSecond(uint64_t amount, uint64_t ps) {
  return ps == 0 ? 0 : static_cast<double>(amount) * kPsPerSecond / static_cast<double>(ps);
}

// What no card of these peaks can be faster than.
struct Bounds {
  uint64_t macs = 0, bytes = 0;  // bytes: weights and KV cache, once
  double compute_ns = 0, memory_ns = 0;
};

Bounds BoundsOf(const RunResult& result, const ModelTimes& times) {
  const Peaks peaks = PeaksOf(result.config.card, result.config.card.cores);
  Bounds bounds;
  for (const ModelPart& part : times.parts) bounds.macs += part.macs;
  bounds.bytes = result.model->weight_bytes + result.model->cache_bytes;
  bounds.compute_ns = static_cast<double>(bounds.macs) / peaks.macs_per_s * 1e9;
  bounds.memory_ns = static_cast<double>(bounds.bytes) / peaks.memory_bytes_per_s * 1e9;
  return bounds;
}

uint64_t MeanPs(const std::vector<uint64_t>& ps) {
  return std::accumulate(ps.begin(), ps.end(), uint64_t{0}) / ps.size();
}

}  // namespace

std::optional<ModelTimes> ModelTimesOf(const RunResult& result) {
  if (!result.model) return std::nullopt;
  const std::vector<ModelTask>& tasks = result.model->tasks;
  std::vector<const flex::CompletedOperation*> kernels;  // on one stream, so in order of the tasks
  for (const flex::CompletedOperation& operation : result.launches)
    if (result.IsKernel(operation)) kernels.push_back(&operation);
  if (kernels.size() != tasks.size() || kernels.empty()) return std::nullopt;
  ModelTimes times;
  times.step_ps = result.launch_end_ps - result.launch_begin_ps;
  times.before_ps = kernels.front()->started_ps - result.launch_begin_ps;
  times.layer_ps.resize(result.model->layers);
  uint64_t end = kernels.front()->started_ps;  // of the kernel before
  for (size_t i = 0; i < tasks.size(); ++i) {
    const flex::CompletedOperation& kernel = *kernels[i];
    const uint64_t ps = kernel.finished_ps - kernel.started_ps;
    if (tasks[i].layer >= 0)
      times.layer_ps[static_cast<size_t>(tasks[i].layer)] += kernel.finished_ps - end;
    end = kernel.finished_ps;
    times.kernels_ps += ps;
    auto part =
        FindIf(times.parts, [&](const ModelPart& other) { return other.name == tasks[i].part; });
    if (part == times.parts.end())
      part = times.parts.insert(times.parts.end(), ModelPart{tasks[i].part});
    ++part->launches;
    part->ps += ps;
    part->macs += kernel.macs;
    part->bytes_read += kernel.device_bytes_read;
    part->bytes_written += kernel.device_bytes_written;
  }
  const uint64_t layers =
      std::accumulate(times.layer_ps.begin(), times.layer_ps.end(), uint64_t{0});
  times.behind_ps = times.step_ps - times.before_ps - layers;
  times.gaps_ps = times.step_ps - times.kernels_ps;
  return times;
}

Json ModelJson(const RunResult& result) {
  const std::optional<ModelTimes> times = ModelTimesOf(result);
  if (!times) return nullptr;
  const ModelSummary& model = *result.model;
  const auto [least, most] = std::minmax_element(times->layer_ps.begin(), times->layer_ps.end());
  Json layers = Json::array(), parts = Json::array();
  for (const uint64_t ps : times->layer_ps) layers.push_back(Ns(ps));
  for (const ModelPart& part : times->parts) {
    parts.push_back({{"part", part.name},
                     {"launches", part.launches},
                     {"time_ns", Ns(part.ps)},
                     {"share", ShareOf(part.ps, times->step_ps)},
                     {"macs", part.macs},
                     {"device_bytes_read", part.bytes_read},
                     {"device_bytes_written", part.bytes_written}});
  }
  const Bounds bounds = BoundsOf(result, *times);
  return {
      {"layers", model.layers},
      {"batch", model.batch},
      {"sequence", model.sequence},
      {"context", model.context},
      {"vocabulary", model.vocabulary},
      {"tokens", model.tokens()},
      {"parameters", model.parameters},
      {"step_ns", Ns(times->step_ps)},
      {"token_ns", Ns(times->step_ps) / static_cast<double>(model.tokens())},
      {"tokens_per_s", PerSecond(model.tokens(), times->step_ps)},
      {"layer",
       {{"min_ns", Ns(*least)}, {"mean_ns", Ns(MeanPs(times->layer_ps))}, {"max_ns", Ns(*most)}}},
      {"layers_ns", std::move(layers)},
      {"before_ns", Ns(times->before_ps)},
      {"behind_ns", Ns(times->behind_ps)},
      {"kernels_ns", Ns(times->kernels_ps)},
      {"gaps_ns", Ns(times->gaps_ps)},
      {"parts", std::move(parts)},
      {"bounds",
       {{"macs", bounds.macs},
        {"compute_ns", bounds.compute_ns},
        {"bytes", bounds.bytes},
        {"memory_ns", bounds.memory_ns}}},
      {"memory",
       {{"weight_bytes", model.weight_bytes},
        {"cache_bytes", model.cache_bytes},
        {"activation_bytes", model.activation_bytes},
        {"table_bytes", model.table_bytes},
        {"program_bytes", result.program_memory.peak_bytes}}}};
}

std::string ModelRate(const RunResult& result) {
  const std::optional<ModelTimes> times = ModelTimesOf(result);
  if (!times) return "";
  const uint64_t tokens = result.model->tokens();
  return fmt::format("{} new token{}, {:.1f} tokens/s", tokens, tokens == 1 ? "" : "s",
                     PerSecond(tokens, times->step_ps));
}

std::string ModelText(const RunResult& result) {
  const std::optional<ModelTimes> times = ModelTimesOf(result);
  if (!times) return "";
  const ModelSummary& model = *result.model;
  const auto [least, most] = std::minmax_element(times->layer_ps.begin(), times->layer_ps.end());
  const Bounds bounds = BoundsOf(result, *times);
  const auto time = [](double ns) { return trace::FormatTime(static_cast<uint64_t>(ns * 1000)); };
  return fmt::format(
      "  model: {} new token{} in {}, {:.1f} tokens/s; a layer takes {} / {} / {} (least / mean / "
      "most of {})\n"
      "  no faster than: {} for {:.1f} GMAC in the PT arrays, {} for weights and KV cache from "
      "memory\n"
      "  held in memory: weights {}, KV cache {}, activations {}, tables {}, programs {}\n",
      model.tokens(), model.tokens() == 1 ? "" : "s", trace::FormatTime(times->step_ps),
      PerSecond(model.tokens(), times->step_ps), trace::FormatTime(*least),
      trace::FormatTime(MeanPs(times->layer_ps)), trace::FormatTime(*most), model.layers,
      time(bounds.compute_ns), static_cast<double>(bounds.macs) / 1e9, time(bounds.memory_ns),
      trace::FormatBytes(model.weight_bytes), trace::FormatBytes(model.cache_bytes),
      trace::FormatBytes(model.activation_bytes), trace::FormatBytes(model.table_bytes),
      trace::FormatBytes(result.program_memory.peak_bytes));
}

std::string ModelTable(const RunResult& result, size_t width) {
  const std::optional<ModelTimes> times = ModelTimesOf(result);
  if (!times) return "";
  trace::Table table({"part", "launches", "time", "of the step", "TMAC/s", "GB/s"});
  for (const ModelPart& part : times->parts) {
    table.Add(
        {part.name, std::to_string(part.launches), trace::FormatTime(part.ps),
         trace::FormatPercent(ShareOf(part.ps, times->step_ps)),
         fmt::format("{:.2f}", PerSecond(part.macs, part.ps) / 1e12),
         fmt::format("{:.1f}", PerSecond(part.bytes_read + part.bytes_written, part.ps) / 1e9)});
  }
  table.Add({"between kernels", "", trace::FormatTime(times->gaps_ps),
             trace::FormatPercent(ShareOf(times->gaps_ps, times->step_ps)), "", ""});
  return "Parts of the step:\n" + table.ToString("  ", width);
}

}  // namespace spyre::cosim
