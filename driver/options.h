// SPDX-License-Identifier: Apache-2.0
// How one function of the card is driven: ring sizes, completion, timeouts, host costs. Plain data.
#pragma once

#include <cstdint>

#include "driver/host_costs.h"
#include "traces/recording/recorder.h"

namespace spyre::driver {

struct DeviceOptions {
  uint32_t submission_entries = 256;  // a power of two, 2 to 65536
  uint32_t response_entries = 256;    // a power of two, 2 to 65536
  bool interrupts = true;             // wait for the response MSI; false: poll the response ring
  double poll_interval_ns = 200;      // polled: simulated time between two looks at the ring
  double timeout_ns = 10e9;           // no response for this long while one is due: device fault
  double look_interval_ns = 1e6;      // interrupts: the ring is looked at this often while waiting,
                                      // so that a lost interrupt costs no more
  double torn_wait_ns = 1e6;          // a response whose CRC does not match is read again for this
                                      // long: its second half may be under way
  double reset_wait_ns = 100e6;       // after FLR and after VF enable: 100 ms (PCIe base spec)
  double firmware_wait_ns = 1e9;      // for READY after power-on or reset, and for an answer of the
                                      // management controller, which may clear memory first
  HostCosts costs;
  trace::Recorder* recorder = nullptr;  // not owned; host slices go to process "host"
};

}  // namespace spyre::driver
