// SPDX-License-Identifier: Apache-2.0
// The control-block processor as a timed model and in RTL: the same random entries, good and bad,
// on rings of every size, on several functions and with resets in the middle, give the same
// responses in the same order, the same registers and the same memory; only times differ, by a
// stated bound.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <tuple>

#include "tests/card_choices.h"
#include "tests/integration/parity/random_host.h"
#include "tests/integration/parity/two_cards.h"

namespace spyre::test::control_parity_test {
namespace {

using bringup::RawQueue;

// The first line in which two logs differ.
std::string FirstDifference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string one, other;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(left, one));
    const bool more_right = static_cast<bool>(std::getline(right, other));
    if (!more_left && !more_right) return "";
    if (!more_left) one = "(end)";
    if (!more_right) other = "(end)";
    if (one != other) return fmt::format("line {}\n  timed: {}\n  rtl:   {}", line, one, other);
  }
}

class ControlParity : public ::testing::Test {
 protected:
  ControlParity() {
    rtl_.num_vfs = timed_.num_vfs = 2;
    rtl_.control.fidelity = model::BlockFidelity::kRtl;
  }
  model::CardConfig timed_, rtl_;
};

// Concurrency and seed.
class ControlParityOfStreams
    : public ControlParity,
      public ::testing::WithParamInterface<std::tuple<const char*, uint32_t>> {};

TEST_P(ControlParityOfStreams, RandomEntriesGiveTheSameResponsesRegistersAndMemory) {
  timed_.concurrency = rtl_.concurrency = test::Named(std::get<0>(GetParam()));
  const uint32_t seed = std::get<1>(GetParam());
  for (model::CardConfig* config : {&timed_, &rtl_}) {
    config->control.fetch_batch = seed % 2 == 0 ? 16 : 3;
    config->control.clock_mhz = seed % 3 == 0 ? 200 : 1000;
    if (seed % 3 == 1) config->control.decode_ns = config->control.dispatch_ns = 0;
  }
  const auto [timed, rtl] = OnTwoCards(
      [&](const model::CardConfig& config) { return RandomHost(config, seed).RunRounds(12); },
      timed_, rtl_);
  EXPECT_GT(timed.size(), 10'000u) << "bytes of log";
  EXPECT_EQ(FirstDifference(timed, rtl), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, ControlParityOfStreams,
                         ::testing::Combine(::testing::Values("serial", "pipelined", "concurrent"),
                                            ::testing::Range(1u, 7u)));

// Event slots used again and again, and more failed streams than are told apart.
std::string FillTheTables(const model::CardConfig& config) {
  cosim::InProcessTransport transport(config, cosim::HostTiming{}, nullptr);
  driver::Device device(transport, 0);
  RawQueue queue(transport, 0, 64, 64);
  std::string log;
  const auto settle = [&] {
    queue.Ring();
    for (const auto& [sequence, status] : queue.Settle())
      log += fmt::format("{} {}\n", sequence, StatusName(status));
  };
  const auto put = [&](Opcode opcode, uint32_t stream, uint64_t value) {
    auto block = queue.Make<ControlBlock>(opcode, stream);
    block.value = value;
    queue.Put(block);
    if (queue.submitted() % 32 == 0) settle();
  };
  for (uint32_t slot = 0; slot < kEventSlots; ++slot)
    put(Opcode::EVENT_SIGNAL, 1000 + slot, EventValue(slot, uint64_t{1} << slot % 56));
  for (uint32_t slot = 0; slot < kEventSlots; ++slot)
    put(Opcode::EVENT_WAIT, 1000 + slot, EventValue(slot, uint64_t{1} << slot % 56));
  for (uint32_t event = 1; event <= 2 * kEventSlots; ++event) {
    put(Opcode::EVENT_SIGNAL, 1 + event % 3, EventValue(event % 3, event));
    put(Opcode::EVENT_WAIT, 1, EventValue(event % 3, event - event % 2));
  }
  for (uint32_t stream = 0; stream < 2 * kHeldOperations; ++stream) put(Opcode::COMPUTE, stream, 0);
  for (uint32_t stream = 0; stream < 400; ++stream) put(Opcode::NOP, stream * 64, 0);
  settle();
  return log;
}

TEST_F(ControlParity, FullTablesAnswerAlike) {
  const auto [timed, rtl] = OnTwoCards(FillTheTables, timed_, rtl_);
  EXPECT_EQ(timed.find("EVENT_FAILED"), std::string::npos);
  EXPECT_NE(timed.find("ABORTED"), std::string::npos);
  EXPECT_EQ(FirstDifference(timed, rtl), "");
}

// Responses of operations that are alone in the card.
std::string OneByOne(const model::CardConfig& config) {
  cosim::InProcessTransport transport(config, cosim::HostTiming{}, nullptr);
  driver::Device device(transport, 0);
  driver::PhysicalFunction(device).MapRange(0, 1 << 20, kPermissionRead | kPermissionWrite);
  std::vector<uint8_t> host(1 << 16);
  const driver::IoAddress io = transport.MapHost(0, host.data(), host.size());
  RawQueue queue(transport, 0);
  std::string bytes;
  for (const Opcode opcode : {Opcode::NOP, Opcode::DMA_IN, Opcode::DMA_OUT, Opcode::DMA_FILL,
                              Opcode::EVENT_SIGNAL, Opcode::EVENT_WAIT, Opcode::FENCE}) {
    auto block = queue.Make<ControlBlock>(opcode);
    block.host_address = io;
    block.size_bytes = host.size();
    queue.Put(block);
    queue.Ring();
    transport.Advance(100'000'000);
    for (const Response& response : queue.Take())
      bytes.append(reinterpret_cast<const char*>(&response), sizeof(response));
  }
  return bytes;
}

TEST_F(ControlParity, StepsOfAnOperationTakeTheSameTimeWithinEightClocks) {
  timed_.memory.refresh = rtl_.memory.refresh =
      model::RefreshKind::kNone;  // comes at its own times
  const auto [timed, rtl] = OnTwoCards(OneByOne, timed_, rtl_);
  ASSERT_EQ(timed.size(), 7 * sizeof(Response));
  ASSERT_EQ(rtl.size(), timed.size());
  const uint64_t bound_ps = 8 * 1'000'000 / rtl_.control.clock_mhz;
  for (size_t at = 0; at < timed.size(); at += sizeof(Response)) {
    Response a, b;
    std::copy_n(&timed[at], sizeof(a), reinterpret_cast<char*>(&a));
    std::copy_n(&rtl[at], sizeof(b), reinterpret_cast<char*>(&b));
    SCOPED_TRACE(OpcodeName(static_cast<Opcode>(a.opcode)));
    EXPECT_EQ(Check(b), Status::OK);
    const auto near = [&](const char* step, uint64_t timed_ps, uint64_t rtl_ps) {
      RecordProperty(fmt::format("{}_{}_ps", OpcodeName(static_cast<Opcode>(a.opcode)), step),
                     static_cast<int>(rtl_ps - timed_ps));
      EXPECT_GE(rtl_ps + 1'000, timed_ps) << step;
      EXPECT_LE(rtl_ps, timed_ps + bound_ps) << step;
    };
    near("fetch", a.fetched_ps - a.queued_ps, b.fetched_ps - b.queued_ps);
    near("start", a.started_ps - a.fetched_ps, b.started_ps - b.fetched_ps);
    near("run", a.finished_ps - a.started_ps, b.finished_ps - b.started_ps);
    near("post", a.posted_ps - a.finished_ps, b.posted_ps - b.finished_ps);
  }
}

}  // namespace
}  // namespace spyre::test::control_parity_test
