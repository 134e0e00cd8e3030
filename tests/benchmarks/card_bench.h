// SPDX-License-Identifier: Apache-2.0
// The card that benchmarks share: SystemC has one kernel a process.
#pragma once

#include "cosim/host/inprocess_transport.h"
#include "runtime/flex/runtime_context.h"

namespace spyre {

struct Bench {
  cosim::InProcessTransport transport{Card(), {}, nullptr};
  flex::RuntimeContext context;
  Bench() : context(transport, 0, Options()) {}
  // 24 GiB, of which ECC takes 16, can be reserved under callgrind too. Times do not depend on the
  // size.
  static model::CardConfig Card() {
    model::CardConfig card;
    card.memory.capacity_gib = 24;
    return card;
  }
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
