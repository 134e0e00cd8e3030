// SPDX-License-Identifier: Apache-2.0
#include "model/mmu/mmu.h"

#include <algorithm>

namespace spyre::model {

Mmu::Mmu(const CardConfig& config)
    : memory_bytes_(config.usable_bytes()),
      map_entries_(config.mmu.map_entries),
      regions_(config.num_vfs + 1),
      cores_(config.num_vfs + 1, UINT32_MAX),
      tenants_(config.num_vfs + 1, 0),
      reserved_(config.num_vfs + 1) {}

bool Mmu::InMemory(const PhysicalRange& range) const {
  return range.length != 0 && IsStickAligned(range.base) && IsStickAligned(range.length) &&
         range.base <= memory_bytes_ && range.length <= memory_bytes_ - range.base;
}

Mmu::MapResult Mmu::Map(const PhysicalRange& range) {
  if (!InMemory(range)) return MapResult::kBadRange;
  if (mappings_.size() >= map_entries_) return MapResult::kTableFull;
  const auto next = mappings_.lower_bound(range.base);
  if (next != mappings_.end() && next->first - range.base < range.length)
    return MapResult::kOverlap;
  if (next != mappings_.begin()) {
    const PhysicalRange& previous = std::prev(next)->second;
    if (range.base - previous.base < previous.length) return MapResult::kOverlap;
  }
  mappings_.emplace(range.base, range);
  Reserve(0, range.length, 0);
  return MapResult::kDone;
}

Mmu::MapResult Mmu::Unmap(uint64_t base) {
  const auto mapping = mappings_.find(base);
  if (mapping == mappings_.end()) return MapResult::kNoMapping;
  Reserve(0, 0, mapping->second.length);
  mappings_.erase(mapping);
  ++withdrawals_;
  return MapResult::kDone;
}

void Mmu::UnmapAll() {
  mappings_.clear();
  Reserve(0, 0, reserved_[0].bytes);
  ++withdrawals_;
}

void Mmu::Reserve(unsigned function, uint64_t more_bytes, uint64_t less_bytes) {
  for (Reserved* reserved : {&reserved_[function], &all_reserved_}) {
    reserved->bytes += more_bytes - less_bytes;
    reserved->peak_bytes = std::max(reserved->peak_bytes, reserved->bytes);
  }
}

void Mmu::SetRegion(unsigned function, unsigned region, const PhysicalRange& range) {
  if (function >= regions_.size() || region >= kRegions) return;
  PhysicalRange& was = regions_[function][region];
  if (was.length != 0 && (range.length == 0 || range.base != was.base)) NewTenant(function);
  Reserve(function, range.length, was.length);
  was = range;
  ++withdrawals_;
}

void Mmu::NewTenant(unsigned function) {
  if (function >= tenants_.size()) return;
  ++tenants_[function];
  reserved_[function].peak_bytes = reserved_[function].bytes;
  if (on_new_tenant_) on_new_tenant_(function);
}

void Mmu::SetCores(unsigned function, uint32_t mask) {
  if (function < cores_.size()) cores_[function] = mask;
}

Status Mmu::CheckPhysical(unsigned function, uint64_t physical, uint64_t bytes,
                          uint8_t permission) const {
  const auto inside = [&](const PhysicalRange& range) {
    return physical >= range.base && physical - range.base <= range.length &&
           bytes <= range.length - (physical - range.base);
  };
  const PhysicalRange* found = nullptr;
  if (function == 0) {
    const auto next = mappings_.upper_bound(physical);
    if (next != mappings_.begin() && inside(std::prev(next)->second))
      found = &std::prev(next)->second;
  } else if (function < regions_.size()) {
    for (const PhysicalRange& range : regions_[function]) {
      if (range.length != 0 && inside(range)) found = &range;
    }
  }
  if (found == nullptr) return Status::PAGE_FAULT;
  return (found->permission & permission) == permission ? Status::OK : Status::PERMISSION;
}

Translation Mmu::Ask(unsigned function, uint64_t physical, uint64_t bytes,
                     uint8_t permission) const {
  const Status status = CheckPhysical(function, physical, bytes, permission);
  if (status != Status::OK) return {status, {}};
  return {status,
          Grant(static_cast<uint16_t>(function), physical, bytes, permission, &withdrawals_)};
}

SegmentTable Mmu::Segments(unsigned function, const PhysicalRange& program) const {
  SegmentTable segments;
  for (unsigned i = 0; i < kProgramSegment; ++i) {
    if (function == 0) {
      const uint64_t base = i * kSegmentBytes;
      const uint64_t length =
          base < memory_bytes_ ? std::min(kSegmentBytes, memory_bytes_ - base) : 0;
      segments[i] = {base, length, kPermissionRead | kPermissionWrite};
    } else {
      segments[i] = regions_[function][i];
    }
  }
  segments[kProgramSegment] = program;
  return segments;
}

Translation Mmu::Translate(unsigned function, const SegmentTable& segments, uint64_t address,
                           uint64_t bytes, uint8_t permission) const {
  const unsigned segment = SegmentOf(address);
  if (segment >= kSegments) return {Status::PAGE_FAULT, {}};
  const PhysicalRange& range = segments[segment];
  const uint64_t offset = SegmentOffset(address);
  if (offset > range.length || bytes > range.length - offset) return {Status::PAGE_FAULT, {}};
  if ((range.permission & permission) != permission) return {Status::PERMISSION, {}};
  return Ask(function, range.base + offset, bytes, permission);
}

}  // namespace spyre::model
