// SPDX-License-Identifier: Apache-2.0
// Places of a plan: what the LX planner is told, and why it could not keep to one.

#include <algorithm>

#include "base/joined.h"
#include "base/nearest.h"
#include "runtime/compiler/front_end/plan.h"

namespace spyre::compiler {
namespace {

struct Reason {
  std::string why, remedy;
};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class PlaceCheck {
 public:
  PlaceCheck(const Graph& graph, const DimNames& loop_names,
             const std::map<std::string, WorkDivision>& divisions,
             const std::map<std::string, std::string>& device, const LxPlan& lx,
             const LxOptions& options)
      : graph_(graph),
        loop_names_(loop_names),
        divisions_(divisions),
        device_(device),
        lx_(lx),
        options_(options) {}

  void Check(const std::string& name, const PlanPlace& place) const {
    const GraphOp* op = graph_.Find(name);
    if (op == nullptr && graph_.FindInput(name) == nullptr) {
      std::vector<std::string> known;
      for (const GraphOp& other : graph_.ops)
        if (other.IsComputed()) known.push_back(other.name);
      Refuse("unknown_buffer", name,
             {fmt::format("no such result (there are {}){}", Joined(known, ", "),
                          DidYouMean(name, known)),
              ""});
    }
    if (!place.in_lx) return;
    const LxBufferPlan* const buffer = lx_.Find(name);
    if (buffer != nullptr && buffer->lx_address) return;
    Refuse("not_in_lx", name, Why(name, op, buffer, place));
  }

 private:
  [[noreturn]] static void Refuse(const char* kind, const std::string& name, const Reason& reason) {
    throw CompileError("InvalidPlan", kind,
                       fmt::format("plan.lx.{}: {}{}{}", name, reason.why,
                                   reason.remedy.empty() ? "" : "; ", reason.remedy))
        .Subject(name)
        .Remedy(reason.remedy);
  }

  Reason Why(const std::string& name, const GraphOp* op, const LxBufferPlan* buffer,
             const PlanPlace& place) const {
    if (op == nullptr) return {"it is an input, which comes in device memory", "leave it out"};
    const bool whole = op->layout.kind == BufferLayout::Kind::kMutation;
    if (Contains(graph_.outputs, name) || (whole && Contains(graph_.outputs, op->layout.target)))
      return {"it is a result that its kernel hands out, which is in device memory",
              "leave it out"};
    if (whole) {
      return {fmt::format("it is read outside of its loop, so its tiles are gathered in device "
                          "memory (by {})",
                          Joined(ReadersOf(op->layout.target), ", ")),
              "take the readers into the same loop"};
    }
    const auto device = device_.find(name);
    if (device != device_.end()) return {device->second, "leave it out"};
    if (buffer == nullptr || buffer->cores == LxBufferPlan::kCoresDiffer) return Disagreement(name);
    return NoRoom(*buffer, place);
  }

  std::vector<std::string> ReadersOf(const std::string& buffer) const {
    std::vector<std::string> readers;
    for (const GraphOp& op : graph_.ops)
      if (op.Reads(buffer)) readers.push_back(op.name);
    return readers;
  }

  // "A = 8, B = 4"
  std::string SplitsOf(const std::string& op) const {
    const std::vector<int>& splits = divisions_.at(op).splits;
    auto names = loop_names_.find(op);
    if (names == loop_names_.end()) names = loop_names_.find(CopiedBy(op));
    std::string text;
    for (size_t i = 0; i < splits.size(); ++i) {
      if (splits[i] == 1) continue;
      const bool named = names != loop_names_.end() && i < names->second.size();
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                          named ? names->second[i] : fmt::format("loop {}", i), splits[i]);
    }
    return text.empty() ? "nothing" : text;
  }

  Reason Disagreement(const std::string& name) const {
    std::vector<std::string> who = {
        fmt::format("{}, which writes it, cuts {}", name, SplitsOf(name))};
    const std::vector<std::string> readers = ReadersOf(name);
    for (const std::string& reader : readers)
      who.push_back(fmt::format("{} cuts {}", reader, SplitsOf(reader)));
    const std::string remedy = readers.empty()
                                   ? ""
                                   : fmt::format(
                                         "give {} and {} the same slices of what both walk, with "
                                         "plan.splits or in one loop",
                                         name, readers.front());
    return {fmt::format("its cores would hold other parts of it than those that read it: {}",
                        Joined(who, "; ")),
            remedy};
  }

  // "z (131072 bytes at 0)": what the plan has put in LX for the same time.
  std::string PinnedBeside(const LxBufferPlan& buffer) const {
    std::string text;
    for (const auto& [name, pin] : options_.pins) {
      const LxBufferPlan* const other = lx_.Find(name);
      if (other == nullptr || !other->lx_address) continue;
      if (other->start >= buffer.end || buffer.start >= other->end) continue;
      text += fmt::format("{}{} ({} bytes at {})", text.empty() ? "" : ", ", name,
                          other->device_bytes / std::max(other->cores, 1), *other->lx_address);
    }
    return text.empty() ? "what else the plan has put there" : text;
  }

  Reason NoRoom(const LxBufferPlan& buffer, const PlanPlace& place) const {
    const int64_t bytes = buffer.device_bytes / buffer.cores;
    if (place.address && *place.address % options_.alignment != 0) {
      const int64_t below = *place.address / options_.alignment * options_.alignment;
      return {fmt::format("address {} is not a multiple of {}", *place.address, options_.alignment),
              fmt::format("nearest: {} or {}", below, below + options_.alignment)};
    }
    const int64_t begin = place.address.value_or(0);
    if (begin + bytes <= options_.capacity) {
      return {fmt::format("its {} bytes on each core{} do not fit beside {}; LX planning has {}",
                          bytes, place.address ? fmt::format(" at {}", begin) : "",
                          PinnedBeside(buffer), options_.capacity),
              place.address ? "\"lx\" lets the planner choose the address"
                            : "pin fewer results, or make tiles smaller (plan.groups)"};
    }
    if (place.address && bytes <= options_.capacity) {
      return {fmt::format("its {} bytes on each core at {} end behind the {} that LX planning has",
                          bytes, begin, options_.capacity),
              fmt::format("nearest address: {}",
                          (options_.capacity - bytes) / options_.alignment * options_.alignment)};
    }
    const int64_t slices = (bytes + options_.capacity - 1) / options_.capacity;
    return {fmt::format("it needs {} bytes on each core, and LX planning has {}", bytes,
                        options_.capacity),
            fmt::format("cut it into at least {} tiles (plan.groups){}", slices,
                        buffer.cores < options_.cores ? ", or over more cores" : "")};
  }

  const Graph& graph_;
  const DimNames& loop_names_;
  const std::map<std::string, WorkDivision>& divisions_;
  const std::map<std::string, std::string>& device_;
  const LxPlan& lx_;
  const LxOptions& options_;
};

}  // namespace

std::map<std::string, LxPin> PinsOf(const Plan& plan) {
  std::map<std::string, LxPin> pins;
  for (const auto& [name, place] : plan.places) pins[name] = {place.in_lx, place.address};
  return pins;
}

void CheckPlaces(const Plan& plan, const Graph& graph, const DimNames& loop_names,
                 const std::map<std::string, WorkDivision>& divisions,
                 const std::map<std::string, std::string>& device, const LxPlan& lx,
                 const LxOptions& options) {
  const PlaceCheck check(graph, loop_names, divisions, device, lx, options);
  for (const auto& [name, place] : plan.places) check.Check(name, place);
}

}  // namespace spyre::compiler
