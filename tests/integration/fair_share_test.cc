// SPDX-License-Identifier: Apache-2.0
// Functions that want the same engine take turns by their weights, and none waits for the queue of
// another.
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "tests/card_choices.h"
#include "tests/integration/tenants.h"

namespace spyre::test::fair_share_test {
namespace {

// Some 27 us.
constexpr const char* kBusy = R"(
.program busy
.cores 0x1
.section vector 0x1
  li r1, 15000
  loop r2, r1
    nop
  end
)";

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kUs = 1'000'000;  // ps

class FairShare : public Tenants,
                  public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  FairShare() {
    config_.control.fidelity = Named(std::get<0>(GetParam()));
    config_.concurrency = Named(std::get<1>(GetParam()));
  }
  // From the doorbell to the response, of a copy of one stick by VF 2.
  uint64_t SmallCopy(Opcode opcode) {
    const uint64_t copy = PutCopy(2, opcode, 0, 128);
    Ring(2);
    Work(300 * kUs);
    EXPECT_EQ(StatusOf(2, copy), Status::OK);
    return Got(2, copy).posted_ps - Got(2, copy).queued_ps;
  }
  // `count` copies by the function, each in a stream of its own.
  std::vector<uint64_t> PutCopies(unsigned vf, Opcode opcode, size_t count, uint64_t bytes) {
    std::vector<uint64_t> copies;
    for (size_t i = 0; i < count; ++i)
      copies.push_back(PutCopy(vf, opcode, 0, bytes, static_cast<uint32_t>(i)));
    return copies;
  }
  // While both functions have work, how many of `count` programs each the two have ended when the
  // first of them is through.
  std::pair<size_t, size_t> ProgramsWhileBothHaveSome(size_t count) {
    for (unsigned vf = 1; vf <= 2; ++vf) LoadAs(vf, kBusy, 0);
    std::vector<uint64_t> mine, others;
    for (size_t i = 0; i < count; ++i) mine.push_back(PutLaunch(1, 0));
    for (size_t i = 0; i < count; ++i) others.push_back(PutLaunch(2, 0));
    Ring(1);
    Ring(2);
    Work(2 * count * 80 * kUs);
    const uint64_t until =
        std::min(Got(1, mine.back()).finished_ps, Got(2, others.back()).finished_ps);
    const auto ended = [&](unsigned vf, const std::vector<uint64_t>& programs) {
      return static_cast<size_t>(std::count_if(programs.begin(), programs.end(), [&](uint64_t p) {
        return Got(vf, p).finished_ps <= until;
      }));
    };
    return {ended(1, mine), ended(2, others)};
  }
};

