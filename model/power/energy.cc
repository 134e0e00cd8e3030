// SPDX-License-Identifier: Apache-2.0
#include "model/power/energy.h"

#include <string_view>

namespace spyre::model {

namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

}  // namespace

Activity operator-(const Activity& now, const Activity& before) {
  return {now.fp16_macs - before.fp16_macs,
          now.vector_bytes - before.vector_bytes,
          now.lx_bytes - before.lx_bytes,
          now.ring_bytes - before.ring_bytes,
          now.memory_bytes - before.memory_bytes,
          now.pcie_bytes - before.pcie_bytes,
          now.busy_ps - before.busy_ps};
}

Activity operator+(const Activity& a, const Activity& b) {
  return {a.fp16_macs + b.fp16_macs,   a.vector_bytes + b.vector_bytes, a.lx_bytes + b.lx_bytes,
          a.ring_bytes + b.ring_bytes, a.memory_bytes + b.memory_bytes, a.pcie_bytes + b.pcie_bytes,
          a.busy_ps + b.busy_ps};
}

Activity ActivityOf(const std::vector<UnitStatistics>& units) {
  Activity activity;
  for (const UnitStatistics& unit : units) {
    if (EndsWith(unit.name, ".lx_port")) {
      activity.lx_bytes += unit.bytes;
    } else if (EndsWith(unit.name, ".vector")) {
      activity.vector_bytes += unit.bytes;
    } else if (StartsWith(unit.name, "ring.")) {
      activity.ring_bytes += unit.bytes;
    } else if (StartsWith(unit.name, "memory.channel")) {
      activity.memory_bytes += unit.bytes;
    } else if (StartsWith(unit.name, "pcie.")) {
      activity.pcie_bytes += unit.bytes;
    }
  }
  return activity;
}

Energy operator+(const Energy& a, const Energy& b) {
  return {a.idle + b.idle, a.busy + b.busy, a.macs + b.macs,     a.vector + b.vector,
          a.lx + b.lx,     a.ring + b.ring, a.memory + b.memory, a.pcie + b.pcie};
}

Energy EnergyOf(const PowerConfig& power, const Activity& activity, uint64_t span_ps) {
  constexpr double kJoulesPerFj = 1e-15;
  const auto of_time = [](uint64_t mw, uint64_t ps) {
    return static_cast<double>(mw) * 1e-3 * static_cast<double>(ps) * 1e-12;
  };
  const auto of_events = [](uint64_t fj, uint64_t count) {
    return static_cast<double>(fj) * static_cast<double>(count) * kJoulesPerFj;
  };
  Energy energy;
  energy.idle = of_time(power.idle_mw, span_ps);
  energy.busy = of_time(power.busy_mw, activity.busy_ps);
  energy.macs = of_events(power.mac_fj, activity.fp16_macs);
  energy.vector = of_events(power.vector_byte_fj, activity.vector_bytes);
  energy.lx = of_events(power.lx_byte_fj, activity.lx_bytes);
  energy.ring = of_events(power.ring_byte_fj, activity.ring_bytes);
  energy.memory = of_events(power.memory_byte_fj, activity.memory_bytes);
  energy.pcie = of_events(power.pcie_byte_fj, activity.pcie_bytes);
  return energy;
}

}  // namespace spyre::model
