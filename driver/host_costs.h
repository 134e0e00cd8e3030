// SPDX-License-Identifier: Apache-2.0
// What host work costs, in simulated time. The driver and the runtime charge it through
// Transport::Advance; register accesses and interrupt latency are charged by the transport.
//
// The figures are estimates for a current server host with a VFIO user-mode driver; they are
// parameters, not measurements (docs/timing.md).
#pragma once

#include <cmath>
#include <cstdint>

namespace spyre::driver {

struct HostCosts {
  double submit_ns = 150;             // building, sealing and storing one queue entry
  double completion_ns = 100;         // reading and checking one response
  double map_ns = 300;                // making a host buffer reachable, and again undoing it
  double convert_bytes_per_ns = 8;    // conversion between host order and stick order
  double convert_ns_per_kib = 0;      // of it, what the front end adds
  double operation_ns = 2000;         // of what the host computes itself: each operation
  double operation_bytes_per_ns = 4;  // and what it reads and writes
  // Stages around a launch: the front end's own work, the runtime's, and coming back to a caller
  // who waits for a stream.
  double dispatch_ns = 0;
  double launch_ns = 0;
  double synchronise_ns = 0;
};

inline uint64_t PsFromNs(double ns) { return static_cast<uint64_t>(std::llround(ns * 1000)); }

}  // namespace spyre::driver
