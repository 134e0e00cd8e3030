// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/check_run.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "cosim/config/tenants.h"
#include "cosim/session/session_setup.h"
#include "cosim/tensors/input_data.h"
#include "cosim/workload/resolve.h"
#include "cosim/workload/workload.h"
#include "runtime/flex/spyre_allocator.h"

namespace spyre::cosim {
namespace {

// No card is there to map anything.
class NoMapper final : public flex::DeviceMapper {
 public:
  void Map(uint64_t /*physical*/, uint64_t /*length*/, uint8_t /*permission*/) override {}
  void Unmap(uint64_t /*physical*/) override {}
};

flex::SpyreAllocator AllocatorOf(const RunConfig& config, const MemoryRegions& regions,
                                 NoMapper& mapper) {
  const uint64_t bytes = config.card.usable_bytes();
  if (config.mode == FunctionMode::kPhysical) {
    return flex::SpyreAllocator::Physical(bytes, flex::SpyreAllocator::kDefaultProgramBytes,
                                          mapper);
  }
  std::array<uint64_t, kRegions> lengths{};
  std::transform(regions.begin(), regions.end(), lengths.begin(),
                 [](const MemoryRegion& region) { return region.bytes; });
  return flex::SpyreAllocator::Regions(lengths);
}

// A run of one workload on a function that has `regions`.
std::vector<std::string> CheckFunction(const RunConfig& config, const MemoryRegions& regions) {
  const std::unique_ptr<Workload> workload = ResolveWorkload(config);
  const ScratchDirectory scratch("check");
  const CompiledWorkload compiled = workload->Compile(scratch.path() + "/spyrecode");
  NoMapper mapper;
  flex::SpyreAllocator allocator = AllocatorOf(config, regions, mapper);
  for (size_t i = 0; i < workload->tensors().size(); ++i) {
    const auto bytes = static_cast<uint64_t>(workload->tensors()[i].layout.DeviceBytes());
    const auto chunks = static_cast<uint64_t>(compiled.chunks[i].count);
    for (uint64_t c = 0; c < chunks; ++c)
      allocator.Allocate(bytes / chunks, flex::MemoryKind::kTensor, static_cast<uint32_t>(c));
  }
  if (config.workload.functional) {
    const InputOptions options{config.workload.distribution, config.workload.seed};
    for (const WorkloadTensor& tensor : workload->tensors())
      if (tensor.is_input && !tensor.file.empty()) LoadInput(options, tensor);
  }
  return workload->warnings();
}

std::vector<std::string> CheckTenants(const RunConfig& config, const std::vector<Tenant>& tenants) {
  std::vector<uint64_t> functions;
  functions.reserve(tenants.size());
  for (const Tenant& tenant : tenants) functions.push_back(tenant.function);
  const std::vector<FunctionRegions> plan = PlanEqualRegions(config.card.usable_bytes(), functions);
  std::vector<std::string> warnings;
  for (size_t i = 0; i < tenants.size(); ++i) {
    try {
      for (const std::string& warning : CheckFunction(tenants[i].config, plan[i].regions))
        warnings.push_back(tenants[i].name + ": " + warning);
    } catch (const Error& error) {
      throw error.Within(tenants[i].name);
    }
  }
  return warnings;
}

}  // namespace

std::vector<std::string> CheckRun(const RunConfig& config) {
  const std::vector<Tenant> tenants = TenantsOf(config);
  if (!tenants.empty()) return CheckTenants(config, tenants);
  return CheckFunction(config,
                       PlanRegions(config.card.usable_bytes(), config.card.num_vfs).front());
}

}  // namespace spyre::cosim
