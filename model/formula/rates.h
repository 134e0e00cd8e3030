// SPDX-License-Identifier: Apache-2.0
// The rates of the card that terms of the closed form share. Plain data, any thread. Bytes/ns, ns.
#pragma once

#include <cstdint>

#include "parameters/card_parameters.h"

namespace spyre::model {

inline double Number(uint64_t value) { return static_cast<double>(value); }

struct Rates {
  explicit Rates(const CardParameters& card)
      : read(Number(card.fast.read_mb_per_s) / 1000),
        write(Number(card.fast.write_mb_per_s) / 1000),
        strided_read(Number(card.fast.strided_read_mb_per_s) / 1000),
        stream(Number(card.fast.stream_mb_per_s) / 1000),
        core(Number(card.fast.core_mb_per_s) / 1000),
        half_ring(Number(card.fast.half_ring_mb_per_s) / 1000),
        half_ring_reduce(Number(card.fast.half_ring_reduce_mb_per_s) / 1000),
        turnaround_ns_per_byte(Number(card.fast.turnaround_ns_per_mb) / 1e6),
        cycle_ns(1000 / Number(card.clock.core_mhz)),
        hop_ns(Number(card.ring.hop_cycles) * 1000 / Number(card.clock.ring_mhz)) {}

  // Turns of the bus between reading and writing, in traffic that has both.
  double TurnaroundNs(double read_bytes, double written_bytes) const {
    const double sum = read_bytes + written_bytes;
    return sum == 0 ? 0 : turnaround_ns_per_byte * read_bytes * written_bytes / sum;
  }

  double read, write, strided_read, stream, core, half_ring, half_ring_reduce;
  double turnaround_ns_per_byte;
  double cycle_ns, hop_ns;
};

}  // namespace spyre::model
