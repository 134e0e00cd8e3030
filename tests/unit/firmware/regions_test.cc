// SPDX-License-Identifier: Apache-2.0
// Requests of the PF: every command in every state, ranges, overlaps, quotas, cores.
#include <gtest/gtest.h>

#include "model/contract/memory_map.h"
#include "tests/unit/firmware/fake_bus.h"
#include "tests/unit/random_cases.h"

namespace spyre::firmware::regions_test {
namespace {

constexpr AdminCommand kRegionCommands[] = {AdminCommand::ASSIGN,   AdminCommand::RELEASE,
                                            AdminCommand::CREATE,   AdminCommand::MAP,
                                            AdminCommand::ACTIVATE, AdminCommand::RESIZE};
constexpr Range kPlace{kGiB, 4096};

class FirmwareRegions : public ::testing::Test {
 protected:
  ~FirmwareRegions() override { EXPECT_EQ(bus.violations(), 0u); }

  // Brings region 0 of VF 1 to the state that these commands lead to.
  void Lead(const std::vector<AdminCommand>& commands) {
    for (const AdminCommand command : commands)
      ASSERT_EQ(bus.Ask(command, 1, 0, kPlace), AdminStatus::DONE);
  }

  FakeBus bus;
};

TEST_F(FirmwareRegions, AssignmentReachesTheMmu) {
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 5, kPlace), AdminStatus::DONE);
  EXPECT_EQ(bus.region(2, 5), kPlace);
  EXPECT_EQ(bus.region(1, 5), Range{});
}

TEST_F(FirmwareRegions, AssignmentAgainReplacesTheRegion) {
  Lead({AdminCommand::ASSIGN});
  const Range wider{kPlace.base - 128, 8192};
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, wider), AdminStatus::DONE);
  EXPECT_EQ(bus.region(1, 0), wider);
}

// What a function gets is clear; what it keeps is not touched.
TEST_F(FirmwareRegions, MemoryIsClearedWhenItIsGiven) {
  using Cleared = std::vector<std::pair<uint64_t, uint64_t>>;
  Lead({AdminCommand::ASSIGN});
  EXPECT_EQ(bus.scrubbed(), (Cleared{{kPlace.base, kPlace.length}}));
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 0, kPlace), AdminStatus::OVERLAP);
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, kPlace.length / 2}), AdminStatus::DONE);
  EXPECT_EQ(bus.scrubbed().size(), 1u) << "nothing was given";
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, kPlace), AdminStatus::DONE);
  EXPECT_EQ(bus.scrubbed().back(), std::pair(kPlace.base + kPlace.length / 2, kPlace.length / 2));
  Lead({AdminCommand::RELEASE, AdminCommand::CREATE, AdminCommand::MAP});
  EXPECT_EQ(bus.scrubbed().size(), 2u);
  Lead({AdminCommand::ACTIVATE});
  EXPECT_EQ(bus.scrubbed().back(), std::pair(kPlace.base, kPlace.length));
}

TEST_F(FirmwareRegions, ReleaseOfARegionThatIsNotThereIsNoError) {
  EXPECT_EQ(bus.Ask(AdminCommand::RELEASE, 1, 0), AdminStatus::DONE);
  Lead({AdminCommand::ASSIGN, AdminCommand::RELEASE});
  EXPECT_EQ(bus.region(1, 0), Range{});
}

TEST_F(FirmwareRegions, OnlyActivationMakesARegionUsable) {
  Lead({AdminCommand::CREATE});
  EXPECT_EQ(bus.region(1, 0), Range{});
  Lead({AdminCommand::MAP});
  EXPECT_EQ(bus.region(1, 0), Range{});
  Lead({AdminCommand::ACTIVATE});
  EXPECT_EQ(bus.region(1, 0), kPlace);
}

