// SPDX-License-Identifier: Apache-2.0
#include "traces/lx_occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/printable.h"
#include "base/ranges.h"
#include "traces/critical_path.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr int kCores = 32;  // that LxBuffer::cores has bits for

bool IsHeld(const LxBuffer& buffer, uint64_t step) {
  return buffer.first_step <= step && step <= buffer.last_step;
}

// `buffers`: in order of address.
uint64_t UnionOf(const std::vector<const LxBuffer*>& buffers, int core) {
  uint64_t bytes = 0, covered = 0;
  for (const LxBuffer* buffer : buffers) {
    if ((buffer->cores >> core & 1) == 0) continue;
    const uint64_t begin = std::max(buffer->address, covered);
    const uint64_t end = buffer->address + buffer->bytes;
    if (end > begin) bytes += end - begin;
    covered = std::max(covered, end);
  }
  return bytes;
}

struct Held {
  uint64_t bytes = 0, buffers = 0;
};

Held HeldIn(const LxProgram& program, uint64_t step) {
  std::vector<const LxBuffer*> buffers;
  uint32_t any = 0, all = ~uint32_t{0};
  for (const LxBuffer& buffer : program.buffers) {
    if (!IsHeld(buffer, step)) continue;
    buffers.push_back(&buffer);
    any |= buffer.cores;
    all &= buffer.cores;
  }
  StableSort(buffers, [](const LxBuffer* a, const LxBuffer* b) { return a->address < b->address; });
  Held held{0, buffers.size()};
  for (int core = 0; core < kCores; ++core) {
    if ((any >> core & 1) == 0) continue;
    held.bytes = std::max(held.bytes, UnionOf(buffers, core));
    if (any == all) break;  // every core holds the same
  }
  return held;
}

// By step, and by the name that records of the step have; of several steps of one name the most.
class ProgramHeld {
 public:
  explicit ProgramHeld(const LxProgram& program) {
    const size_t steps = std::max<size_t>(program.steps.size(), 1);
    for (size_t step = 0; step < steps; ++step) {
      const Held held = HeldIn(program, step);
      if (held.bytes > most_.bytes) most_ = held;
      if (step >= program.steps.size()) continue;
      Held& named = by_name_[program.steps[step]];
      if (held.bytes > named.bytes) named = held;
    }
  }
  const Held& most() const { return most_; }
  const Held* Find(const std::string& step) const {
    const auto found = by_name_.find(step);
    return found == by_name_.end() ? nullptr : &found->second;
  }

 private:
  Held most_;
  std::map<std::string, Held> by_name_;
};

std::string CoresText(uint32_t cores) {
  std::string text;
  for (int first = 0; first < kCores; ++first) {
    if ((cores >> first & 1) == 0) continue;
    int last = first;
    while (last + 1 < kCores && (cores >> (last + 1) & 1) != 0) ++last;
    text +=
        fmt::format("{}{}", text.empty() ? "" : ", ",
                    first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last));
    first = last;
  }
  return text;
}

std::string StepText(const LxProgram& program, uint64_t step) {
  return step < program.steps.size() ? Printable(program.steps[step]) : "-";
}

std::string Left(size_t all, size_t shown, const char* what) {
  return all <= shown ? "" : fmt::format("  {} more {}; --rows N shows more\n", all - shown, what);
}

}  // namespace

uint64_t BytesHeld(const LxProgram& program, uint64_t step) { return HeldIn(program, step).bytes; }

const LxMoment* LxOccupancy::Peak() const {
  const auto most =
      std::max_element(moments.begin(), moments.end(),
                       [](const LxMoment& a, const LxMoment& b) { return a.bytes < b.bytes; });
  return most == moments.end() ? nullptr : &*most;
}

