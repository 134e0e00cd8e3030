// SPDX-License-Identifier: Apache-2.0
#include "model/ring/ring.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

namespace spyre::model::ring_test {
namespace {

// Four cores and the memory stop; 1000 MHz, 128 bytes a cycle and 2 cycles a hop make times easy to
// read. Memory answers at once.
struct Bench : sc_core::sc_module {
  struct Client final : TransferClient {
    uint64_t done_ps = UINT64_MAX;
    void Complete(tlm::tlm_generic_payload& /*payload*/, uint64_t end_ps) override {
      done_ps = end_ps;
    }
    uint64_t cycles() const { return done_ps / 1000; }
    bool waiting() const { return done_ps == UINT64_MAX; }
  };
  struct Member final : MulticastMember {
    std::vector<uint8_t> data;
    MulticastEnd end{};
    bool waiting = true;
    uint64_t cycles() const { return end.done_ps / 1000; }
    void MulticastEnded(void* /*place*/, const MulticastEnd& ended) override {
      end = ended;
      waiting = false;
    }
  };
  struct Request {
    TransferPayload payload;
    Client client;
    std::vector<uint8_t> data;
    tlm::tlm_response_status status() const { return payload.Prepared().get_response_status(); }
  };

  CardConfig config;
  std::unique_ptr<Ring> ring;
  tlm_utils::simple_target_socket<Bench, kSocketBits, TransferProtocol> memory{"memory"};
  std::vector<std::unique_ptr<SplitSocket>> cores;
  std::vector<
      std::unique_ptr<tlm_utils::simple_target_socket<Bench, kSocketBits, TransferProtocol>>>
      lx;
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<std::unique_ptr<Member>> members;
  uint64_t lx_address = 0;
  int memory_reads = 0;
  bool settle = true;  // after every request