TEST_F(FirmwareRegions, EveryCommandIsGrantedInExactlyItsStates) {
  const std::vector<std::vector<AdminCommand>> ways = {
      {},
      {AdminCommand::CREATE},
      {AdminCommand::CREATE, AdminCommand::MAP},
      {AdminCommand::CREATE, AdminCommand::MAP, AdminCommand::ACTIVATE}};
  // Rows: free, created, mapped, active. Columns: kRegionCommands.
  constexpr bool kGranted[4][6] = {{true, true, true, false, false, false},
                                   {true, true, false, true, false, true},
                                   {true, true, false, false, true, true},
                                   {true, true, false, false, false, true}};
  for (size_t state = 0; state < 4; ++state) {
    for (size_t command = 0; command < 6; ++command) {
      bus.Ask(AdminCommand::RELEASE, 1, 0);
      Lead(ways[state]);
      EXPECT_EQ(bus.Ask(kRegionCommands[command], 1, 0, kPlace),
                kGranted[state][command] ? AdminStatus::DONE : AdminStatus::BAD_STATE)
          << "state " << state << " command " << command;
    }
  }
}

TEST_F(FirmwareRegions, ARefusedRequestChangesNothing) {
  Lead({AdminCommand::ASSIGN});
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 0, {2 * kGiB, kGiB}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {2 * kGiB, 128}), AdminStatus::OVERLAP);
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, 2 * kGiB}), AdminStatus::OVERLAP);
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, 1}), AdminStatus::BAD_RANGE);
  EXPECT_EQ(bus.region(1, 0), kPlace);
}

TEST_F(FirmwareRegions, AResizedActiveRegionStaysActive) {
  Lead({AdminCommand::ASSIGN});
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, kGiB}), AdminStatus::DONE);
  EXPECT_EQ(bus.region(1, 0), (Range{kPlace.base, kGiB}));
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, 128}), AdminStatus::DONE);
  EXPECT_EQ(bus.region(1, 0), (Range{kPlace.base, 128}));
}

TEST_F(FirmwareRegions, AResizedCreatedRegionIsMappedAtItsNewLength) {
  Lead({AdminCommand::CREATE});
  ASSERT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, 256}), AdminStatus::DONE);
  Lead({AdminCommand::MAP, AdminCommand::ACTIVATE});
  EXPECT_EQ(bus.region(1, 0), (Range{kPlace.base, 256}));
}

TEST_F(FirmwareRegions, NamesOfNothingAreRefused) {
  for (const AdminCommand command : kRegionCommands) {
    for (const uint32_t vf : {0u, 3u, 17u, ~0u})
      EXPECT_EQ(bus.Ask(command, vf, 0, kPlace), AdminStatus::NO_SUCH_REGION) << "VF " << vf;
    for (const uint32_t region : {8u, ~0u})
      EXPECT_EQ(bus.Ask(command, 1, region, kPlace), AdminStatus::NO_SUCH_REGION) << region;
  }
  for (const uint32_t command : {0u, 14u, 255u, ~0u}) {
    EXPECT_EQ(bus.Ask(static_cast<AdminCommand>(command), 1, 0, kPlace),
              AdminStatus::NO_SUCH_REGION)
        << command;
  }
}

TEST_F(FirmwareRegions, RangesMustBeStickAlignedInsideMemoryAndAtMostASegment) {
  const uint64_t end = 127 * kGiB;
  const Range bad[] = {{0, 0},           {64, 128},         {128, 64},    {end, 128},
                       {end - 128, 256}, {~127ull, 256},    {0, ~127ull}, {0, 16 * kGiB + 128},
                       {end + 128, 128}, {~127ull, ~127ull}};
  for (const Range& range : bad) {
    EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, range), AdminStatus::BAD_RANGE)
        << range.base << " + " << range.length;
  }
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {end - 128, 128}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 1, {0, 16 * kGiB}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::CREATE, 1, 2, {0, 64}), AdminStatus::BAD_RANGE);
  ASSERT_EQ(bus.Ask(AdminCommand::CREATE, 1, 2, {0, 256}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::MAP, 1, 2, {64, 0}), AdminStatus::BAD_RANGE);
  EXPECT_EQ(bus.Ask(AdminCommand::MAP, 1, 2, {end - 128, 0}), AdminStatus::BAD_RANGE);
}

