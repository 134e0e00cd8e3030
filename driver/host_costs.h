// SPDX-License-Identifier: Apache-2.0
// What host work costs, in simulated time. The driver and the runtime charge it through
// Transport::Advance; register accesses and interrupt latency are charged by the transport.
//
// The figures are estimates for a current server host with a VFIO user-mode driver; they are
// parameters, not measurements (docs/timing.md).
#pragma once

#include <algorithm>
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
  // Around the DMA of each copy to the host: of the call, and of the bytes. Memory beyond
  // copy_out_cold_kib of a copy is new to the process, and its pages are made while it is written.
  double copy_out_ns = 0;
  double copy_out_ns_per_kib = 0;
  double copy_out_cold_kib = 22528;
  double copy_out_cold_ns_per_kib = 0;

  double CopyOutNs(uint64_t bytes) const {
    const double kib = static_cast<double>(bytes) / 1024;
    return copy_out_ns + kib * copy_out_ns_per_kib +
           std::max(0.0, kib - copy_out_cold_kib) * copy_out_cold_ns_per_kib;
  }
};

inline uint64_t PsFromNs(double ns) { return static_cast<uint64_t>(std::llround(ns * 1000)); }

}  // namespace spyre::driver