// The bound of docs/card.md: the requests that are under way, 4 channels x 16 of 4 KiB
// each, pass first, and then one of each other function.
TEST_P(FairShare, ASmallCopyDoesNotWaitForTheQueueOfAnotherFunction) {
  OpenTenants(2);
  for (const Opcode opcode : {Opcode::DMA_IN, Opcode::DMA_OUT}) {
    const uint64_t alone = SmallCopy(opcode);
    const std::vector<uint64_t> copies = PutCopies(1, opcode, 12, 4 * kMiB);
    Ring(1);
    Work(50 * kUs);
    const uint64_t beside = SmallCopy(opcode);
    Work(5'000 * kUs);
    const uint64_t queue = Got(1, copies.back()).finished_ps - Got(1, copies.front()).started_ps;
    EXPECT_GT(queue, 800 * kUs) << "what it would wait for otherwise";
    EXPECT_LT(beside, alone + 15 * kUs) << "alone " << alone << " ps";
    RecordProperty(opcode == Opcode::DMA_IN ? "in_alone_ns" : "out_alone_ns",
                   std::to_string(alone / 1000));
    RecordProperty(opcode == Opcode::DMA_IN ? "in_beside_ns" : "out_beside_ns",
                   std::to_string(beside / 1000));
  }
}

TEST_P(FairShare, CopiesShareTheLinkByWeight) {
  OpenTenants(2);
  Manager().SetWeight(1, 3);
  const uint64_t heavy = PutCopy(1, Opcode::DMA_IN, 0, 6 * kMiB);
  const uint64_t light = PutCopy(2, Opcode::DMA_IN, 0, 6 * kMiB);
  Ring(1);
  Ring(2);
  Work(2'000 * kUs);
  const uint64_t begin = std::max(Got(1, heavy).started_ps, Got(2, light).started_ps);
  // Three quarters of the link, and then the rest for the other one: 4/3 and 2 of the time alone.
  const auto ps = [&](const Response& response) {
    return static_cast<double>(response.finished_ps - begin);
  };
  EXPECT_NEAR(ps(Got(1, heavy)) / ps(Got(2, light)), 2.0 / 3, 0.04);
}

TEST_P(FairShare, AProgramWaitsForOneOfEachOtherFunctionAtMost) {
  OpenTenants(3);
  for (unsigned vf = 1; vf <= 3; ++vf) LoadAs(vf, kBusy, 0);
  for (unsigned vf = 1; vf <= 2; ++vf) {
    for (uint32_t i = 0; i < 20; ++i) PutLaunch(vf, 0, i);
    Ring(vf);
  }
  Work(100 * kUs);
  const uint64_t program = PutLaunch(3, 0);
  Ring(3);
  Work(3'000 * kUs);
  const Response& response = Got(3, program);
  EXPECT_LT(response.started_ps - response.fetched_ps, 3 * TimeOf(response)) << "not for 40";
}

TEST_P(FairShare, FunctionsOfEqualWeightHaveEqualTime) {
  OpenTenants(2);
  const auto [mine, others] = ProgramsWhileBothHaveSome(12);
  EXPECT_NEAR(static_cast<double>(mine), static_cast<double>(others), 1);
}

TEST_P(FairShare, AFunctionOfTwiceTheWeightHasTwiceTheTime) {
  OpenTenants(2);
  Manager().SetWeight(2, 2);
  const auto [mine, others] = ProgramsWhileBothHaveSome(12);
  EXPECT_EQ(others, 12u);
  EXPECT_NEAR(static_cast<double>(mine), 6, 1);
}

TEST_P(FairShare, CopiesOfTwoFunctionsDoNotKeepAProgramOfAThirdWaiting) {
  OpenTenants(3);
  LoadAs(3, kBusy, 0);
  for (unsigned vf = 1; vf <= 2; ++vf) {
    PutCopies(vf, Opcode::DMA_IN, 10, 2 * kMiB);
    Ring(vf);
  }
  Work(50 * kUs);
  const uint64_t program = PutLaunch(3, 0);
  Ring(3);
  Work(3'000 * kUs);
  const Response& response = Got(3, program);
  // Serial hardware ends the copies that are under way, one of each function.
  EXPECT_LT(response.started_ps - response.fetched_ps, 120 * kUs);
}

TEST_P(FairShare, AWeightIsOneToTwoHundredFiftyFiveAndOfAFunctionThatIsThere) {
  OpenTenants(1);
  EXPECT_THAT(FailureOf([&] { Manager().SetWeight(1, 0); }), ::testing::HasSubstr("SET_WEIGHT"));
  EXPECT_THAT(FailureOf([&] { Manager().SetWeight(1, 256); }), ::testing::HasSubstr("SET_WEIGHT"));
  EXPECT_THAT(FailureOf([&] { Manager().SetWeight(9, 1); }), ::testing::HasSubstr("SET_WEIGHT"));
  Manager().SetWeight(0, 255);
  Manager().SetWeight(1, 255);
}

INSTANTIATE_TEST_SUITE_P(Card, FairShare,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("serial", "pipelined")));

}  // namespace
}  // namespace spyre::test::fair_share_test
