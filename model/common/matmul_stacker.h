// SPDX-License-Identifier: Apache-2.0
// Puts matmuls off whose weights came by multicast, until those of the other cores with the same
// weights are there, and a few of them that add to the same sums: then weights are widened once for
// all rows, and sums come from memory once for several matmuls. A matmul is put off only as long as
// nothing else touches its sums, so that data are those of the order of issue.
//
// FunctionalQueue owns it, and calls it in the order of work on the thread that does the work. A
// helper thread takes half of every large product, if there is one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "model/common/helper_thread.h"
#include "model/common/lx_snapshots.h"
#include "model/common/pt_narrow.h"
#include "model/common/pt_stack.h"

namespace spyre::model {

class MatmulStacker {
 public:
  static constexpr size_t kFused = 4;  // stacks that meet the same sums in one go

  MatmulStacker(LxSnapshots& snapshots, bool helper);

  // Does the matmul, now or later.
  void Add(const PtOperands& operands, const PtKernel& kernel);
  // Does what has been put off and adds to sums in `range`, and all that was there before that.
  void Before(const LxRange& range);
  void RunAll();

 private:
  struct Matmul {
    LxRange acc;
    int lx;
    uint64_t m;
    int64_t acc_nstick_stride;
    bool accumulate;
    size_t a_at;  // where its rows begin in Stack::a
  };
  // Matmuls with the same weights.
  struct Stack {
    uint64_t id = 0;  // increases in the order in which stacks run
    const PtKernel* kernel = nullptr;
    uint64_t n = 0, k = 0;
    std::vector<const uint8_t*> weights;            // [n / 64][pieces of k]
    std::vector<LxSnapshots::Snapshot*> snapshots;  // held: of every piece
    std::vector<Matmul> matmuls;
    std::vector<float> a;  // of each matmul: [chunk][row][kPtChunkSteps]
    size_t complete = 0;   // matmuls when all members of the multicast are there
  };
  // Sums that a stack will add to, in the list of their LX.
  struct Waiting {
    uint64_t stack;
    LxRange acc;
  };
  static constexpr size_t kStacks = 2 * kFused;  // that may wait

  static void FindPieces(const PtOperands& operands, std::vector<const uint8_t*>& pieces);
  bool FindSnapshots(const PtOperands& operands);
  Stack* FindStack(const PtOperands& operands, const PtKernel& kernel, const LxRange& acc, int lx);
  Stack& NewStack(const PtOperands& operands, const PtKernel& kernel);
  static void Append(const PtOperands& operands, const LxRange& acc, int lx, Stack& stack);
  void RunThrough(uint64_t id);
  // Whether all rows of `next` go on with sums of `stack`. Both are in order of their sums.
  static bool GoesOn(const Stack& stack, const Stack& next);
  // Stacks that go on with each other's sums. divisible: sums overlap no operand, so that the
  // order of parts does not matter.
  void Run(const Stack* const* stacks, size_t count, bool divisible);
  void Free(Stack& stack);

  LxSnapshots& snapshots_;
  std::unique_ptr<HelperThread> helper_;
  std::deque<Stack> stacks_;               // that wait, in order
  std::vector<std::vector<Waiting>> lxs_;  // by LX
  std::vector<Stack> spare_;               // their vectors keep their memory
  Stack single_;                           // what cannot be put off
  uint64_t next_id_ = 1;
  // Scratch for the matmul at hand.
  std::vector<const uint8_t*> weights_;
  std::vector<LxSnapshots::Snapshot*> held_;
  // Scratch for the product at hand.
  std::vector<PtRow> rows_;
  std::vector<PtChunk> chunks_;
  std::vector<const float*> a_;
};

}  // namespace spyre::model
