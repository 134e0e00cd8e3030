// SPDX-License-Identifier: Apache-2.0
// Random control blocks and messages, sealed so that they are believed, in random states of the
// rings, with resets in between.
#include "tests/fuzz/fuzz_fixture.h"

namespace spyre::fuzz::queue_fuzz_test {
namespace {

class QueueFuzz : public Fuzz, public ::testing::WithParamInterface<uint32_t> {
 protected:
  template <typename Entry>
  Entry Common(Chaos& chaos, const Target& target) {
    Entry entry{};
    entry.opcode = static_cast<uint8_t>(chaos.OneIn(20) ? chaos.Below(256) : chaos.Below(9));
    entry.flags = static_cast<uint16_t>(chaos.OneIn(4)    ? chaos.Below(16)
                                        : chaos.OneIn(20) ? chaos.Word()
                                                          : 0);
    entry.stream = static_cast<uint32_t>(chaos.OneIn(10) ? chaos.Nasty() : chaos.Below(4));
    entry.host_address = chaos.Pick<uint64_t>(
        {target.io, target.io + chaos.Below(kHostBytes), target.io + kHostBytes - chaos.Below(256),
         guard_io(), driver::kMsiAddressBase + chaos.Below(1 << 20), chaos.Nasty()});
    entry.size_bytes = chaos.OneIn(2) ? chaos.Below(16384) : chaos.Nasty();
    entry.value = chaos.OneIn(2) ? EventValue(0, chaos.Below(4)) : chaos.Nasty();
    entry.correlation = chaos.Word();
    return entry;
  }
  ControlBlock MakeControlBlock(Chaos& chaos, const Target& target) {
    auto block = Common<ControlBlock>(chaos, target);
    const auto place = [&] {
      return chaos.Pick<uint64_t>({kPhysicalBase + chaos.Below(kRegionBytes / 128) * 128,
                                   kPhysicalBase + kRegionBytes - 128, RegionBase(1, 0),
                                   chaos.Nasty(), chaos.Nasty() & ~127ull});
    };
    block.device_address = place();
    if (block.opcode == static_cast<uint8_t>(Opcode::COMPUTE)) {
      block.device_address = chaos.OneIn(2) ? 0 : chaos.Nasty() & ~127ull;
      block.program_base = place();
      block.program_bytes = chaos.OneIn(2) ? 4096 : chaos.Nasty();
      block.segment_table = chaos.OneIn(2) ? 0 : place();
    }
    if (chaos.OneIn(30)) block.function = static_cast<uint16_t>(chaos.Below(4));
    return block;
  }
  Message MakeMessage(Chaos& chaos, const Target& target) {
    auto message = Common<Message>(chaos, target);
    message.device_region = static_cast<uint32_t>(chaos.OneIn(6) ? chaos.Nasty() : chaos.Below(3));
    message.device_offset = chaos.Pick<uint64_t>(
        {chaos.Below(kRegionBytes / 128) * 128, kRegionBytes - 128,
         RegionBase(2, 0) - RegionBase(1, 0), chaos.Nasty(), chaos.Nasty() & ~127ull});
    message.program_region = static_cast<uint32_t>(chaos.OneIn(6) ? chaos.Nasty() : chaos.Below(3));
    message.program_offset = message.device_offset;
    message.program_bytes = chaos.OneIn(2) ? 4096 : chaos.Nasty();
    if (message.opcode == static_cast<uint8_t>(Opcode::COMPUTE) && chaos.OneIn(2))
      message.device_offset = 0;
    return message;
  }
  // Puts `entry` as it is meant, or damaged.
  template <typename Entry>
  void Put(Chaos& chaos, Target& target, Entry entry) {
    if (!chaos.OneIn(8)) {
      target.queue->Put(entry);
      return;
    }
    entry.sequence = chaos.OneIn(2) ? chaos.Nasty() : target.queue->submitted() + 1;
    Seal(entry);
    auto* bytes = reinterpret_cast<uint8_t*>(&entry);
    bytes[chaos.Below(sizeof(entry))] ^= static_cast<uint8_t>(1 + chaos.Below(255));
    if (chaos.OneIn(2)) {  // believed nevertheless
      const uint32_t crc = Crc32c(bytes, sizeof(entry) - 4);
      std::memcpy(bytes + sizeof(entry) - 4, &crc, 4);
    }
    target.queue->PutRaw(entry);
  }
  void Run(Chaos& chaos, Target& target, driver::FunctionId victim) {
    GuardHost(target.function == 2 ? 1 : 2);
    for (int round = 0; round < 40; ++round) {
      target.queue->Start();
      const uint64_t batches = 1 + chaos.Below(6);
      for (uint64_t batch = 0; batch < batches; ++batch) {
        const uint64_t room = target.queue->submission_entries() -
                              (target.queue->submitted() - target.queue->answered());
        const uint64_t count = std::min(room, chaos.Below(target.queue->submission_entries()) + 1);
        for (uint64_t i = 0; i < count; ++i) {
          if (target.function == 0) {
            Put(chaos, target, MakeControlBlock(chaos, target));
          } else {
            Put(chaos, target, MakeMessage(chaos, target));
          }
        }
        target.queue->Ring();
        if (chaos.OneIn(12))
          target.queue->registers().WriteSqTail(static_cast<uint32_t>(chaos.Nasty()));
        if (chaos.OneIn(12))
          target.queue->registers().WriteRqHead(static_cast<uint32_t>(chaos.Nasty()));
        if (chaos.OneIn(12))
          target.queue->registers().WriteRqEntries(static_cast<uint32_t>(chaos.Nasty()));
        if (chaos.OneIn(12))
          target.queue->registers().WriteSqEntries(static_cast<uint32_t>(chaos.Nasty()));
        if (chaos.OneIn(20)) target.queue->registers().WriteSqBase(chaos.Nasty());
        if (chaos.OneIn(20)) target.queue->registers().WriteRqBase(chaos.Nasty());
        card().Advance(chaos.Below(30'000'000));
        if (!chaos.OneIn(3)) target.queue->Take();
        if (chaos.OneIn(6)) target.queue->Start();
      }
      for (int i = 0; i < 5; ++i) target.queue->Settle(bringup::kMillisecondPs);
      ExpectAnsweredOrExplained(target);
      ExpectNothingElseTouched(victim);
      ExpectNopWorksAfterReset(target);
      if (HasFatalFailure()) FAIL() << "in round " << round;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Seed, QueueFuzz, ::testing::Range(1u, 9u));

TEST_P(QueueFuzz, ControlBlocksOfThePhysicalFunctionStayInItsMappings) {
  Chaos chaos(GetParam());
  Target target = Aim(0);
  Run(chaos, target, 0);
}

TEST_P(QueueFuzz, MessagesOfAVirtualFunctionStayInItsRegions) {
  Chaos chaos(GetParam() + 100);
  Target target = Aim(1, chaos.OneIn(2) ? 64 : 2);
  Run(chaos, target, 1);
}

TEST_P(QueueFuzz, AFunctionUnderFireDoesNotStopAnother) {
  Chaos chaos(GetParam() + 200);
  Target target = Aim(1);
  Target other = Aim(2);
  for (int round = 0; round < 30; ++round) {
    target.queue->Start();
    for (uint32_t i = 0; i < target.queue->submission_entries(); ++i) {
      Message message = MakeMessage(chaos, target);
      // A program may hold the cores until its function is reset; everything else passes.
      if (message.opcode == static_cast<uint8_t>(Opcode::COMPUTE)) message.opcode = 0;
      Put(chaos, target, message);
    }
    target.queue->Ring();
    ExpectNopWorksAfterReset(other);
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
}

}  // namespace
}  // namespace spyre::fuzz::queue_fuzz_test
