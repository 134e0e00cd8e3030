// SPDX-License-Identifier: Apache-2.0
// The simulated card in this process.
#include "cosim/host/inprocess_transport.h"
#include "tests/bringup/backend.h"

namespace spyre::bringup {

std::unique_ptr<driver::Transport> OpenBackend() {
  model::CardConfig config;
  config.num_vfs = kVirtualFunctions;
  return std::make_unique<cosim::InProcessTransport>(config, cosim::HostTiming{}, nullptr);
}

}  // namespace spyre::bringup
