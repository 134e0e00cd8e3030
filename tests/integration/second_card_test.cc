// SPDX-License-Identifier: Apache-2.0
// SystemC elaborates once in a process: cards are made together, and one that comes later is
// refused, with a sentence.
#include "cosim/host/child_process.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::second_card_test {
namespace {

class SecondCard : public CardFixture {
 protected:
  std::string Refusal() {
    try {
      const cosim::InProcessTransport second(config_, cosim::HostTiming{}, nullptr);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "a second card was made";
  }
};

TEST_F(SecondCard, IsRefusedBesideTheFirstAndAfterIt) {
  Open();
  const std::string beside = Refusal();
  EXPECT_NE(beside.find("a process of its own"), std::string::npos) << beside;
  const flex::DeviceHandle memory = context_->Allocate(128);
  context_->DefaultStream().Fill(memory, 128, 0);
  EXPECT_NO_THROW(context_->Synchronize()) << "the first goes on";
  context_.reset();
  transport_.reset();
  const std::string after = Refusal();
  EXPECT_NE(after.find("a process of its own"), std::string::npos) << after;
}

// Copies `data` to a card and back.
std::vector<uint8_t> RoundTrip(flex::RuntimeContext& context, const std::vector<uint8_t>& data) {
  const flex::DeviceHandle memory = context.Allocate(data.size());
  std::vector<uint8_t> back(data.size());
  context.DefaultStream().CopyToDevice(data.data(), memory, data.size());
  context.DefaultStream().CopyFromDevice(back.data(), memory, back.size());
  context.Synchronize();
  return back;
}

TEST(SeveralCards, WorkInOneSimulationWithMemoryOfTheirOwn) {
  cosim::InProcessTransport::CardSetup small;
  small.config.cores = 8;
  auto cards = cosim::InProcessTransport::Several({{}, small});
  ASSERT_EQ(cards.size(), 2u);
  flex::RuntimeContext first(*cards[0], 0);
  {
    flex::RuntimeContext second(*cards[1], 0);
    EXPECT_EQ(cards[0]->card().config().cores, 32u);
    EXPECT_EQ(cards[1]->card().config().cores, 8u);
    // Both begin at the same address; neither may see the other's bytes.
    const flex::DeviceHandle mine = first.Allocate(4096), other = second.Allocate(4096);
    std::vector<uint8_t> ones(4096, 1), twos(4096, 2), got(4096);
    first.DefaultStream().CopyToDevice(ones.data(), mine, 4096);
    second.DefaultStream().CopyToDevice(twos.data(), other, 4096);
    first.Synchronize();
    second.Synchronize();
    first.DefaultStream().CopyFromDevice(got.data(), mine, 4096);
    first.Synchronize();
    EXPECT_EQ(got, ones);
    second.DefaultStream().CopyFromDevice(got.data(), other, 4096);
    second.Synchronize();
    EXPECT_EQ(got, twos);
    EXPECT_EQ(cards[0]->NowPs(), cards[1]->NowPs()) << "simulated time is one";
  }
  cards[1].reset();
  const std::vector<uint8_t> data(8192, 3);
  EXPECT_EQ(RoundTrip(first, data), data) << "the first goes on without the second";
  EXPECT_THROW(cosim::InProcessTransport({}, {}, nullptr), Error);
}

// What a card answers, and when, does not depend on a card beside it that does nothing.
TEST(SeveralCards, AnIdleNeighbourChangesNoTimes) {
  const std::vector<uint8_t> data(1 << 20, 5);
  const auto time_with = [&](size_t cards) {
    return cosim::RunInChild([&] {
      const auto all = cosim::InProcessTransport::Several(
          std::vector<cosim::InProcessTransport::CardSetup>(cards));
      flex::RuntimeContext context(*all[0], 0);
      if (RoundTrip(context, data) != data) throw InternalError("the copy is wrong");
      return std::to_string(all[0]->NowPs());
    });
  };
  EXPECT_EQ(time_with(1), time_with(2));
}

}  // namespace
}  // namespace spyre::test::second_card_test
