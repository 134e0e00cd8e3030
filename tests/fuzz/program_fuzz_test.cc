// SPDX-License-Identifier: Apache-2.0
// Random and mutated programs, with images that pass every check of the loader, launched by a
// virtual function on the cores.
#include <fmt/format.h>

#include "tests/fuzz/fuzz_fixture.h"
#include "tests/fuzz/random_program.h"

namespace spyre::fuzz::program_fuzz_test {
namespace {

class ProgramFuzz : public Fuzz, public ::testing::WithParamInterface<uint32_t> {
 protected:
  static constexpr uint64_t kProgramAt = 0;  // in region 1; tensors are in region 0
  static constexpr uint64_t kProgramBytes = 64 << 10;
  static constexpr uint64_t kPatiencePs = 300'000'000;

  // Loads `image` by DMA and launches it; the card works for at most `limit_ps`.
  void Launch(Target& target, const std::vector<uint8_t>& image, uint64_t limit_ps) {
    ASSERT_LE(image.size(), kHostBytes);
    target.queue->Start();
    std::memcpy(target.host.data(), image.data(), image.size());
    Message copy = target.queue->Make<Message>(Opcode::DMA_IN);
    copy.host_address = target.io;
    copy.device_region = 1;
    copy.device_offset = kProgramAt;
    copy.size_bytes = image.size();
    target.queue->Put(copy);
    Message launch = target.queue->Make<Message>(Opcode::COMPUTE);
    launch.program_region = 1;
    launch.program_offset = kProgramAt;
    launch.program_bytes = kProgramBytes;
    target.queue->Put(launch);
    target.queue->Ring();
    const uint64_t start = card().NowPs();
    while (target.queue->answered() < 2 && card().NowPs() - start < limit_ps) {
      for (const auto& [sequence, status] : target.queue->Settle(limit_ps / 10))
        if (sequence == 2) ++outcomes_[status];
    }
    if (limit_ps >= kPatiencePs) ExpectAnsweredOrExplained(target);  // else it is cut short
    ExpectNothingElseTouched(1);
    ExpectNopWorksAfterReset(target);
  }

  const ProgramMaker maker_{kRegionBytes};
  std::map<Status, int> outcomes_;  // of launches that ended
};
INSTANTIATE_TEST_SUITE_P(Seed, ProgramFuzz, ::testing::Range(1u, 9u));

TEST_P(ProgramFuzz, RandomProgramsEndInAResponseOrANamedWaiterAndTouchNobodyElse) {
  Chaos chaos(GetParam());
  Target target = Aim(1);
  GuardHost(2);
  for (int round = 0; round < 40; ++round) {
    const Program program = maker_.Make(chaos);
    CheckProgram(program);
    Launch(target, Encode(program), kPatiencePs);
    if (HasFatalFailure()) FAIL() << "in round " << round << "\n" << Disassemble(program);
  }
  EXPECT_EQ(outcomes_.count(Status::BAD_PROGRAM), 0u) << "these are well formed";
  EXPECT_GE(outcomes_.size(), 2u) << "some end well, some do not";
}

TEST_P(ProgramFuzz, MutatedImagesEndInAResponseOrANamedWaiterAndTouchNobodyElse) {
  Chaos chaos(GetParam() + 100);
  Target target = Aim(1);
  GuardHost(2);
  for (int round = 0; round < 60; ++round) {
    std::vector<uint8_t> image = Encode(maker_.Make(chaos));
    Mutate(chaos, image);
    Launch(target, image, kPatiencePs);
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
}

TEST_P(ProgramFuzz, ALaunchThatIsResetAtAnyTimeLeavesAWorkingFunction) {
  Chaos chaos(GetParam() + 200);
  Target target = Aim(1);
  Target other = Aim(2);
  GuardHost(2);
  for (int round = 0; round < 40; ++round) {
    Launch(target, Encode(maker_.Make(chaos)), 1 + chaos.Below(20'000'000));
    ExpectNopWorksAfterReset(other);
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
}

}  // namespace
}  // namespace spyre::fuzz::program_fuzz_test
