// SPDX-License-Identifier: Apache-2.0
// The RTL of a corelet's PT array (pt/pt_array.sv) as a C++ object that does MATMULs on SEN169_FP16
// operands and counts cycles. The sums are the bits of PtMatmulScalar (model/core/pt_kernel.h);
// every NaN is 7FC00000. No SystemC; one thread at a time, which may change between calls. Nothing
// runs between calls. MakeRtlPtArray (rtl_blocks.h) makes one.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/pt_narrow.h"

namespace spyre::model {

class Waves;

// What one corelet does of a MATMUL: `rows` rows from `row` on, in `sticks` sticks of columns,
// every stick_step-th from `stick` on. Corelets take whole sticks in turn; where fewer sticks than
// corelets are left, several share a stick by rows.
struct PtShare {
  uint64_t stick, stick_step, sticks;
  uint64_t row, rows;
};

// How the corelets share a MATMUL: a flag of kMatmulCorelets, or 0. With a flag a block is loaded
// when the array is free; split_load_cycles, where each corelet has a block of its own.
struct PtSharing {
  uint8_t flag = 0;
  uint64_t split_load_cycles = 0;
};

// In order of work; sticks are those of n / 64 columns. Corelet 0 has the most.
std::vector<PtShare> PtShares(uint64_t m, uint64_t n, uint64_t corelets, uint64_t corelet,
                              uint8_t flag = 0);
// Cycles from one block of weights to the next, beside those of its rows: of a share whose corelets
// have `stick_step` different blocks.
uint64_t PtLoadCycles(const PtShare& share, const PtSharing& sharing);

// Cycles of a MATMUL that finds the arrays idle and never waits for LX.
uint64_t PtArrayCycles(uint64_t m, uint64_t n, uint64_t k, uint64_t corelets,
                       const PtSharing& sharing = {});

class RtlPtArray {
 public:
  RtlPtArray() = default;
  virtual ~RtlPtArray() = default;
  RtlPtArray(const RtlPtArray&) = delete;
  RtlPtArray& operator=(const RtlPtArray&) = delete;

  // acc (+)= a * b, extents below 2^32, as by `corelets` arrays: their shares one after the other.
  // Returns the cycles of the longest share, from an idle array to the last sum written. start_ps:
  // when it starts, for the waves. Throws nothing, since it may run on a worker thread: see Check.
  virtual uint64_t Run(const PtOperands& operands, uint64_t corelets, const PtSharing& sharing,
                       uint64_t start_ps) noexcept = 0;
  // Throws what was wrong with the first Run that failed: Error(kDeviceFault) if it did not take
  // PtArrayCycles, which are what the timed model prices; Error(kBadInput) if waves could not be
  // written. Runs after that do nothing.
  virtual void Check() const = 0;

  // A declared fault: in the next Run a bit of a weight changes; `seed` chooses cycle and
  // bit.
  virtual void FlipBit(uint64_t seed) noexcept = 0;

  // Clock cycles so far.
  virtual uint64_t cycles() const = 0;
  // Dumps both edges of every clock from now on, from the start of a MATMUL or, if that is not over
  // yet, behind the one before. Once; `waves` must outlive the array.
  virtual void SetWaves(Waves* waves, uint64_t period_ps) = 0;
};

}  // namespace spyre::model
