#include "cosim/kernel_log.h"

#include "model/card/transfer.h"

namespace spyre::cosim {

KernelLog::KernelLog(model::Card& card) : card_(card) {
  card_.OnJob([this](const model::Job& job, bool ended) { Note(job, ended); });
}

KernelLog::~KernelLog() { card_.OnJob(nullptr); }

void KernelLog::Note(const model::Job& job, bool ended) {
  if (!ended) {
    begin_ps_ = model::NowPs();
    before_ = card_.Statistics();
    return;
  }
  std::vector<model::UnitStatistics> units = card_.Statistics();
  for (size_t i = 0; i < units.size(); ++i) units[i] = units[i].Since(before_[i]);
  const uint64_t end_ps = model::NowPs();
  KernelUsage& kernel = kernels_[job.flow];
  kernel.core_mask = job.program == nullptr ? 0 : job.program->core_mask;
  kernel.usage = SummarizeUsage(units, kernel.core_mask, end_ps - begin_ps_);
  kernel.launch_ps = (job.units_start_ps == 0 ? end_ps : job.units_start_ps) - begin_ps_;
}

}  // namespace spyre::cosim
