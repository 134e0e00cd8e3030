// SPDX-License-Identifier: Apache-2.0
#include "cosim/what_if/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "base/ranges.h"

namespace spyre::cosim {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

struct ParameterRule {
  const char* key;  // or a table, with a dot at its end
  const char* reason;
};

// What is neither a time nor a rate of the card. The first rule that fits counts.
constexpr ParameterRule kNotAsked[] = {
    {"card.cores", "the work is divided by it; sweep it"},
    {"card.num_vfs", "functions, not speed"},
    {"card.core.corelets", "programs are written for it; card.core.pt_macs_per_cycle is its speed"},
    {"card.core.lx_", "the size of LX decides what the compiler keeps there; sweep it"},
    {"card.core.quantum_ns", "a step of the simulation, not of the card"},
    {"card.memory.capacity_gib", "a size"},
    {"card.memory.ecc_", "the layout of check bytes"},
    {"card.memory.channel_bits", "the rate is asked by card.memory.channels and transfer_mts"},
    {"card.memory.t_ccd_l_ps", "two bursts, and so asked with card.memory.transfer_mts"},
    {"card.memory.burst_length", "the granule of LPDDR5, which other times are derived from"},
    {"card.memory.clock_ps", "commands start on it; the times of commands are asked one by one"},
    {"card.memory.interleave_bytes", "where bytes are, not how fast; sweep it"},
    {"card.memory.bank", "where bytes are, not how fast; sweep it"},
    {"card.memory.page_bytes", "where bytes are, not how fast; sweep it"},
    {"card.pcie.max_", "sizes of packets; sweep it"},
    {"card.pcie.read_completion_boundary_bytes", "sizes of packets; sweep it"},
    {"card.pcie.completion_buffer_bytes", "the room for reads; sweep it"},
    {"card.pcie.lanes", "the rate of the link is asked by card.pcie.rate_mts"},
    {"card.management.trial_boots", "updates of the firmware, not a run"},
    {"card.management.flash_", "updates of the firmware, not a run"},
    {"card.management.boot_deadline_us", "when the simulation gives up, not a time of the card"},
    {"card.mmu.map_entries", "a size"},
    {"card.pt.", "which cores are RTL, not speed"},
    {"card.fast.samples", "how the simulation takes short cuts, not the card"},
    {"card.fast.tolerance_percent", "how the simulation takes short cuts, not the card"},
    {"card.fast.steady_us", "how the simulation takes short cuts, not the card"},
    {"card.fast.error_percent", "how the simulation takes short cuts, not the card"},
    {"switch.lanes", "the rate of the port is asked by switch.rate_mts"},
    {"card.power.", "energy, not time; --figure energy_uj asks it"},
    {"card.thermal.", "energy, not time"},
};
// The port's rate begins like the sizes of LX.
constexpr const char* kLxPort = "card.core.lx_port_bytes_per_cycle";

using Uses = bool (*)(const model::CardConfig& card);
struct Unused {
  const char* key;  // or the beginning of keys
  Uses uses;
  const char* reason;
};
constexpr Unused kUnused[] = {
    {"card.fast.",
     [](const model::CardConfig& card) { return card.fidelity == model::Fidelity::kFast; },
     "of the closed form, which this configuration does not use (card.fidelity = \"fast\")"},
    {"card.control.clock_mhz",
     [](const model::CardConfig& card) {
       return card.control.fidelity == model::BlockFidelity::kRtl;
     },
     "of the RTL of the control processor, which this configuration does not use"},
    {"card.management.clock_mhz",
     [](const model::CardConfig& card) {
       return card.management.fidelity == model::ManagementFidelity::kRtl;
     },
     "of the RTL of the management controller, which this configuration does not use"},
    {"card.memory.t_rfc_ab_ps",
     [](const model::CardConfig& card) {
       return card.memory.refresh == model::RefreshKind::kAllBank;
     },
     "of refresh of all banks, which this configuration does not use"},
    {"card.memory.t_rp_ab_ps",
     [](const model::CardConfig& card) {
       return card.memory.refresh == model::RefreshKind::kAllBank;
     },
     "of refresh of all banks, which this configuration does not use"},
    {"card.memory.t_rfc_pb_ps",
     [](const model::CardConfig& card) {
       return card.memory.refresh == model::RefreshKind::kPerBank;
     },
     "of refresh bank by bank, which this configuration does not use"},
    {"card.memory.t_pbr2",
     [](const model::CardConfig& card) {
       return card.memory.refresh == model::RefreshKind::kPerBank;
     },
     "of refresh bank by bank, which this configuration does not use"},
};

std::string ReasonLeftOut(const RunConfig& config, const Field& field, Effect effect) {
  if (effect == Effect::kEnergy) {
    if (IsEnergy(field)) return "";
    if (StartsWith(field.key, "card.power.")) return "temperature and throttling, not energy";
  }
  if (field.key != kLxPort) {
    for (const ParameterRule& rule : kNotAsked)
      if (StartsWith(field.key, rule.key)) return rule.reason;
  }
  for (const Unused& unused : kUnused)
    if (StartsWith(field.key, unused.key) && !unused.uses(config.card)) return unused.reason;
  if (!DirectionOf(field))
    return fmt::format("its unit, {}, is neither a time nor a rate",
                       field.unit.empty() ? "a number" : field.unit);
  return "";
}

bool IsWanted(const std::string& key, const std::string& wanted) {
  return key == wanted || StartsWith(key, wanted + ".");
}

// Every wanted word names something, and a key that is named is asked about.
void CheckWanted(const std::vector<std::string>& wanted, const std::vector<std::string>& keys,
                 const Parameters& parameters) {
  for (const std::string& word : wanted) {
    const bool is_known =
        AnyFits(keys, [&](const std::string& key) { return IsWanted(key, word); });
    if (!is_known) {
      throw BadInput(
          "what-if: {} is not a number of [card] or [host], nor of the [switch] of several cards{}",
          word, DidYouMean(word, keys))
          .Subject(word)
          .Remedy(Nearest(word, keys));
    }
    for (const LeftOut& left_out : parameters.left_out) {
      if (left_out.key == word)
        throw BadInput("what-if: {} cannot be asked: {}", word, left_out.reason).Subject(word);
    }
  }
}

uint64_t Within(const Parameter& parameter, double value) {
  const double most = std::min(static_cast<double>(parameter.max), 9e18);
  return static_cast<uint64_t>(
      std::llround(std::clamp(value, static_cast<double>(parameter.min), most)));
}

std::optional<uint64_t> Changed(const Parameter& parameter, bool more, double factor) {
  const auto value = static_cast<double>(parameter.value);
  const uint64_t changed = Within(parameter, more ? value * factor : value / factor);
  if (changed == parameter.value) return std::nullopt;
  return changed;
}

}  // namespace

