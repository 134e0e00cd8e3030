// SPDX-License-Identifier: Apache-2.0
// Puts off matmuls whose weights came by multicast, until those of the other cores with the same
// weights are there: then the weights are widened once for all, and stay in the cache. A matmul is
// put off only as long as nothing else touches its rows or its sums, so that data are those of the
// order of issue.
//
// FunctionalQueue owns it, and calls it in the order of work on the thread that does the work.
// `helper` takes half of every large stack, if there is one.
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
  MatmulStacker(LxSnapshots& snapshots, bool helper);

  // Does the matmul, now or later.
  void Add(const PtOperands& operands, PtStackFn kernel);
  // Does what has been put off and touches `range`, and all that was there before that.
  void Before(const LxRange& range);
  void RunAll();

 private:
  struct Stack {
    uint64_t id = 0;  // increases in the order in which stacks run
    PtStackFn kernel = nullptr;
    int n = 0, k = 0;
    std::vector<const uint8_t*> weights;            // as in PtStack
    std::vector<LxSnapshots::Snapshot*> snapshots;  // held: of every piece
    std::vector<PtRow> rows;
    std::vector<int> lxs;  // of its matmuls
    size_t complete = 0;   // matmuls when all members of the multicast are there
  };
  // A matmul that has been put off, in the list of its LX.
  struct Waiting {
    uint64_t stack;
    LxRange acc, a;
  };
  static constexpr size_t kStacks = 4;  // that may wait: one finds few more rows after that long

  bool FindWeights(const PtOperands& o);
  Stack* FindStack(const PtOperands& o, PtStackFn kernel, const Waiting& matmul, int lx);
  void RunThrough(uint64_t id);
  Stack& NewStack(const PtOperands& o, PtStackFn kernel);
  // divisible: sums overlap no operand, so that the order of parts does not matter.
  void Run(PtStackFn kernel, const PtStack& stack, int rows, bool divisible);
  static void AddRows(const PtOperands& o, std::vector<PtRow>& rows);

  LxSnapshots& snapshots_;
  std::unique_ptr<HelperThread> helper_;
  std::deque<Stack> stacks_;               // that wait, in order
  std::vector<std::vector<Waiting>> lxs_;  // by LX
  std::vector<Stack> spare_;               // their vectors keep their memory
  uint64_t next_id_ = 1;
  // Of the matmul at hand.
  std::vector<const uint8_t*> weights_;
  std::vector<LxSnapshots::Snapshot*> held_;
  std::vector<PtRow> rows_;
};

}  // namespace spyre::model
