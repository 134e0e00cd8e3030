// SPDX-License-Identifier: Apache-2.0
#include "model/common/matmul_stacker.h"

#include <algorithm>

#include "model/contract/memory_map.h"

namespace spyre::model {

namespace {
constexpr uint64_t kLanes = 64;  // of a stick
constexpr uint64_t kAccStickBytes = 256;
constexpr uint64_t kPieceBytes = kPtPieceSteps * kStickBytes;
constexpr int64_t kHelpedMacs = 1 << 17;  // below, waking a thread takes longer

uint64_t CeilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

LxRange Columns(const uint8_t* at, uint64_t count, uint64_t stride, uint64_t bytes) {
  return {const_cast<uint8_t*>(at), count == 0 ? 0 : (count - 1) * stride + bytes};
}
LxRange AccOf(const PtOperands& o) {
  return Columns(o.acc, o.n / kLanes, o.acc_nstick_stride, o.m * kAccStickBytes);
}
LxRange RowsOf(const PtOperands& o) {
  return Columns(o.a, CeilDiv(o.k, kLanes), o.a_kstick_stride, o.m * kStickBytes);
}
LxRange WeightsOf(const PtOperands& o) {
  return Columns(o.b, o.k == 0 ? 0 : o.n / kLanes, o.b_nstick_stride, o.k * kStickBytes);
}

// Calls piece(address, bytes) for every piece of the weights, in the order of PtStack.
template <typename Fn>
void ForEachPiece(const PtOperands& o, Fn piece) {
  const uint64_t stick_bytes = o.k * kStickBytes;
  for (uint64_t stick = 0; stick < o.n / kLanes; ++stick) {
    const uint8_t* const column = o.b + stick * o.b_nstick_stride;
    for (uint64_t at = 0; at < stick_bytes; at += kPieceBytes)
      piece(column + at, std::min(kPieceBytes, stick_bytes - at));
  }
}
}  // namespace

MatmulStacker::MatmulStacker(LxSnapshots& snapshots, bool helper)
    : snapshots_(snapshots), helper_(helper ? std::make_unique<HelperThread>() : nullptr) {}

void MatmulStacker::Add(const PtOperands& o, PtStackFn kernel) {
  const Waiting matmul{next_id_, AccOf(o), RowsOf(o)};
  const LxRange weights = WeightsOf(o);
  const bool apart = !matmul.acc.Overlaps(matmul.a) && !matmul.acc.Overlaps(weights);
  const int lx = snapshots_.LxOf(o.acc);
  if (!apart || lx == LxSnapshots::kNoLx || snapshots_.LxOf(o.a) != lx || !FindWeights(o)) {
    for (const LxRange& range : {matmul.acc, matmul.a, weights}) {
      Before(range);
      snapshots_.Settle(range);
    }
    weights_.clear();
    ForEachPiece(o, [&](const uint8_t* at, uint64_t) { weights_.push_back(at); });
    rows_.clear();
    AddRows(o, rows_);
    Run(kernel, {rows_.data(), weights_.data(), static_cast<int>(o.n), static_cast<int>(o.k)},
        static_cast<int>(o.m), apart);
    return;
  }
  Stack* stack = FindStack(o, kernel, matmul, lx);
  if (stack == nullptr) stack = &NewStack(o, kernel);
  // The stack holds the weights by now, also where the rows are the same bytes.
  snapshots_.Settle(matmul.acc);
  snapshots_.Settle(matmul.a);
  AddRows(o, stack->rows);
  stack->lxs.push_back(lx);
  lxs_.resize(snapshots_.count());
  lxs_[static_cast<size_t>(lx)].push_back({stack->id, matmul.acc, matmul.a});
  if (stack->lxs.size() >= stack->complete) RunThrough(stack->id);
}

MatmulStacker::Stack& MatmulStacker::NewStack(const PtOperands& o, PtStackFn kernel) {
  if (stacks_.size() == kStacks) RunThrough(stacks_.front().id);
  if (spare_.empty()) spare_.emplace_back();
  Stack& stack = stacks_.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  stack.id = next_id_++;
  stack.kernel = kernel;
  stack.n = static_cast<int>(o.n);
  stack.k = static_cast<int>(o.k);
  stack.weights = weights_;
  stack.snapshots = held_;
  stack.complete = held_.front()->members;
  for (LxSnapshots::Snapshot* snapshot : held_) LxSnapshots::Hold(snapshot);
  return stack;
}

// Whether every piece of the weights lies in a snapshot; weights_ and held_ then say where.
bool MatmulStacker::FindWeights(const PtOperands& o) {
  weights_.clear();
  held_.clear();
  bool found = o.k > 0;
  ForEachPiece(o, [&](const uint8_t* at, uint64_t bytes) {
    if (!found) return;
    const LxSnapshots::Place place = snapshots_.Find(at, bytes);
    found = place.snapshot != nullptr;
    weights_.push_back(place.at);
    held_.push_back(place.snapshot);
  });
  return found;
}

// The stack with the same weights, if the matmul may run there: before those behind it.
MatmulStacker::Stack* MatmulStacker::FindStack(const PtOperands& o, PtStackFn kernel,
                                               const Waiting& matmul, int lx) {
  uint64_t not_before = 0;  // the last stack that the matmul must come behind
  if (static_cast<size_t>(lx) < lxs_.size()) {
    for (const Waiting& other : lxs_[static_cast<size_t>(lx)]) {
      if (matmul.acc.Overlaps(other.acc) || matmul.acc.Overlaps(other.a) ||
          matmul.a.Overlaps(other.acc))
        not_before = std::max(not_before, other.stack);
    }
  }
  for (Stack& stack : stacks_) {
    if (stack.id > not_before && stack.kernel == kernel && stack.n == static_cast<int>(o.n) &&
        stack.k == static_cast<int>(o.k) && stack.weights == weights_)
      return &stack;
  }
  return nullptr;
}

void MatmulStacker::Before(const LxRange& range) {
  if (stacks_.empty()) return;
  const int lx = snapshots_.LxOf(range.at);
  if (lx == LxSnapshots::kNoLx || static_cast<size_t>(lx) >= lxs_.size()) return;
  uint64_t last = 0;
  for (const Waiting& matmul : lxs_[static_cast<size_t>(lx)]) {
    if (matmul.acc.Overlaps(range) || matmul.a.Overlaps(range)) last = std::max(last, matmul.stack);
  }
  if (last != 0) RunThrough(last);
}

void MatmulStacker::RunAll() {
  if (!stacks_.empty()) RunThrough(stacks_.back().id);
}

void MatmulStacker::RunThrough(uint64_t id) {
  while (!stacks_.empty() && stacks_.front().id <= id) {
    Stack& stack = stacks_.front();
    Run(stack.kernel, {stack.rows.data(), stack.weights.data(), stack.n, stack.k},
        static_cast<int>(stack.rows.size()), true);
    for (LxSnapshots::Snapshot* snapshot : stack.snapshots) snapshots_.Release(snapshot);
    for (const int lx : stack.lxs) {
      auto& waiting = lxs_[static_cast<size_t>(lx)];
      const auto done = [&](const Waiting& matmul) { return matmul.stack == stack.id; };
      waiting.erase(std::remove_if(waiting.begin(), waiting.end(), done), waiting.end());
    }
    stack.rows.clear();
    stack.lxs.clear();
    spare_.push_back(std::move(stack));
    stacks_.pop_front();
  }
}

// The helper takes half of the rows, or of the columns where there are more of those: what is
// widened twice is the smaller part.
void MatmulStacker::Run(PtStackFn kernel, const PtStack& stack, int rows, bool divisible) {
  const PtPart all{0, rows, 0, stack.n / static_cast<int>(kLanes)};
  const int64_t macs = int64_t{rows} * stack.n * stack.k;
  if (helper_ == nullptr || !divisible || macs < kHelpedMacs) {
    kernel(stack, all);
    return;
  }
  PtPart own = all, other = all;
  if (rows >= stack.n || all.last_stick < 2) {
    own.last_row = other.first_row = rows / 2;
  } else {
    own.last_stick = other.first_stick = all.last_stick / 2;
  }
  helper_->Start([&] { kernel(stack, other); });
  kernel(stack, own);
  helper_->Wait();
}

void MatmulStacker::AddRows(const PtOperands& o, std::vector<PtRow>& rows) {
  for (uint64_t i = 0; i < o.m; ++i) {
    rows.push_back({o.acc + i * kAccStickBytes, o.a + i * kStickBytes,
                    static_cast<int64_t>(o.a_kstick_stride),
                    static_cast<int64_t>(o.acc_nstick_stride), o.accumulate});
  }
}

}  // namespace spyre::model
