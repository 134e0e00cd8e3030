// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_setup.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kRegionBytes = 12ull << 30;  // of VF 1: the public pool of 8 x 12 GB

}  // namespace

flex::RuntimeOptions RuntimeOptionsOf(const RunConfig& config, trace::Recorder* recorder) {
  flex::RuntimeOptions options;
  options.device.submission_entries = static_cast<uint32_t>(config.runtime.ring_entries);
  options.device.response_entries = static_cast<uint32_t>(config.runtime.ring_entries);
  options.device.interrupts = config.runtime.completion == Completion::kInterrupt;
  options.device.poll_interval_ns = static_cast<double>(config.runtime.poll_interval_ns);
  options.device.timeout_ns = static_cast<double>(config.runtime.deadline_ms) * 1e6;
  options.device.costs.submit_ns = static_cast<double>(config.host.submit_ns);
  options.device.costs.completion_ns = static_cast<double>(config.host.completion_ns);
  options.device.costs.map_ns = static_cast<double>(config.host.map_ns);
  options.device.costs.convert_bytes_per_ns = static_cast<double>(config.host.convert_bytes_per_ns);
  options.device.costs.operation_ns = static_cast<double>(config.host.operation_ns);
  options.device.costs.operation_bytes_per_ns =
      static_cast<double>(config.host.operation_bytes_per_ns);
  options.device.costs.convert_ns_per_kib = static_cast<double>(config.host.convert_ns_per_kib);
  options.device.costs.dispatch_ns = static_cast<double>(config.host.dispatch_ns);
  options.device.costs.launch_ns = static_cast<double>(config.host.launch_ns);
  options.device.costs.synchronise_ns = static_cast<double>(config.host.synchronise_ns);
  options.device.costs.copy_out_ns = static_cast<double>(config.host.copy_out_ns);
  options.device.costs.copy_out_ns_per_kib = static_cast<double>(config.host.copy_out_ns_per_kib);
  options.device.costs.copy_out_cold_kib = static_cast<double>(config.host.copy_out_cold_kib);
  options.device.costs.copy_out_cold_ns_per_kib =
      static_cast<double>(config.host.copy_out_cold_ns_per_kib);
  options.device.recorder = recorder;
  options.scheduling = config.runtime.scheduler;
  options.starvation_limit = static_cast<uint32_t>(config.runtime.starvation_limit);
  options.hazards = config.runtime.hazards;
  options.timing_only = !config.workload.functional;
  return options;
}

std::vector<MemoryRegions> PlanRegions(uint64_t memory_bytes, uint64_t vfs) {
  std::vector<MemoryRegions> functions(vfs);
  uint64_t base = 0;
  for (uint64_t vf = 1; vf <= vfs; ++vf) {
    const uint64_t share = vf == 1 ? memory_bytes : (memory_bytes - base) / (vfs - vf + 1);
    const uint64_t region = std::min(kRegionBytes, share / kRegions) / kStickBytes * kStickBytes;
    for (int r = 0; r < kRegions && region > 0; ++r) {
      functions[vf - 1][static_cast<size_t>(r)] = {base, region};
      base += region;
    }
  }
  return functions;
}

std::vector<FunctionRegions> PlanEqualRegions(uint64_t memory_bytes,
                                              const std::vector<uint64_t>& functions) {
  const uint64_t share = memory_bytes / std::max<size_t>(1, functions.size());
  const uint64_t region = std::min(kRegionBytes, share / kRegions) / kStickBytes * kStickBytes;
  if (region == 0) {
    throw BadInput("{} bytes of device memory are too little for {} functions of {} regions each",
                   memory_bytes, functions.size(), kRegions);
  }
  std::vector<FunctionRegions> plan;
  uint64_t base = 0;
  for (const uint64_t function : functions) {
    plan.push_back({function, {}});
    for (MemoryRegion& place : plan.back().regions) {
      place = {base, region};
      base += region;
    }
  }
  return plan;
}

void AssignRegions(driver::PhysicalFunction& physical, const std::vector<FunctionRegions>& plan) {
  for (const FunctionRegions& function : plan) {
    for (int r = 0; r < kRegions; ++r) {
      const MemoryRegion& region = function.regions[static_cast<size_t>(r)];
      if (region.bytes == 0) continue;
      physical.AssignRegion(static_cast<driver::FunctionId>(function.function), r, region.base,
                            region.bytes);
    }
  }
}

void AssignRegions(driver::PhysicalFunction& physical, uint64_t memory_bytes, uint64_t vfs) {
  std::vector<FunctionRegions> plan;
  for (const MemoryRegions& regions : PlanRegions(memory_bytes, vfs))
    plan.push_back({plan.size() + 1, regions});
  AssignRegions(physical, plan);
}

}  // namespace spyre::cosim
