// SPDX-License-Identifier: Apache-2.0
// The card that benchmarks share: SystemC has one kernel a process.
#pragma once

#include "cosim/host/inprocess_transport.h"
#include "runtime/flex/runtime_context.h"

namespace spyre {

struct Bench {
  cosim::InProcessTransport transport{model::CardConfig{}, {}, nullptr};
  flex::RuntimeContext context;
  Bench() : context(transport, 0, Options()) {}
  static flex::RuntimeOptions Options() {
    flex::RuntimeOptions options;
    options.keep_completed = false;
    return options;
  }
  static Bench& Get() {
    static Bench bench;
    return bench;
  }
};

}  // namespace spyre
