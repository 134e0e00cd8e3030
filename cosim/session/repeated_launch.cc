// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/repeated_launch.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

using flex::DeviceHandle;
using runtime::DeviceStorage;

constexpr uint64_t kPsPerCycleOf1Mhz = 1'000'000;

uint64_t HexOf(const std::string& text, const char* key) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.rfind("0x", 0) == 0 && text.size() > 2) {
    const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
    if (error == std::errc() && stop == end) return value;
  }
  throw BadInput("workload.repeat.{} = '{}': a number of up to 64 bits is expected, as 0x1000", key,
                 text)
      .Subject(fmt::format("workload.repeat.{}", key));
}

// "write 12 - 5 7+0+1250+0", as MemoryTexts writes it: a bank's row or -, and where one of them is
// not zero, the times from which its columns can be used, it can be closed, and opened.
model::ChannelController::Rest RestOf(const std::string& text) {
  std::istringstream in(text);
  std::string direction, bank;
  model::ChannelController::Rest rest;
  in >> direction >> rest.turn_requests;
  rest.writing = direction == "write";
  bool good = !in.fail() && (rest.writing || direction == "read");
  while (good && in >> bank) {
    model::ChannelController::BankRest& of = rest.banks.emplace_back();
    const char* at = bank.data();
    const char* const end = at + bank.size();
    const auto take = [&](auto& number) {
      const auto [stop, error] = std::from_chars(at, end, number);
      good &= error == std::errc();
      at = stop;
    };
    if (*at == '-') {
      ++at;
    } else {
      take(of.row);
    }
    for (uint64_t* const ps : {&of.column_ps, &of.precharge_ps, &of.activate_ps}) {
      if (!good || at == end || *at != '+') break;
      ++at;
      take(*ps);
    }
    good &= at == end;
  }
  if (good) return rest;
  throw BadInput(
      "workload.repeat.memory = '{}': read or write, a number of requests, and a row or - for each "
      "bank are expected",
      text)
      .Subject("workload.repeat.memory");
}

DeviceHandle HandleAt(bool physical, uint64_t address) {
  if (physical) return flex::PFDeviceHandle{address, 0};
  return flex::VFDeviceHandle{static_cast<uint32_t>(SegmentOf(address)), SegmentOffset(address), 0};
}

// Memory of a kind is handed out from the lowest place on, so that what is to lie higher lies
// behind memory that nobody uses.
class Placing {
 public:
  Placing(flex::RuntimeContext& context, flex::MemoryKind kind, uint32_t region,
          PlacedMemory& memory)
      : context_(context), kind_(kind), region_(region), memory_(memory) {}

  // Nothing of the kind and region is free below `offset`, from the end of what was placed before.
  void FillTo(uint64_t offset, const char* key) {
    if (next_ == 0) next_ = Base();
    if (offset < next_) {
      throw BadInput("workload.repeat.{}: {} memory begins at {:#x}, not at {:#x}", key,
                     MemoryKindName(kind_), next_, offset)
          .Subject(fmt::format("workload.repeat.{}", key));
    }
    if (offset > next_) Take(offset - next_);
    next_ = offset;
  }
  void Take(uint64_t bytes) {
    memory_.push_back(std::make_shared<DeviceStorage>(context_, bytes, kind_, region_));
    next_ = flex::RawOffset(memory_.back()->handle()) + memory_.back()->size_bytes();
  }

 private:
  uint64_t Base() const {
    const DeviceStorage probe(context_, kStickBytes, kind_, region_);
    return flex::RawOffset(probe.handle());
  }

  flex::RuntimeContext& context_;
  const flex::MemoryKind kind_;
  const uint32_t region_;
  PlacedMemory& memory_;
  uint64_t next_ = 0;
};

}  // namespace

std::vector<runtime::SpyreTensor> PlaceTensors(flex::RuntimeContext& context,
                                               const std::vector<StickLayout>& layouts,
                                               const RepeatConfig& repeat, PlacedMemory& memory) {
  if (repeat.addresses.size() != layouts.size()) {
    throw BadInput("workload.repeat.addresses has {} addresses; the bundle has {} tensor arguments",
                   repeat.addresses.size(), layouts.size())
        .Subject("workload.repeat.addresses");
  }
  const bool physical = context.is_physical();
  std::vector<runtime::SpyreTensor> tensors;
  std::map<uint32_t, std::map<uint64_t, uint64_t>> ranges;  // by region: begin -> end
  for (size_t i = 0; i < layouts.size(); ++i) {
    const uint64_t address = HexOf(repeat.addresses[i], "addresses");
    const DeviceHandle handle = HandleAt(physical, address);
    tensors.push_back(runtime::TensorAt(handle, layouts[i]));
    const uint64_t begin = flex::RawOffset(handle) / kStickBytes * kStickBytes;
    const uint64_t end = AlignUp(flex::RawOffset(handle) + tensors.back().size_bytes, kStickBytes);
    uint64_t& known = ranges[physical ? 0 : static_cast<uint32_t>(SegmentOf(address))][begin];
    known = std::max(known, end);
  }
  for (const auto& [region, places] : ranges) {
    Placing placing(context, flex::MemoryKind::kTensor, region, memory);
    uint64_t reached = 0;
    for (const auto& [begin, end] : places) {
      if (end <= reached) continue;
      const uint64_t from = std::max(begin, reached);
      placing.FillTo(from, "addresses");
      placing.Take(end - from);
      reached = end;
    }
  }
  if (!repeat.program.empty()) {
    Placing(context, flex::MemoryKind::kProgram, 0, memory)
        .FillTo(HexOf(repeat.program, "program"), "program");
  }
  return tensors;
}

void HoldLaunch(const RunConfig& config, model::Card& card) {
  const RepeatConfig& repeat = config.workload.repeat;
  if (repeat.start_ps.empty()) return;
  model::ControlProcessor::HeldCompute held;
  held.before = 1;  // the correction
  held.start_ps = HexOf(repeat.start_ps, "start_ps");
  held.period_ps = std::lcm(config.card.memory.t_refi_ps, config.card.memory.clock_ps);
  for (const uint64_t mhz :
       {config.card.clock.core_mhz, config.card.clock.ring_mhz, config.card.control.clock_mhz})
    held.period_ps = std::lcm(
        held.period_ps, kPsPerCycleOf1Mhz % mhz == 0 ? kPsPerCycleOf1Mhz / mhz : kPsPerCycleOf1Mhz);
  model::DeviceMemory::Rest rest;
  for (const std::string& text : repeat.memory) rest.push_back(RestOf(text));
  held.at_start = [&card, rest = std::move(rest)] { card.memory().SetRest(rest); };
  card.control().HoldCompute(std::move(held));
}

std::vector<std::string> MemoryTexts(const model::DeviceMemory& memory) {
  std::vector<std::string> texts;
  for (const model::ChannelController::Rest& rest : memory.rest()) {
    std::string text = fmt::format("{} {}", rest.writing ? "write" : "read", rest.turn_requests);
    for (const model::ChannelController::BankRest& bank : rest.banks) {
      text += bank.row == UINT32_MAX ? std::string(" -") : fmt::format(" {}", bank.row);
      if ((bank.column_ps | bank.precharge_ps | bank.activate_ps) != 0)
        text += fmt::format("+{}+{}+{}", bank.column_ps, bank.precharge_ps, bank.activate_ps);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace spyre::cosim