std::vector<std::string> SetsOf(const Parameter& parameter, uint64_t value) {
  std::vector<std::string> sets = {fmt::format("{}={}", parameter.key, value)};
  for (const Companion& companion : parameter.companions) {
    const double scaled = static_cast<double>(companion.value) *
                          static_cast<double>(parameter.value) / static_cast<double>(value);
    sets.push_back(fmt::format("{}={}", companion.key, std::llround(scaled)));
  }
  return sets;
}

Parameters ParametersOf(const RunConfig& config, const std::vector<std::string>& wanted,
                        Effect effect) {
  RunConfig copy = config;  // fields are written through
  Parameters parameters;
  std::vector<std::string> keys;
  for (const Field& field : Fields(copy)) {
    const auto* const number = std::get_if<uint64_t*>(&field.value);
    const bool has_switch = config.cards.count > 1;
    if (number == nullptr || !(StartsWith(field.key, "card.") || StartsWith(field.key, "host.") ||
                               (has_switch && StartsWith(field.key, "switch."))))
      continue;
    keys.push_back(field.key);
    const bool is_wanted = wanted.empty() || AnyFits(wanted, [&](const std::string& word) {
                             return IsWanted(field.key, word);
                           });
    if (!is_wanted) continue;
    if (std::string reason = ReasonLeftOut(config, field, effect); !reason.empty()) {
      parameters.left_out.push_back({field.key, std::move(reason)});
      continue;
    }
    parameters.asked.push_back({field.key,
                                **number,
                                field.min,
                                field.max,
                                std::string(field.unit),
                                std::string(field.source),
                                field.Description(),
                                *DirectionOf(field),
                                {}});
    if (field.key == "card.memory.transfer_mts") {
      parameters.asked.back().companions = {
          {"card.memory.t_ccd_l_ps", config.card.memory.t_ccd_l_ps}};
    }
  }
  CheckWanted(wanted, keys, parameters);
  return parameters;
}

std::optional<uint64_t> Faster(const Parameter& parameter, double factor) {
  return Changed(parameter, parameter.direction != Direction::kLessIsFaster, factor);
}

std::optional<uint64_t> Slower(const Parameter& parameter, double factor) {
  return Changed(parameter, parameter.direction == Direction::kLessIsFaster, factor);
}

}  // namespace spyre::cosim
