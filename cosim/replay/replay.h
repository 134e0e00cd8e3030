// SPDX-License-Identifier: Apache-2.0
// Replays a recording on another card, without the application: the same accesses in the same
// order, each as soon as what the host had seen by then is there. Reports the first thing that a
// host could see and that is not as recorded.
//
// The two cards may differ in their times. So an access that had to wait for the card waits again,
// as long as it takes; a host that polled polls as often as needed; times are not compared
// (docs/replay.md). Single thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cosim/host/observable_transport.h"
#include "cosim/replay/recording.h"

namespace spyre::cosim {

struct FieldDifference {
  std::string name;
  std::string recorded, replayed;
};

struct Divergence {
  uint64_t index = 0;                         // of the record, from 0
  std::string access;                         // what was done
  std::string recorded, replayed;             // what it gave
  uint64_t recorded_ps = 0, replayed_ps = 0;  // when
  std::vector<FieldDifference> fields;        // of a response
  std::string waits;                          // who waits on what, if something did not come
};

struct ReplayResult {
  // Of the recording, as far as it was replayed.
  uint64_t records = 0, accesses = 0, interrupts = 0, responses = 0, output_bytes = 0;
  uint64_t recorded_ps = 0, replayed_ps = 0;  // simulated time of both sides by then
  std::optional<Divergence> divergence;
};

struct ReplayOptions {
  bool in_order = true;  // the card is to complete the operations of a function in their order
  uint64_t patience_ps = 1'000'000'000'000;  // simulated time after which a response does not come
};

// `transport`: a card that has not been used. Host memory is mapped where it was for the recorded
// one. Errors: those of the transport.
ReplayResult Replay(const Recording& recording, ObservableTransport& transport,
                    const ReplayOptions& options = {});

}  // namespace spyre::cosim
