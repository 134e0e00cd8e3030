// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bringup/cli/backends.h"
#include "model/memory/address_map.h"
#include "model/memory/bank_map.h"

namespace spyre::bringup {
namespace {

int Generation(uint64_t rate_mts) { return rate_mts >= 32000 ? 5 : rate_mts >= 16000 ? 4 : 3; }

}  // namespace

Expected ExpectedOf(const cosim::RunConfig& config) {
  const model::CardConfig& card = config.card;
  Expected expected;
  const auto exactly = [&expected](const char* name, double value) {
    expected.limits[name] = {value, value};
  };
  exactly("link_generation", Generation(card.pcie.rate_mts));
  exactly("link_width", static_cast<double>(card.pcie.lanes));
  expected.channels = static_cast<uint32_t>(card.memory.channels);
  const model::AddressMap channels(card.memory);
  const model::BankMap banks(card.memory);
  expected.banks = banks.banks();
  expected.place = [channels, banks](uint64_t address) {
    const model::ChannelAddress at = channels.Locate(address);
    return MemoryPlace{at.channel, banks.Locate(at.address).bank};
  };
  return expected;
}

}  // namespace spyre::bringup
