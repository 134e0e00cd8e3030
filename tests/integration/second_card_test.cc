// SPDX-License-Identifier: Apache-2.0
// SystemC elaborates once in a process: a second simulated card is refused, with a sentence.
#include "tests/integration/card_fixture.h"

namespace spyre::test {
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

}  // namespace
}  // namespace spyre::test
