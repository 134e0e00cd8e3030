// SPDX-License-Identifier: Apache-2.0
// The driver of copy_driver.h on a simulated card: copies to the card and back, often enough that
// the rings turn round.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>

#include "copy_driver.h"
#include "cosim/host/inprocess_transport.h"

int main() {
  try {
    spyre::cosim::InProcessTransport card(spyre::model::CardConfig{}, {}, nullptr);
    CopyDriver driver(card, 1 << 20);
    std::vector<uint32_t> sent(16384), received(16384);
    for (uint32_t round = 0; round < 20; ++round) {
      std::iota(sent.begin(), sent.end(), round * 1000);
      driver.ToCard(sent.data(), 0x1000 * round, sent.size() * sizeof(uint32_t));
      driver.FromCard(received.data(), 0x1000 * round, received.size() * sizeof(uint32_t));
      if (sent != received) {
        std::printf("round %u came back wrong\n", round);
        return EXIT_FAILURE;
      }
    }
    std::printf("40 copies of 64 KiB took %.1f us of the card's time\n",
                static_cast<double>(card.NowPs()) / 1e6);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
