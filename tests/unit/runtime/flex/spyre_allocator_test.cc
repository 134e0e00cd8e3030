// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/spyre_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/error_of.h"
#include "tests/unit/random_cases.h"

namespace spyre::flex::spyre_allocator_test {
namespace {

using test::BadInputOf;
using test::CaughtFrom;

constexpr uint64_t kGiB = 1ull << 30;

class RecordingMapper : public DeviceMapper {
 public:
  void Map(uint64_t physical, uint64_t length, uint8_t permission) override {
    if (refuse) throw BadInput("table full");
    mapped[physical] = {length, permission};
  }
  void Unmap(uint64_t physical) override { mapped.erase(physical); }
  std::map<uint64_t, std::pair<uint64_t, uint8_t>> mapped;
  bool refuse = false;
};

std::array<uint64_t, kRegions> TwelveGiBRegions() {
  std::array<uint64_t, kRegions> regions;
  regions.fill(12 * kGiB);
  return regions;
}

TEST(SpyreAllocator, VirtualFunctionPoolIsEightRegionsOfTwelveGiB) {
  SpyreAllocator allocator = SpyreAllocator::Regions(TwelveGiBRegions());
  EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).capacity_bytes, 84 * kGiB);
  EXPECT_EQ(allocator.Statistics(MemoryKind::kProgram).capacity_bytes, 12 * kGiB);
  EXPECT_EQ(allocator.Allocate(1), DeviceHandle(VFDeviceHandle{0, 0}));
  EXPECT_EQ(allocator.Allocate(1), DeviceHandle(VFDeviceHandle{0, 128}));
  EXPECT_EQ(allocator.Allocate(1, MemoryKind::kProgram), DeviceHandle(VFDeviceHandle{7, 0}));
}

TEST(SpyreAllocator, TensorsGoOnToTheNextRegionAndNeverSpanTwo) {
  SpyreAllocator allocator = SpyreAllocator::Regions(TwelveGiBRegions());
  EXPECT_EQ(allocator.Allocate(8 * kGiB), DeviceHandle(VFDeviceHandle{0, 0}));
  EXPECT_EQ(allocator.Allocate(8 * kGiB), DeviceHandle(VFDeviceHandle{1, 0}));
  EXPECT_EQ(allocator.Allocate(4 * kGiB), DeviceHandle(VFDeviceHandle{0, 8 * kGiB}));
}

TEST(SpyreAllocator, PhysicalTensorsStayBelowSevenSegments) {
  RecordingMapper mapper;
  SpyreAllocator allocator = SpyreAllocator::Physical(128 * kGiB, 12 * kGiB, mapper);
  EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).capacity_bytes, 112 * kGiB);
  EXPECT_EQ(allocator.Statistics(MemoryKind::kProgram).capacity_bytes, 16 * kGiB);
  EXPECT_EQ(allocator.Allocate(4096, MemoryKind::kProgram),
            DeviceHandle(PFDeviceHandle{112 * kGiB}));
}

TEST(SpyreAllocator, ProgramsGetTheTopOfMemory) {
  RecordingMapper mapper;
  SpyreAllocator allocator = SpyreAllocator::Physical(96 * kGiB, 12 * kGiB, mapper);
  EXPECT_EQ(allocator.Allocate(128, MemoryKind::kProgram), DeviceHandle(PFDeviceHandle{84 * kGiB}));
  SpyreAllocator small = SpyreAllocator::Physical(kGiB, 12 * kGiB, mapper);
  EXPECT_EQ(small.Statistics(MemoryKind::kProgram).capacity_bytes, kGiB / 4);
}

TEST(SpyreAllocator, EveryPhysicalAllocationIsMappedWithItsPermissions) {
  RecordingMapper mapper;
  SpyreAllocator allocator = SpyreAllocator::Physical(16 * kGiB, 1 * kGiB, mapper);
  const DeviceHandle tensor = allocator.Allocate(1000);
  allocator.Allocate(128, MemoryKind::kProgram);
  EXPECT_EQ(mapper.mapped.at(0), (std::pair<uint64_t, uint8_t>(1024, 3))) << "read, write";
  EXPECT_EQ(mapper.mapped.at(15 * kGiB), (std::pair<uint64_t, uint8_t>(128, 7)));
  allocator.Free(tensor);
  EXPECT_EQ(mapper.mapped.size(), 1u);
  mapper.mapped.clear();
  allocator.Remap();
  EXPECT_EQ(mapper.mapped.size(), 1u) << "after a reset, what is live is mapped again";
}

TEST(SpyreAllocator, RefusedMappingGivesTheMemoryBack) {
  RecordingMapper mapper;
  SpyreAllocator allocator = SpyreAllocator::Physical(16 * kGiB, 1 * kGiB, mapper);
  mapper.refuse = true;
  BadInputOf([&] { allocator.Allocate(128); });
  EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).used_bytes, 0u);
}

TEST(SpyreAllocator, ExhaustionNamesWhatIsLeft) {
  std::array<uint64_t, kRegions> regions{};
  regions[0] = 1024;
  regions[1] = 512;
  SpyreAllocator allocator = SpyreAllocator::Regions(regions);
  const Error error = CaughtFrom([&] { allocator.Allocate(1500); });
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_EQ(error.subject(), "tensor");
  EXPECT_EQ(error.value(), "1536") << "whole sticks";
  EXPECT_EQ(error.remedy(), "1024 bytes at most");
  const std::string no_region = BadInputOf([&] { allocator.Allocate(128, MemoryKind::kProgram); });
  EXPECT_NE(no_region.find("no region of this kind"), std::string::npos) << no_region;
  EXPECT_THROW(allocator.Allocate(UINT64_MAX), Error);
}