LxOccupancy LxOverTime(const Trace& trace) {
  RunResults results = ParseRunResults(trace.results);
  LxOccupancy out;
  out.core_bytes = results.lx_bytes;
  out.programs = std::move(results.lx);
  std::map<std::string, ProgramHeld> programs;
  for (const LxProgram& program : out.programs)
    programs.emplace(program.program, ProgramHeld(program));
  std::unordered_map<uint64_t, std::vector<const Record*>> steps;  // by flow
  for (const Record& record : trace.records) {
    if (record.category == kStep) steps[record.flow].push_back(&record);
  }
  for (const KernelRun& kernel : Kernels(trace)) {
    const auto named = results.programs.find(kernel.flow);
    if (named == results.programs.end()) continue;
    const std::string& name = named->second;
    const auto program = programs.find(name);
    if (program == programs.end()) continue;
    bool has_steps = false;
    const auto of_kernel = steps.find(kernel.flow);
    if (of_kernel != steps.end()) {
      for (const Record* record : of_kernel->second) {
        const std::string& step = trace.names[record->name];
        const Held* held = program->second.Find(step);
        if (held == nullptr || record->end_ps > kernel.end_ps || record->start_ps < kernel.start_ps)
          continue;
        has_steps = true;
        out.moments.push_back({record->start_ps, record->end_ps, kernel.number, name, step,
                               held->bytes, held->buffers});
      }
    }
    if (has_steps) continue;
    const Held& most = program->second.most();
    out.moments.push_back(
        {kernel.start_ps, kernel.end_ps, kernel.number, name, "", most.bytes, most.buffers});
  }
  StableSort(out.moments,
             [](const LxMoment& a, const LxMoment& b) { return a.start_ps < b.start_ps; });
  return out;
}

std::string ToText(const LxOccupancy& occupancy, uint64_t zero_ps, size_t rows) {
  const LxMoment* const peak = occupancy.Peak();
  if (peak == nullptr) return "The trace does not say what its kernels keep in LX.\n";
  const auto share = [&occupancy](uint64_t bytes) {
    return occupancy.core_bytes == 0 ? std::string("-")
                                     : FormatPercent(static_cast<double>(bytes) /
                                                     static_cast<double>(occupancy.core_bytes));
  };
  std::string out = fmt::format(
      "LX of a core: at most {} of {} ({}) held, in kernel {}, {}{}\n", FormatBytes(peak->bytes),
      FormatBytes(occupancy.core_bytes), share(peak->bytes), peak->kernel, Printable(peak->program),
      peak->step.empty() ? "" : fmt::format(", step {}", Printable(peak->step)));
  Table moments({"program", "step", "kernel", "since launch", "time", "held", "of LX", "buffers"},
                2);
  for (size_t i = 0; i < std::min(rows, occupancy.moments.size()); ++i) {
    const LxMoment& moment = occupancy.moments[i];
    const std::string since = moment.start_ps >= zero_ps
                                  ? FormatTime(moment.start_ps - zero_ps)
                                  : "-" + FormatTime(zero_ps - moment.start_ps);
    moments.Add({Printable(moment.program), moment.step.empty() ? "-" : Printable(moment.step),
                 fmt::format("{}", moment.kernel), since,
                 FormatTime(moment.end_ps - moment.start_ps), FormatBytes(moment.bytes),
                 share(moment.bytes), fmt::format("{}", moment.buffers)});
  }
  out += moments.ToString("  ") + Left(occupancy.moments.size(), rows, "times");
  for (const LxProgram& program : occupancy.programs) {
    Table buffers({"buffer", "first step", "last step", "cores", "address", "bytes"}, 4);
    for (size_t i = 0; i < std::min(rows, program.buffers.size()); ++i) {
      const LxBuffer& buffer = program.buffers[i];
      buffers.Add({Printable(buffer.name), StepText(program, buffer.first_step),
                   StepText(program, buffer.last_step), CoresText(buffer.cores),
                   fmt::format("{}", buffer.address), FormatBytes(buffer.bytes)});
    }
    out += fmt::format("\nBuffers of {}\n", Printable(program.program)) + buffers.ToString("  ") +
           Left(program.buffers.size(), rows, "buffers");
  }
  return out;
}

nlohmann::json ToJson(const LxOccupancy& occupancy) {
  using Json = nlohmann::json;
  const auto ns = [](uint64_t ps) { return static_cast<double>(ps) / 1e3; };
  Json moments = Json::array();
  for (const LxMoment& moment : occupancy.moments) {
    moments.push_back({{"start_ns", ns(moment.start_ps)},
                       {"end_ns", ns(moment.end_ps)},
                       {"kernel", moment.kernel},
                       {"program", moment.program},
                       {"step", moment.step},
                       {"bytes", moment.bytes},
                       {"buffers", moment.buffers}});
  }
  const LxMoment* const peak = occupancy.Peak();
  return {{"core_bytes", occupancy.core_bytes},
          {"peak_bytes", peak == nullptr ? 0 : peak->bytes},
          {"moments", std::move(moments)},
          {"programs", ToJson(occupancy.programs)}};
}

}  // namespace spyre::trace
