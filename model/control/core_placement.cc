// SPDX-License-Identifier: Apache-2.0
#include "model/control/core_placement.h"

#include <algorithm>

#include "base/ranges.h"
#include "model/common/transfer.h"

namespace spyre::model {

CorePlacement::CorePlacement(uint64_t cores, uint64_t partitions, size_t functions, const Mmu& mmu)
    : cores_(static_cast<unsigned>(cores)),
      partition_cores_(static_cast<unsigned>(cores / partitions)),
      mmu_(mmu),
      shares_(functions) {}

uint32_t CorePlacement::PartitionsUnder(uint64_t cores) const {
  const uint64_t one = (1ull << partition_cores_) - 1;
  uint32_t partitions = 0;
  for (unsigned first = 0, i = 0; first < cores_; first += partition_cores_, ++i)
    if ((cores >> first & one) != 0) partitions |= 1u << i;
  return partitions;
}

unsigned CorePlacement::PartitionsOf(unsigned function) const {
  const uint64_t present = (1ull << cores_) - 1;
  return static_cast<unsigned>(__builtin_popcount(PartitionsUnder(mmu_.cores(function) & present)));
}

std::vector<CorePlacement::Place> CorePlacement::Places(unsigned function,
                                                        uint32_t core_mask) const {
  std::vector<Place> places;
  for (unsigned first = 0; first < cores_; first += partition_cores_) {
    const uint64_t cores = uint64_t{core_mask} << first;
    if (cores >> cores_ != 0) break;
    if ((cores & ~uint64_t{mmu_.cores(function)}) == 0)
      places.push_back({first, PartitionsUnder(cores)});
  }
  return places;
}

bool CorePlacement::Fits(unsigned function, uint32_t core_mask) const {
  return !Places(function, core_mask).empty();
}

bool CorePlacement::Take(Job& job, uint32_t core_mask, uint32_t cost) {
  Waiting waiting;
  waiting.job = &job;
  waiting.core_mask = core_mask;
  waiting.cost = cost;
  waiting_.push_back(&waiting);
  job.waits_for_cores = true;
  Grant();
  while (!waiting.granted && !job.aborted) sc_core::wait(waiting.event | job.abort);
  job.waits_for_cores = false;
  if (!waiting.granted) {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &waiting));
    Grant();  // what it kept for itself
    return false;
  }
  return true;
}

void CorePlacement::Free(const Job& job) {
  const auto mine = FindIf(taken_, [&job](const Taken& taken) { return taken.job == &job; });
  if (mine == taken_.end()) return;
  busy_ &= ~mine->partitions;
  const auto partitions = static_cast<uint64_t>(__builtin_popcount(mine->partitions));
  shares_.Use(job.function, FairShare::AmountOf(NowPs() - mine->since_ps) * partitions, mine->cost);
  taken_.erase(mine);
  Grant();
}

void CorePlacement::Grant() {
  std::vector<Waiting*> order = waiting_;
  std::stable_sort(order.begin(), order.end(), [this](const Waiting* a, const Waiting* b) {
    return FairShare::Before(shares_.Turn(a->job->function), shares_.Turn(b->job->function));
  });
  uint32_t kept = 0;
  for (Waiting* waiting : order) {
    Job& job = *waiting->job;
    uint32_t wanted = 0;
    const std::vector<Place> places = Places(job.function, waiting->core_mask);
    const auto free = FindIf(places, [&](const Place& place) {
      wanted |= place.partitions;
      return (place.partitions & (busy_ | kept)) == 0;
    });
    if (places.empty() && !job.aborted) {
      job.Fault(Status::PERMISSION, 0, kNoCore);
      continue;
    }
    if (free == places.end() || job.aborted) {
      kept |= wanted;
      continue;
    }
    busy_ |= free->partitions;
    shares_.Begin(job.function);
    taken_.push_back({&job, free->partitions, NowPs(), waiting->cost});
    job.first_core = free->first_core;
    job.cores = waiting->core_mask << free->first_core;
    job.placed_ps = NowPs();
    waiting->granted = true;
    waiting->event.notify();
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), waiting));
  }
}

}  // namespace spyre::model