  explicit Bench(const sc_core::sc_module_name& name, void (*change)(RingConfig&) = nullptr)
      : sc_module(name) {
    config.cores = 4;
    config.clock.ring_mhz = 1000;
    config.ring.link_percent = 100;
    if (change != nullptr) change(config.ring);
    ring = std::make_unique<Ring>("ring", config, nullptr);
    memory.register_nb_transport_fw(this, &Bench::Memory);
    ring->memory_socket.bind(memory);
    for (int i = 0; i < 5; ++i) {
      cores.push_back(std::make_unique<SplitSocket>(sc_core::sc_gen_unique_name("core")));
      cores.back()->bind(ring->core_socket);
    }
    for (int i = 0; i < 4; ++i) {
      lx.push_back(std::make_unique<
                   tlm_utils::simple_target_socket<Bench, kSocketBits, TransferProtocol>>());
      lx.back()->register_b_transport(this, &Bench::WriteLx);
      ring->lx_socket.bind(*lx.back());
    }
  }
  tlm::tlm_sync_enum Memory(tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                            sc_core::sc_time& /*delay*/) {
    if (payload.is_read()) {
      ++memory_reads;
      std::fill_n(payload.get_data_ptr(), payload.get_data_length(), uint8_t{0xA5});
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  void WriteLx(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    lx_address = payload.get_address();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  static void Elaborate() {
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION)
      sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  // `core` joins a multicast, asking at a time that is now or later. The first call elaborates.
  Member& Join(unsigned core, uint64_t address, uint32_t bytes, uint32_t group,
               uint64_t asks_ps = 0) {
    Elaborate();
    Member& member = *members.emplace_back(std::make_unique<Member>());
    member.data.resize(bytes);
    Transfer transfer;
    transfer.stop = static_cast<uint16_t>(core);
    transfer.group = group;
    ring->JoinMulticast(transfer, {nullptr, asks_ps, address, member.data.data(), bytes}, member);
    // Multicasts go to memory when all that are complete at this time are.
    if (settle) Settle();
    return member;
  }
  // Issues at time 0 for `core`. The first call elaborates.
  Request& Send(unsigned core, tlm::tlm_command command, uint64_t address, uint64_t bytes,
                uint32_t group = 0, bool takes_turn = false) {
    Elaborate();
    Request& request = *requests.emplace_back(std::make_unique<Request>());
    request.data.resize(bytes);
    request.payload.info.stop = static_cast<uint16_t>(core);
    request.payload.info.group = group;
    request.payload.info.takes_turn = takes_turn;
    request.payload.info.client = &request.client;
    cores[core]->Send(request.payload.Prepare(command, address, request.data.data(), bytes),
                      sc_core::SC_ZERO_TIME);
    // Writes take their links when all that arrive at this time have been submitted.
    if (settle) Settle();
    return request;
  }
  void Settle() {
    for (int delta = 0; delta < 3; ++delta) sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  uint64_t Read(unsigned core, uint64_t bytes) {
    return Send(core, tlm::TLM_READ_COMMAND, 0, bytes).client.cycles();
  }
  uint64_t Write(unsigned core, uint64_t bytes) {
    return Send(core, tlm::TLM_WRITE_COMMAND, 0, bytes).client.cycles();
  }
  uint64_t BytesOn(const std::string& links) const {
    uint64_t bytes = 0;
    for (const UnitStatistics& unit : ring->Statistics()) {
      if (unit.name.find("ring." + links) == 0) bytes += unit.bytes;
    }
    return bytes;
  }
};

TEST(Ring, AReadTakesItsRequestHopsItsDataHopsAndItsBytes) {
  Bench bench("bench");
  // Core 0 is next to the memory stop (4): 1 hop each way, 4096 bytes are 32 cycles.
  EXPECT_EQ(bench.Read(0, 4096), 2u + 2u + 32u) << "cycles";
}

TEST(Ring, HeadersAndGapsTakeTheirShareOfALink) {
  Bench bench("bench", [](RingConfig& ring) { ring.link_percent = 50; });
  EXPECT_EQ(bench.Read(0, 4096), 2u + 2u + 64u) << "cycles";
}

TEST(Ring, ReadDataTakeTheShorterWayRound) {
  Bench bench("bench");
  EXPECT_EQ(bench.Read(1, 128), 4u + 4u + 1u) << "cycles: two hops clockwise";
  EXPECT_EQ(bench.BytesOn("ccw"), 0u);
}

TEST(Ring, CoresOnOneSideShareItsLinksAndCoresOnBothSidesShareNone) {
  Bench bench("bench");
  EXPECT_EQ(bench.Read(0, 4096), 36u);
  EXPECT_EQ(bench.Read(3, 4096), 36u) << "cycles: the other side";
  EXPECT_EQ(bench.Read(1, 4096), 34u + 4u + 32u) << "cycles: waits for core 0's data to pass";
}

TEST(Ring, AWriteIsDoneWhenItsAcknowledgementIsBack) {
  Bench bench("bench");
  EXPECT_EQ(bench.Write(0, 4096), 2u + 32u + 2u) << "cycles";
}

TEST(Ring, WritesOfTheSameTimeTakeTheirLinksInTheOrderOfTheirStops) {
  Bench bench("bench");
  bench.settle = false;
  const Bench::Request& far = bench.Send(1, tlm::TLM_WRITE_COMMAND, 0, 4096);
  const Bench::Request& near = bench.Send(0, tlm::TLM_WRITE_COMMAND, 0, 4096);
  bench.Settle();
  EXPECT_EQ(near.client.cycles(), 2u + 32u + 2u) << "cycles: first, though submitted last";
  EXPECT_EQ(far.client.cycles(), 32u + 2u + 32u + 4u)
      << "cycles: waits on the last link until core 0's data have passed";
}

TEST(Ring, WritesGoTheLongerWayOnlyWhenTheShorterIsBackedUp) {
  Bench bench("bench", [](RingConfig& ring) { ring.detour_ns = 50; });
  bench.Write(0, 4096);
  EXPECT_EQ(bench.Write(0, 4096), 2u * 32u + 2u + 2u) << "cycles: behind the first";
  EXPECT_EQ(bench.BytesOn("cw"), 0u);
  // The last link of the shorter way is taken for 64 cycles, the longer way takes 8.
  bench.Write(0, 4096);
  EXPECT_EQ(bench.BytesOn("cw"), 4u * 4096u) << "bytes: four links the other way";
}

TEST(Ring, AMulticastWaitsForItsLastMemberReadsOnceAndTapsItsWay) {
  Bench bench("bench");
  const Bench::Member& first = bench.Join(0, 0, 4096, 0b0011);
  EXPECT_TRUE(first.waiting);
  EXPECT_EQ(bench.memory_reads, 0);
  const Bench::Member& last = bench.Join(1, 0, 4096, 0b0011);
  EXPECT_EQ(bench.memory_reads, 1);
  // The farthest request has 2 hops of 5 stops; then one way round.
  EXPECT_EQ(first.cycles(), 4u + 2u + 32u) << "cycles";
  EXPECT_EQ(last.cycles(), 4u + 4u + 32u) << "cycles";
  EXPECT_EQ(bench.BytesOn("cw"), 2u * 4096u);
  EXPECT_EQ(first.data[4095], 0xA5);
  EXPECT_EQ(last.data[4095], 0xA5);
}

TEST(Ring, AMulticastStartsWhenTheLastMemberAsksWhoeverIsTheLastToSaySo) {
  Bench bench("bench");
  const Bench::Member& late = bench.Join(1, 0, 4096, 0b0011, 100'000);
  const Bench::Member& early = bench.Join(0, 0, 4096, 0b0011, 7'000);
  EXPECT_EQ(early.cycles(), 100u + 4u + 2u + 32u) << "cycles";
  EXPECT_EQ(early.end.joined_ps, 100'000u);
  EXPECT_EQ(early.end.last_stop, 1u);
  EXPECT_EQ(late.end.last_stop, 1u);
}

TEST(Ring, TheNthRequestOfAMemberBelongsToTheNthMulticastOfItsGroup) {
  Bench bench("bench");
  const Bench::Member& first = bench.Join(0, 0, 4096, 0b0011);
  const Bench::Member& second = bench.Join(0, 4096, 4096, 0b0011);
  bench.Join(3, 8192, 4096, 0b1001);  // another group
  EXPECT_FALSE(bench.Join(1, 0, 4096, 0b0011).waiting);
  EXPECT_FALSE(first.waiting);
  EXPECT_TRUE(second.waiting);
  EXPECT_FALSE(bench.Join(1, 4096, 4096, 0b0011).waiting);
  EXPECT_EQ(second.end.status, tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.memory_reads, 2);
}

TEST(Ring, MulticastsUseBothWaysRound) {
  Bench bench("bench");
  for (int i = 0; i < 2; ++i) {
    bench.Join(0, 0, 4096, 0b1001);
    bench.Join(3, 0, 4096, 0b1001);
  }
  EXPECT_EQ(bench.BytesOn("cw"), 4u * 4096u) << "bytes: past core 0 to core 3";
  EXPECT_EQ(bench.BytesOn("ccw"), 4u * 4096u) << "bytes: past core 3 to core 0";
}

TEST(Ring, MulticastsThatAreCompleteAtTheSameTimeGoInTheOrderOfTheirLastStops) {
  Bench bench("bench");
  bench.settle = false;
  bench.Join(1, 0, 4096, 0b1010);
  const Bench::Member& high = bench.Join(3, 0, 4096, 0b1010);
  bench.Join(0, 0, 4096, 0b0101);
  const Bench::Member& low = bench.Join(2, 0, 4096, 0b0101);
  bench.Settle();
  EXPECT_EQ(low.end.times.at_memory_ps, 4'000u) << "ps: first, though complete last";
  EXPECT_EQ(high.end.times.at_memory_ps, 4'000u + bench.config.ring.multicast_request_ps) << "ps";
}

// Core 0 is one hop from memory, core 1 two; a stick is one cycle on a link. Who takes no turn
// passes.
TEST(Ring, UnicastsThatTakeTurnsWaitForMulticastsAndForEachOther) {
  Bench bench("bench", [](RingConfig& ring) { ring.multicast_request_ps = 20'000; });
  bench.settle = false;
  const auto read = [&](unsigned core, bool takes_turn) -> const Bench::Request& {
    return bench.Send(core, tlm::TLM_READ_COMMAND, 0, 128, 0, takes_turn);
  };
  const Bench::Request& second = read(1, true);
  const Bench::Request& first = read(0, true);
  bench.Join(0, 0, 128, 0b0101);
  const Bench::Member& third = bench.Join(2, 0, 128, 0b0101);
  const Bench::Request& passes = read(3, false);
  bench.Settle();
  EXPECT_EQ(first.client.cycles(), 2u + 2u + 1u) << "cycles: by the order of stops";
  EXPECT_EQ(first.payload.info.times.turn_ps, 0u);
  EXPECT_EQ(second.client.cycles(), 2u + 20u + 4u + 1u) << "cycles";
  EXPECT_EQ(second.payload.info.times.turn_ps, 18'000u) << "ps: from 4 to 22 ns";
  EXPECT_EQ(third.end.times.at_memory_ps, 42'000u) << "ps";
  EXPECT_EQ(third.end.times.turn_ps, 38'000u) << "ps";
  EXPECT_EQ(passes.client.cycles(), 2u + 2u + 1u) << "cycles";
}

TEST(Ring, GroupsBeyondTheCohortTakeLonger) {
  Bench bench("bench", [](RingConfig& ring) {
    ring.multicast_cohort = 1;
    ring.multicast_exponent_percent = 200;
  });
  bench.Join(0, 0, 4096, 0b0011);
  const Bench::Member& last = bench.Join(1, 0, 4096, 0b0011);
  EXPECT_EQ(last.cycles(), 4u + 4u + 32u * 4u) << "cycles: (2 / 1) squared";
}

TEST(Ring, ABroadcastEndsWithItsFarthestMember) {
  Bench bench("bench");
  const Bench::Request& image = bench.Send(4, tlm::TLM_READ_COMMAND, 0, 4096, 0b0011);
  EXPECT_EQ(image.client.cycles(), 4u + 4u + 32u) << "cycles: to core 1, one link after the other";
  EXPECT_EQ(image.data[4095], 0xA5);
}

TEST(Ring, MembersThatAskForDifferentBytesAllGetAnError) {
  Bench bench("bench");
  const Bench::Member& first = bench.Join(0, 0, 4096, 0b0011);
  const Bench::Member& last = bench.Join(1, 128, 4096, 0b0011);
  EXPECT_EQ(first.end.status, tlm::TLM_COMMAND_ERROR_RESPONSE);
  EXPECT_EQ(last.end.status, tlm::TLM_COMMAND_ERROR_RESPONSE);
  EXPECT_EQ(bench.memory_reads, 0);
}

TEST(Ring, AbandonedMembersHearOfItAndTheirGroupStartsAfresh) {
  Bench bench("bench");
  const Bench::Member& alone = bench.Join(0, 0, 4096, 0b0011);
  bench.ring->AbandonMulticasts(0b0100);
  EXPECT_TRUE(alone.waiting) << "a job on other cores";
  bench.ring->AbandonMulticasts(0b0001);
  EXPECT_FALSE(alone.waiting);
  EXPECT_EQ(alone.end.status, tlm::TLM_GENERIC_ERROR_RESPONSE);
  const Bench::Member& again = bench.Join(1, 0, 4096, 0b0011);
  EXPECT_TRUE(again.waiting);
  bench.Join(0, 0, 4096, 0b0011);
  EXPECT_EQ(again.end.status, tlm::TLM_OK_RESPONSE);
}

// 128 bytes from a core to another one's LX, sent at time 0 by a process of its own.
struct Message {
  Message(Bench& bench, unsigned core, unsigned peer) : data(128) {
    payload.info.stop = static_cast<uint16_t>(core);
    auto& message = payload.Prepare(tlm::TLM_WRITE_COMMAND, Ring::PeerAddress(peer, 640),
                                    data.data(), data.size());
    sc_core::sc_spawn(
        [&bench, this, core, &message] { (*bench.cores[core])->b_transport(message, delay); });
  }
  uint64_t cycles() const { return delay.value() / 1000; }

  std::vector<uint8_t> data;
  TransferPayload payload;
  sc_core::sc_time delay;
};

TEST(Ring, PeersAreReachedOverThePartialSumRing) {
  Bench bench("bench");
  const Message message(bench, 1, 2);
  bench.Settle();
  // 128 bytes at 32 bytes a cycle, one hop.
  EXPECT_EQ(message.cycles(), 2u + 4u) << "cycles";
  EXPECT_EQ(bench.lx_address, 640u);
}

TEST(Ring, MessagesOfTheSameTimeTakeTheirLinksInTheOrderOfTheirStops) {
  Bench bench("bench");
  const Message near(bench, 1, 2), far(bench, 0, 2);
  bench.Settle();
  EXPECT_EQ(far.cycles(), 2u * 2u + 4u) << "cycles: first, though submitted last";
  EXPECT_EQ(near.cycles(), 2u + 4u + 2u + 4u)
      << "cycles: waits on the last link until core 0's data have passed";
}

TEST(Ring, EveryByteCrossesEachLinkOnItsWayOnce) {
  Bench bench("bench");
  bench.Read(1, 4096);
  bench.Write(2, 4096);
  EXPECT_EQ(bench.BytesOn("cw"), 4u * 4096)
      << "bytes: memory to core 1 and core 2 to memory, two links each";
  EXPECT_EQ(bench.BytesOn("ccw"), 0u);
}

}  // namespace
}  // namespace spyre::model::ring_test
