// SPDX-License-Identifier: Apache-2.0
// Where fused attention keeps what in LX, and the tokens between its units. Used by its plan and
// its kernel only.
#pragma once

#include <cstdint>
#include <vector>

#include "base/round_up.h"
#include "runtime/compiler/kernels/attention_kernel.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler::attention {

enum Token : uint8_t {
  kQFull = 1,  // load -> pt
  kQFree,      // pt -> load
  kKFull,      // load -> vector
  kKFree,      // vector -> load
  kVFull,      // load -> pt
  kVFree,      // pt -> load
  kKtFull,     // vector -> pt: keys are transposed
  kKtFree,     // pt -> vector
  kSFull,      // pt -> vector: scores
  kSFree,      // vector -> pt
  kPFull,      // vector -> pt: probabilities, and the output is rescaled
  kOReady,     // pt -> vector: a tile has been added to the output
  kOutFull,    // vector -> store
  kOutFree,    // store -> vector
};

inline constexpr int kTwo = 2;  // buffers that are used in turn
inline constexpr int64_t kFp32 = 4;

// Where everything is in LX.
struct Places {
  Buffers q, k, v, kt, scores, p, out;
  int64_t sums = 0;              // fp32 sums of the output
  int64_t most = 0, before = 0;  // fp32 of each row: largest score, and that of the tiles before
  int64_t total = 0;             // fp32 of each row: sum of exponentials
  int64_t sticks = 0;            // a stick of each row, for numbers that serve all lanes
  uint64_t end = 0;
  std::vector<LxUse> uses;
};

Places Place(const AttentionSpec& spec, const AttentionPlan& plan);

}  // namespace spyre::compiler::attention
