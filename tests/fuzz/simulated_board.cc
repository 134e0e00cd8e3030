// SPDX-License-Identifier: Apache-2.0
// The card that is fuzzed: simulated in this process, one for each test.
#include "bringup/ladder/board.h"
#include "cosim/host/inprocess_transport.h"

namespace spyre::bringup {
namespace {

const bool kUsed = [] {
  UseBoard([] {
    Backend backend;
    backend.name = "inproc";
    backend.fresh = true;
    backend.transport = std::make_unique<cosim::InProcessTransport>(model::CardConfig(),
                                                                    cosim::HostTiming{}, nullptr);
    return std::make_unique<Board>(std::move(backend), 1, 1);
  });
  return true;
}();

}  // namespace
}  // namespace spyre::bringup
