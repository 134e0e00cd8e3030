// What the card's units did during each COMPUTE operation, for the report: reads their counters
// when a job begins and when it has ended. One per session; kernel thread only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cosim/usage.h"
#include "model/card/card.h"

namespace spyre::cosim {

class KernelLog {
 public:
  // The card must outlive the log.
  explicit KernelLog(model::Card& card);
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  KernelUsages Take() { return std::move(kernels_); }

 private:
  void Note(const model::Job& job, bool ended);

  model::Card& card_;
  uint64_t begin_ps_ = 0;
  std::vector<model::UnitStatistics> before_;
  KernelUsages kernels_;
};

}  // namespace spyre::cosim