TEST(SpyreAllocator, SizeZeroDoubleFreeAndStrangersAreErrors) {
  SpyreAllocator allocator = SpyreAllocator::Regions(TwelveGiBRegions());
  BadInputOf([&] { allocator.Allocate(0); });
  const DeviceHandle handle = allocator.Allocate(4096);
  const Error inside = CaughtFrom([&] { allocator.Free(Offset(handle, 128)); });
  EXPECT_EQ(inside.subject(), ToString(Offset(handle, 128)));
  EXPECT_EQ(inside.remedy(), ToString(handle));
  allocator.Free(handle);
  EXPECT_NE(BadInputOf([&] { allocator.Free(handle); }).find("freed twice"), std::string::npos);
  EXPECT_NE(BadInputOf([&] { allocator.Free(PFDeviceHandle{0}); }).find("VF mode"),
            std::string::npos);
  BadInputOf([&] { allocator.Free(VFDeviceHandle{99, 0}); });
}

TEST(SpyreAllocator, FindsTheAllocationAroundALocation) {
  SpyreAllocator allocator = SpyreAllocator::Regions(TwelveGiBRegions());
  allocator.Allocate(128);
  const DeviceHandle handle = allocator.Allocate(1000);
  const auto found = allocator.FindAllocation(Offset(handle, 1023));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->handle, handle);
  EXPECT_EQ(found->size_bytes, 1024u);
  EXPECT_FALSE(allocator.FindAllocation(Offset(handle, 1024)));
  EXPECT_FALSE(allocator.FindAllocation(PFDeviceHandle{0}));
}

TEST(SpyreAllocator, FragmentationIsTheShareThatALargeAllocationCannotHave) {
  std::array<uint64_t, kRegions> regions{};
  regions[0] = 4 * 128;
  SpyreAllocator allocator = SpyreAllocator::Regions(regions);
  EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).fragmentation, 0);
  std::vector<DeviceHandle> handles;
  for (int i = 0; i < 4; ++i) handles.push_back(allocator.Allocate(128));
  allocator.Free(handles[0]);
  allocator.Free(handles[2]);
  EXPECT_DOUBLE_EQ(allocator.Statistics(MemoryKind::kTensor).fragmentation, 0.5);
}

struct Live {
  DeviceHandle handle;
  uint64_t size;
};

// Runs random allocations and frees; checks that nothing overlaps and that the books balance.
void Exercise(std::mt19937& random, SpyreAllocator& allocator) {
  const uint64_t capacity = allocator.Statistics(MemoryKind::kTensor).capacity_bytes;
  std::vector<Live> live;
  uint64_t used = 0;
  uint64_t peak = 0;
  for (int step = test::Draw(random, 0, 100); step > 0; --step) {
    if (test::DrawBool(random) || live.empty()) {
      const auto number = test::Draw<uint32_t>(random, 1, 19999);
      const uint64_t size = AlignUp(number, kStickBytes);
      const uint64_t largest = allocator.Statistics(MemoryKind::kTensor).largest_free_bytes;
      if (size > largest) {
        EXPECT_THROW(allocator.Allocate(number), Error);
        continue;
      }
      live.push_back({allocator.Allocate(number), size});
      used += size;
      peak = std::max(peak, used);
    } else {
      const size_t victim = random() % live.size();
      allocator.Free(live[victim].handle);
      used -= live[victim].size;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    const MemoryStatistics statistics = allocator.Statistics(MemoryKind::kTensor);
    ASSERT_EQ(statistics.used_bytes, used);
    ASSERT_EQ(statistics.free_bytes, capacity - used);
    ASSERT_EQ(statistics.peak_bytes, peak);
    ASSERT_EQ(statistics.live_allocations, live.size());
  }
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Live& l : live) {
    EXPECT_EQ(RawOffset(l.handle) % kStickBytes, 0u);
    ranges.emplace_back(ToDeviceVirtual(l.handle), l.size);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    EXPECT_LE(ranges[i - 1].first + ranges[i - 1].second, ranges[i].first);
  }
  for (const Live& l : live) allocator.Free(l.handle);
}

TEST(SpyreAllocator, RegionsNeverOverlapAndCoalesceCompletely) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::array<uint64_t, kRegions> regions{};
    regions[0] = 100'096;
    regions[4] = 50'048;
    SpyreAllocator allocator = SpyreAllocator::Regions(regions);
    Exercise(random, allocator);
    EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).largest_free_bytes, 100'096u);
    EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).fragmentation, 0);
  });
}

TEST(SpyreAllocator, PhysicalMemoryNeverOverlapsAndCoalescesCompletely) {
  test::ForSeeds(100, [](std::mt19937& random) {
    RecordingMapper mapper;
    SpyreAllocator allocator = SpyreAllocator::Physical(200'192, 50'048, mapper);
    Exercise(random, allocator);
    EXPECT_EQ(allocator.Statistics(MemoryKind::kTensor).largest_free_bytes, 150'144u);
    EXPECT_TRUE(mapper.mapped.empty());
  });
}

}  // namespace
}  // namespace spyre::flex::spyre_allocator_test
