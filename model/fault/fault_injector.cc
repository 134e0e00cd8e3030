// SPDX-License-Identifier: Apache-2.0
#include "model/fault/fault_injector.h"

#include <fmt/format.h>

#include <utility>

#include "base/ranges.h"

namespace spyre::model {
namespace {

bool Matches(const FaultSpec& fault, const FaultEvent& event) {
  const auto same = [](const std::optional<uint64_t>& wanted, const std::optional<uint64_t>& is) {
    return !wanted || wanted == is;
  };
  const auto& where = fault.where;
  if (where.address &&
      (*where.address < event.address || *where.address - event.address >= event.bytes))
    return false;
  return same(where.channel, event.channel) && same(where.bank, event.bank) &&
         same(where.row, event.row) && same(where.core, event.core) &&
         same(where.function, event.function) && same(where.stream, event.stream) &&
         same(where.operation, event.operation) && (where.link.empty() || where.link == event.link);
}

std::string PlaceOf(const FaultEvent& event) {
  std::string place;
  const auto add = [&place](const std::string& part) {
    place += (place.empty() ? "" : ", ") + part;
  };
  const auto number = [&add](const char* name, const std::optional<uint64_t>& value) {
    if (value) add(fmt::format("{} {}", name, *value));
  };
  number("channel", event.channel);
  number("bank", event.bank);
  number("row", event.row);
  number("core", event.core);
  if (!event.link.empty()) add(fmt::format("link {}", event.link));
  if (event.bytes > 0) add(fmt::format("address {:#x}", event.address));
  number("function", event.function);
  number("stream", event.stream);
  number("operation", event.operation);
  return place.empty() ? "the card" : place;
}

void Settle(Injection& injection, FaultOutcome outcome, std::string_view by, uint64_t now_ps) {
  if (injection.outcome != FaultOutcome::kPending) return;
  injection.outcome = outcome;
  injection.by = by;
  injection.outcome_ps = now_ps;
}

}  // namespace

uint64_t FaultHash(uint64_t seed, uint64_t number) {
  uint64_t x = seed + (number + 1) * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::string Injection::Text() const {
  return fmt::format("{} at {}, at {:.3f} us", Info(fault->kind).name, place,
                     static_cast<double>(time_ps) / 1e6);
}

FaultInjector::FaultInjector(std::vector<FaultSpec> faults)
    : faults_(std::make_shared<const std::vector<FaultSpec>>(std::move(faults))) {
  for (const FaultSpec& fault : *faults_) states_.push_back({Info(fault.kind).site});
}

bool FaultInjector::Has(FaultSite site) const {
  return AnyFits(states_, [site](const State& state) { return state.site == site; });
}

Injection* FaultInjector::Strike(FaultSite site, const FaultEvent& event, uint64_t now_ps,
                                 bool only_addressed) {
  for (size_t i = 0; i < states_.size(); ++i) {
    const FaultSpec& fault = (*faults_)[i];
    State& state = states_[i];
    if (state.site != site || state.struck == fault.times) continue;
    if (now_ps < fault.when.time_ps || (only_addressed && !fault.where.address)) continue;
    if (!Matches(fault, event)) continue;
    const uint64_t number = state.events++;
    if (number + 1 < fault.when.count) continue;
    if (fault.when.probability < 1 &&
        static_cast<double>(FaultHash(fault.when.seed, number) >> 11) * 0x1p-53 >=
            fault.when.probability)
      continue;
    ++state.struck;
    injections_.push_back({i, &fault, now_ps, PlaceOf(event), {}, {}, {}});
    return &injections_.back();
  }
  return nullptr;
}

Injection& FaultInjector::StrikeAt(size_t number, const std::string& place, uint64_t now_ps) {
  ++states_[number].struck;
  injections_.push_back({number, &(*faults_)[number], now_ps, place, {}, {}, {}});
  return injections_.back();
}

void FaultInjector::Recovered(Injection& injection, std::string_view by, uint64_t now_ps) {
  if (injection.outcome == FaultOutcome::kDetected) injection.outcome = FaultOutcome::kPending;
  Settle(injection, FaultOutcome::kCorrected, by, now_ps);
}
void FaultInjector::Masked(Injection& injection, std::string_view why, uint64_t now_ps) {
  Settle(injection, FaultOutcome::kMasked, why, now_ps);
}
void FaultInjector::Corrected(Injection& injection, std::string_view by, uint64_t now_ps) {
  Settle(injection, FaultOutcome::kCorrected, by, now_ps);
}
void FaultInjector::Detected(Injection& injection, std::string_view by, uint64_t now_ps) {
  Settle(injection, FaultOutcome::kDetected, by, now_ps);
}

}  // namespace spyre::model