TEST_F(FirmwareRegions, NoTwoOverlapAlsoWhileOneIsOnlyMapped) {
  Lead({AdminCommand::CREATE, AdminCommand::MAP});
  const Range touching[] = {{kPlace.base - 4096, 4096}, {kPlace.base + 4096, 4096}};
  const Range crossing[] = {{kPlace.base - 128, 256},
                            {kPlace.base + 3968, 256},
                            {kPlace.base, 128},
                            {kPlace.base - 128, 8192}};
  for (const uint32_t vf : {1u, 2u}) {
    for (const Range& range : crossing)
      EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, vf, 1, range), AdminStatus::OVERLAP) << range.base;
  }
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 1, touching[0]), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 1, touching[1]), AdminStatus::DONE);
  ASSERT_EQ(bus.Ask(AdminCommand::CREATE, 2, 2, {0, 128}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::MAP, 2, 2, kPlace), AdminStatus::OVERLAP);
}

TEST_F(FirmwareRegions, QuotaHoldsForAllRegionsOfTheFunctionTogether) {
  ASSERT_EQ(bus.Ask(AdminCommand::SET_REGION_QUOTA, 1, 0, {0, 1024}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::CREATE, 1, 0, {0, 1152}), AdminStatus::QUOTA);
  EXPECT_EQ(bus.Ask(AdminCommand::CREATE, 1, 0, {0, 512}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 1, {0, 640}), AdminStatus::QUOTA);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 1, {0, 512}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, 640}), AdminStatus::QUOTA);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 1, {512, 512}), AdminStatus::DONE)
      << "a replaced region does not count twice";
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 0, {4096, kGiB}), AdminStatus::DONE)
      << "the quota is one function's";
  EXPECT_EQ(bus.Ask(AdminCommand::SET_REGION_QUOTA, 1, 0, {0, 896}), AdminStatus::QUOTA)
      << "below what the function has";
  EXPECT_EQ(bus.Ask(AdminCommand::SET_REGION_QUOTA, 1, 0, {0, 0}), AdminStatus::DONE);
  EXPECT_EQ(bus.Ask(AdminCommand::RESIZE, 1, 0, {0, kGiB}), AdminStatus::DONE);
}

TEST_F(FirmwareRegions, CoresAreThoseThatTheCardHas) {
  FakeBus small({2, 8, kGiB});
  EXPECT_EQ(small.Ask(AdminCommand::SET_CORES, 1, 0, {0, 0x0F}), AdminStatus::DONE);
  EXPECT_EQ(small.cores(1), 0x0Fu);
  EXPECT_EQ(small.cores(2), 0xFFu);
  for (const uint64_t mask : {0ull, 0x100ull, 0x1'0000'000Full})
    EXPECT_EQ(small.Ask(AdminCommand::SET_CORES, 1, 0, {0, mask}), AdminStatus::BAD_RANGE) << mask;
  EXPECT_EQ(small.cores(1), 0x0Fu);
}

TEST_F(FirmwareRegions, TimeLimitsAndWeightsReachTheControlProcessor) {
  EXPECT_EQ(bus.Ask(AdminCommand::SET_TIME_LIMIT, 2, 9, {0, 2000}), AdminStatus::DONE);
  EXPECT_EQ(bus.share(2), (Share{2000, 0, false}));
  EXPECT_EQ(bus.Ask(AdminCommand::SET_WEIGHT, 2, 0, {0, 255}), AdminStatus::DONE);
  EXPECT_EQ(bus.share(2), (Share{2000, 255, false}));
  EXPECT_EQ(bus.Ask(AdminCommand::SET_WEIGHT, 0, 0, {0, 3}), AdminStatus::DONE) << "the PF";
  EXPECT_EQ(bus.share(0), (Share{0, 3, false}));
  EXPECT_EQ(bus.share(1), Share{});
  for (const uint64_t weight : {0ull, 256ull, 1ull << 32})
    EXPECT_EQ(bus.Ask(AdminCommand::SET_WEIGHT, 1, 0, {0, weight}), AdminStatus::BAD_RANGE);
  EXPECT_EQ(bus.Ask(AdminCommand::SET_TIME_LIMIT, 1, 0, {0, 1ull << 32}), AdminStatus::BAD_RANGE);
  EXPECT_EQ(bus.Ask(AdminCommand::SET_TIME_LIMIT, 3, 0, {0, 1}), AdminStatus::NO_SUCH_REGION);
  EXPECT_EQ(bus.Ask(AdminCommand::DISABLE, 2), AdminStatus::DONE);
  EXPECT_EQ(bus.share(2), (Share{2000, 255, true}));
  bus.Reset(2);
  EXPECT_EQ(bus.share(2), (Share{2000, 255, true})) << "they are the PF's to take";
  bus.Reset(0);
  for (uint32_t function = 0; function <= 2; ++function) EXPECT_EQ(bus.share(function), Share{});
}

