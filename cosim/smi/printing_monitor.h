// SPDX-License-Identifier: Apache-2.0
// A monitor that writes lines and a metric file, as the options of `smi` and `run` ask. Single
// thread.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "cosim/smi/metric_file.h"
#include "cosim/smi/smi_table.h"

namespace spyre::cosim {

struct SmiSettings {
  SmiFormat format;
  bool idle = false;    // also lines of intervals in which the card did nothing
  std::string metrics;  // file; "": none
};

class PrintingMonitor final : public SmiMonitor {
 public:
  // out: of the lines; null: none. It must outlive the monitor. Errors: those of the metric file.
  PrintingMonitor(const SmiSettings& settings, std::ostream* out);

  uint64_t interval_ps() const override { return settings_.format.interval_ps; }
  void Take(const SmiReading& reading) override;
  uint64_t lines() const { return lines_; }

 private:
  void Print(const SmiReading& reading);

  const SmiSettings settings_;
  std::ostream* const out_;
  std::unique_ptr<MetricFile> metrics_;
  std::optional<SmiReading> before_;
  uint32_t number_ = 0;
  uint64_t lines_ = 0;
  uint64_t idle_ = 0;  // intervals that were left out since the last line
};

}  // namespace spyre::cosim
