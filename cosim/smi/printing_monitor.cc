// SPDX-License-Identifier: Apache-2.0
#include "cosim/smi/printing_monitor.h"

#include <fmt/format.h>

namespace spyre::cosim {

PrintingMonitor::PrintingMonitor(const SmiSettings& settings, std::ostream* out)
    : settings_(settings), out_(out) {
  if (!settings_.metrics.empty()) metrics_ = std::make_unique<MetricFile>(settings_.metrics);
}

void PrintingMonitor::Take(const SmiReading& reading) {
  const SmiReading before = before_.value_or(reading);
  if (before_ && reading.card.time_ps == before.card.time_ps) return;
  if (metrics_ != nullptr)
    metrics_->Write(MetricBytes(before, reading, number_, settings_.format.interval_ps));
  ++number_;
  if (out_ != nullptr) {
    if (before_) {
      Print(reading);
    } else {
      *out_ << SmiHeader(settings_.format) << std::flush;
    }
  }
  before_ = reading;
}

void PrintingMonitor::Print(const SmiReading& reading) {
  if (!settings_.idle && !DidWork(*before_, reading)) {
    ++idle_;
    return;
  }
  if (idle_ > 0) {
    *out_ << fmt::format("# {} intervals without work\n", idle_);
    idle_ = 0;
  }
  *out_ << SmiLine(settings_.format, *before_, reading) << std::flush;
  ++lines_;
}

}  // namespace spyre::cosim