// What the MMU's table says after random requests, and what the answer to each must be.
struct Reference {
  enum State { kFree, kCreated, kMapped, kActive };
  struct Region {
    State state = kFree;
    Range range;
  };
  uint64_t memory = 0;
  std::array<std::array<Region, 8>, 3> regions{};
  std::array<uint64_t, 3> quota{};

  AdminStatus Ask(const Request& request) {
    if (request.vf < 1 || request.vf > 2 || request.region > 7) return AdminStatus::NO_SUCH_REGION;
    Region& region = regions[request.vf][request.region];
    Region next = region;
    switch (request.command) {
      case AdminCommand::RELEASE:
        region = {};
        return AdminStatus::DONE;
      case AdminCommand::ASSIGN:
        next = {kActive, request.range};
        break;
      case AdminCommand::CREATE:
        if (region.state != kFree) return AdminStatus::BAD_STATE;
        next = {kCreated, {0, request.range.length}};
        break;
      case AdminCommand::MAP:
        if (region.state != kCreated) return AdminStatus::BAD_STATE;
        next = {kMapped, {request.range.base, region.range.length}};
        break;
      case AdminCommand::ACTIVATE:
        if (region.state != kMapped) return AdminStatus::BAD_STATE;
        next.state = kActive;
        break;
      default:
        if (region.state == kFree) return AdminStatus::BAD_STATE;
        next.range.length = request.range.length;
        break;
    }
    const auto [base, length] = next.range;
    if (length == 0 || length > kSegmentBytes || !IsStickAligned(length) || !IsStickAligned(base) ||
        base > memory || length > memory - base)
      return AdminStatus::BAD_RANGE;
    uint64_t total = length;
    for (const Region& other : regions[request.vf])
      total += &other == &region ? 0 : other.range.length;
    if (quota[request.vf] != 0 && total > quota[request.vf]) return AdminStatus::QUOTA;
    for (const auto& function : regions) {
      for (const Region& other : function) {
        if (&other != &region && other.state >= kMapped && next.state >= kMapped &&
            base < other.range.base + other.range.length && other.range.base < base + length)
          return AdminStatus::OVERLAP;
      }
    }
    region = next;
    return AdminStatus::DONE;
  }
};

TEST(FirmwareRegionsRandom, AnswersAndTableAreThoseOfTheReference) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Card card{2, 32, 8192};
    FakeBus bus(card);
    Reference reference;
    reference.memory = card.memory_bytes;
    reference.quota = {0, 4096, 0};
    ASSERT_EQ(bus.Ask(AdminCommand::SET_REGION_QUOTA, 1, 0, {0, 4096}), AdminStatus::DONE);
    const int steps = test::Draw(random, 1, 199);
    for (int step = 0; step < steps; ++step) {
      const uint64_t unit = random() % 21 == 0 ? 64 : 128;
      const Request request{static_cast<AdminCommand>(1 + random() % 6),
                            static_cast<uint32_t>(1 + random() % 2),
                            static_cast<uint32_t>(random() % 9),
                            {random() % 66 * unit, random() % 24 * unit}};
      ASSERT_EQ(bus.Ask(request), reference.Ask(request)) << "step " << step;
      for (uint32_t vf = 1; vf <= 2; ++vf) {
        for (uint32_t i = 0; i < kFunctionRegions; ++i) {
          const Reference::Region& region = reference.regions[vf][i];
          ASSERT_TRUE(bus.region(vf, i) ==
                      (region.state == Reference::kActive ? region.range : Range{}))
              << "step " << step << ", region " << i << " of function " << vf;
        }
      }
    }
  });
}

}  // namespace
}  // namespace spyre::firmware::regions_test
