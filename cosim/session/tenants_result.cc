// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/tenants_result.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

// The first few of both, which have the tenant's name before that of the tensor.
void Add(std::optional<Verification>& all, const Verification& one, const std::string& name) {
  if (!all) {
    all.emplace();
    all->reference = one.reference;
  }
  all->total = std::max(all->total, all->elements) + std::max(one.total, one.elements);
  all->elements += one.elements;
  all->mismatches += one.mismatches;
  for (Mismatch mismatch : one.first) {
    if (all->first.size() == kShownMismatches) break;
    mismatch.tensor = name + "/" + mismatch.tensor;
    all->first.push_back(std::move(mismatch));
  }
  all->error_elements += one.error_elements;
  all->max_abs_error = std::max(all->max_abs_error, one.max_abs_error);
  all->max_relative_error = std::max(all->max_relative_error, one.max_relative_error);
  all->max_ulp_error = std::max(all->max_ulp_error, one.max_ulp_error);
  all->not_finite += one.not_finite;
  all->unjudged += one.unjudged;
  all->undecided += one.undecided;
  all->beyond += one.beyond;
  // Each is within its own tolerance, or beyond it.
  if (one.tolerance > 0 && one.max_relative_error > one.tolerance) ++all->beyond;
}

void Add(flex::MemoryStatistics& all, const flex::MemoryStatistics& one) {
  all.capacity_bytes += one.capacity_bytes;
  all.used_bytes += one.used_bytes;
  all.free_bytes += one.free_bytes;
  all.peak_bytes += one.peak_bytes;
  all.largest_free_bytes = std::max(all.largest_free_bytes, one.largest_free_bytes);
  all.live_allocations += one.live_allocations;
  all.total_allocations += one.total_allocations;
  all.waiting_bytes += one.waiting_bytes;
  all.waiting_allocations += one.waiting_allocations;
}

void Add(flex::OperationCounts& all, const flex::OperationCounts& one) {
  all.queued += one.queued;
  all.completed += one.completed;
  all.failed += one.failed;
  all.not_executed += one.not_executed;
  all.on_host += one.on_host;
}

// [begin, end) grows to hold [other_begin, other_end), unless that is empty.
void Widen(uint64_t& begin, uint64_t& end, uint64_t other_begin, uint64_t other_end) {
  if (other_end == 0) return;
  begin = end == 0 ? other_begin : std::min(begin, other_begin);
  end = std::max(end, other_end);
}

void Add(RunResult& all, const MemberResult& member) {
  const RunResult& one = member.run;
  const std::string& name = member.name;
  all.kernel_names.insert(one.kernel_names.begin(), one.kernel_names.end());
  all.lx.insert(one.lx.begin(), one.lx.end());
  all.plan.cores_used = std::max(all.plan.cores_used, one.plan.cores_used);
  Widen(all.begin_ps, all.end_ps, one.begin_ps, one.end_ps);
  Widen(all.launch_begin_ps, all.launch_end_ps, one.launch_begin_ps, one.launch_end_ps);
  all.wall.generate += one.wall.generate;
  all.wall.compile += one.wall.compile;
  all.wall.verify += one.wall.verify;
  if (one.verification) Add(all.verification, *one.verification, name);
  Add(all.launch_counts, one.launch_counts);
  all.transfers += one.transfers;
  all.program_loads += one.program_loads;
  all.launches.insert(all.launches.end(), one.launches.begin(), one.launches.end());
  for (const std::string& response : one.responses)
    all.responses.push_back(fmt::format("{}: {}", name, response));
  all.output_digest =
      XXH3_64bits_withSeed(&one.output_digest, sizeof(one.output_digest), all.output_digest);
  all.launch_doorbells += one.launch_doorbells;
  all.launch_interrupts += one.launch_interrupts;
  Add(all.tensor_memory, one.tensor_memory);
  Add(all.program_memory, one.program_memory);
  for (const auto& [tensor, path] : one.tensor_paths)
    all.tensor_paths[fmt::format("{}/{}", name, tensor)] = path;
  if (all.spyrecode_dir.empty()) all.spyrecode_dir = one.spyrecode_dir;
}

}  // namespace

void AddUp(RunResult& result) {
  for (const TenantResult& tenant : result.tenants) Add(result, tenant);
  for (const CardResult& card : result.cards) Add(result, card);
  if (result.collective) Add(result.verification, *result.collective, "collective");
  for (const ListCollective& collective : result.list_collectives)
    if (collective.verification)
      Add(result.verification, *collective.verification, collective.name);
  StableSort(result.launches,
             [](const flex::CompletedOperation& a, const flex::CompletedOperation& b) {
               return a.finished_ps < b.finished_ps;
             });
}

}  // namespace spyre::cosim
