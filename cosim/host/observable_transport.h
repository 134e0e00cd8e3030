// SPDX-License-Identifier: Apache-2.0
// A transport that also tells when the card writes host memory: what recording and replay need to
// know what came from the card, and when.
//
// Threads: the observer is called from inside another call of the transport, on its thread, after
// the bytes are in host memory. It must not call the transport.
#pragma once

#include <functional>
#include <utility>

#include "driver/transport.h"

namespace spyre::cosim {

// The card has written `bytes` bytes of host memory at the function's IO address.
using HostWriteObserver =
    std::function<void(driver::FunctionId function, driver::IoAddress address, uint64_t bytes)>;

class ObservableTransport : public driver::Transport {
 public:
  // An empty observer ends the observation.
  virtual void ObserveHostWrites(HostWriteObserver observer) = 0;
  // As MapHost, at an address that the caller chooses; it must not lie over another mapping of the
  // function.
  virtual void MapHostAt(driver::FunctionId function, driver::IoAddress address, void* host,
                         size_t size) = 0;
};

}  // namespace spyre::cosim
