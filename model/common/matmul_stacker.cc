// SPDX-License-Identifier: Apache-2.0
#include "model/common/matmul_stacker.h"

#include <algorithm>

#include "base/round_up.h"
#include "model/contract/memory_map.h"

namespace spyre::model {

namespace {
constexpr uint64_t kLanes = 64;  // of a stick
constexpr uint64_t kAccStickBytes = 256;
constexpr uint64_t kPieceBytes = kPtPieceSteps * kStickBytes;
constexpr uint64_t kHelpedMacs = 1 << 17;  // below, waking a thread takes longer

LxRange Columns(const uint8_t* at, uint64_t count, uint64_t stride, uint64_t bytes) {
  return {const_cast<uint8_t*>(at), count == 0 ? 0 : (count - 1) * stride + bytes};
}
LxRange AccOf(const PtOperands& operands) {
  return Columns(operands.acc, operands.n / kLanes, operands.acc_nstick_stride,
                 operands.m * kAccStickBytes);
}
LxRange RowsOf(const PtOperands& operands) {
  return Columns(operands.a, CeilDiv(operands.k, kPtChunkSteps), operands.a_kstick_stride,
                 operands.m * kStickBytes);
}
LxRange WeightsOf(const PtOperands& operands) {
  return Columns(operands.b, operands.k == 0 ? 0 : operands.n / kLanes, operands.b_nstick_stride,
                 operands.k * kStickBytes);
}

// Calls piece(address, bytes) for every piece of the weights, in the order of Stack::weights.
template <typename Fn>
void ForEachPiece(const PtOperands& operands, Fn piece) {
  const uint64_t stick_bytes = operands.k * kStickBytes;
  for (uint64_t stick = 0; stick < operands.n / kLanes; ++stick) {
    const uint8_t* const column = operands.b + stick * operands.b_nstick_stride;
    for (uint64_t at = 0; at < stick_bytes; at += kPieceBytes)
      piece(column + at, std::min(kPieceBytes, stick_bytes - at));
  }
}
}  // namespace

MatmulStacker::MatmulStacker(LxSnapshots& snapshots, bool helper)
    : snapshots_(snapshots), helper_(helper ? std::make_unique<HelperThread>() : nullptr) {}

void MatmulStacker::Add(const PtOperands& operands, const PtKernel& kernel) {
  const LxRange acc = AccOf(operands), rows = RowsOf(operands), weights = WeightsOf(operands);
  const bool apart = !acc.Overlaps(rows) && !acc.Overlaps(weights);
  const int lx = snapshots_.LxOf(operands.acc);
  // Rows are read now, so only those that put off their sums there are in the way.
  Before(rows);
  snapshots_.Settle(rows);
  if (!apart || lx == LxSnapshots::kNoLx || !FindSnapshots(operands)) {
    for (const LxRange& range : {acc, weights}) {
      Before(range);
      snapshots_.Settle(range);
    }
    single_.kernel = &kernel;
    single_.n = operands.n;
    single_.k = operands.k;
    single_.weights.clear();
    ForEachPiece(operands, [&](const uint8_t* at, uint64_t) { single_.weights.push_back(at); });
    Append(operands, acc, lx, single_);
    const Stack* const stack = &single_;
    Run(&stack, 1, apart);
    single_.matmuls.clear();
    single_.a.clear();
    return;
  }
  Stack* stack = FindStack(operands, kernel, acc, lx);
  if (stack == nullptr) stack = &NewStack(operands, kernel);
  snapshots_.Settle(acc);
  Append(operands, acc, lx, *stack);
  lxs_.resize(snapshots_.count());
  lxs_[static_cast<size_t>(lx)].push_back({stack->id, acc});
  const uint64_t before = stack->id - stacks_.front().id;
  if (stack->matmuls.size() >= stack->complete && before + 1 >= kFused) RunThrough(stack->id);
}

// Whether every piece of the weights lies in a snapshot; weights_ and held_ then say where.
bool MatmulStacker::FindSnapshots(const PtOperands& operands) {
  weights_.clear();
  held_.clear();
  bool found = operands.k > 0;
  ForEachPiece(operands, [&](const uint8_t* at, uint64_t bytes) {
    if (!found) return;
    const LxSnapshots::Place place = snapshots_.Find(at, bytes);
    found = place.snapshot != nullptr;
    weights_.push_back(place.at);
    held_.push_back(place.snapshot);
  });
  return found;
}

// The stack with the same weights, if the matmul may run there: behind all that add to its sums.
MatmulStacker::Stack* MatmulStacker::FindStack(const PtOperands& operands, const PtKernel& kernel,
                                               const LxRange& acc, int lx) {
  uint64_t behind = 0;
  if (static_cast<size_t>(lx) < lxs_.size()) {
    for (const Waiting& other : lxs_[static_cast<size_t>(lx)]) {
      if (acc.Overlaps(other.acc)) behind = std::max(behind, other.stack);
    }
  }
  for (Stack& stack : stacks_) {
    if (stack.id > behind && stack.kernel == &kernel && stack.n == operands.n &&
        stack.k == operands.k && stack.weights == weights_)
      return &stack;
  }
  return nullptr;
}

MatmulStacker::Stack& MatmulStacker::NewStack(const PtOperands& operands, const PtKernel& kernel) {
  if (stacks_.size() == kStacks) RunThrough(stacks_[kFused - 1].id);
  if (spare_.empty()) spare_.emplace_back();
  Stack& stack = stacks_.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  stack.id = next_id_++;
  stack.kernel = &kernel;
  stack.n = operands.n;
  stack.k = operands.k;
  stack.weights = weights_;
  stack.snapshots = held_;
  stack.complete = held_.front()->members;
  for (LxSnapshots::Snapshot* snapshot : held_) LxSnapshots::Hold(snapshot);
  return stack;
}

void MatmulStacker::Append(const PtOperands& operands, const LxRange& acc, int lx, Stack& stack) {
  const uint64_t chunks = CeilDiv(operands.k, kPtChunkSteps);
  const size_t at = stack.a.size();
  stack.a.resize(at + chunks * operands.m * kPtChunkSteps);
  float* out = stack.a.data() + at;
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    for (uint64_t i = 0; i < operands.m; ++i, out += kPtChunkSteps)
      stack.kernel->widen(operands.a + chunk * operands.a_kstick_stride + i * kStickBytes, out);
  }
  stack.matmuls.push_back({acc, lx, operands.m, static_cast<int64_t>(operands.acc_nstick_stride),
                           operands.accumulate, at});
}

void MatmulStacker::Before(const LxRange& range) {
  if (stacks_.empty()) return;
  const int lx = snapshots_.LxOf(range.at);
  if (lx == LxSnapshots::kNoLx || static_cast<size_t>(lx) >= lxs_.size()) return;
  uint64_t last = 0;
  for (const Waiting& matmul : lxs_[static_cast<size_t>(lx)]) {
    if (matmul.acc.Overlaps(range)) last = std::max(last, matmul.stack);
  }
  if (last != 0) RunThrough(last);
}

void MatmulStacker::RunAll() {
  if (!stacks_.empty()) RunThrough(stacks_.back().id);
}

void MatmulStacker::RunThrough(uint64_t id) {
  while (!stacks_.empty() && stacks_.front().id <= id) {
    const Stack* together[kFused];
    size_t count = 0;
    for (Stack& stack : stacks_) {
      std::sort(stack.matmuls.begin(), stack.matmuls.end(),
                [](const Matmul& a, const Matmul& b) { return a.acc.at < b.acc.at; });
      if (stack.id > id || count == kFused || (count > 0 && !GoesOn(*together[0], stack))) break;
      together[count++] = &stack;
    }
    Run(together, count, true);
    for (; count > 0; --count) {
      Free(stacks_.front());
      spare_.push_back(std::move(stacks_.front()));
      stacks_.pop_front();
    }
  }
}

bool MatmulStacker::GoesOn(const Stack& stack, const Stack& next) {
  return stack.kernel == next.kernel && stack.n == next.n &&
         std::equal(stack.matmuls.begin(), stack.matmuls.end(), next.matmuls.begin(),
                    next.matmuls.end(), [](const Matmul& a, const Matmul& b) {
                      return b.accumulate && a.acc.at == b.acc.at && a.m == b.m &&
                             a.acc_nstick_stride == b.acc_nstick_stride;
                    });
}

void MatmulStacker::Run(const Stack* const* stacks, size_t count, bool divisible) {
  const Stack& first = *stacks[0];
  rows_.clear();
  for (const Matmul& matmul : first.matmuls) {
    for (uint64_t i = 0; i < matmul.m; ++i) {
      rows_.push_back(
          {matmul.acc.at + i * kAccStickBytes, matmul.acc_nstick_stride, matmul.accumulate});
    }
  }
  chunks_.clear();
  a_.clear();
  uint64_t steps = 0;
  for (size_t s = 0; s < count; ++s) {
    const Stack& stack = *stacks[s];
    const auto pieces = static_cast<int>(CeilDiv(stack.k, kPtPieceSteps));
    for (uint64_t k = 0; k < stack.k; k += kPtChunkSteps) {
      for (const Matmul& matmul : stack.matmuls) {
        const float* a = stack.a.data() + matmul.a_at + k * matmul.m;
        for (uint64_t i = 0; i < matmul.m; ++i, a += kPtChunkSteps) a_.push_back(a);
      }
      chunks_.push_back({nullptr, stack.weights.data() + k / kPtPieceSteps, pieces,
                         static_cast<int>(std::min<uint64_t>(kPtChunkSteps, stack.k - k))});
    }
    steps += stack.k;
  }
  for (size_t c = 0; c < chunks_.size(); ++c) chunks_[c].a = a_.data() + c * rows_.size();

  const PtStack stack{rows_.data(), chunks_.data(), static_cast<int>(chunks_.size())};
  const PtPart all{0, static_cast<int>(rows_.size()), 0, static_cast<int>(first.n / kLanes)};
  if (helper_ == nullptr || !divisible || rows_.size() * first.n * steps < kHelpedMacs)
    return first.kernel->multiply(stack, all);
  PtPart own = all, other = all;
  // Weights are widened by both if rows are divided, so not where rows are few.
  if (rows_.size() >= kLanes || all.last_stick < 2) {
    own.last_row = other.first_row = all.last_row / 2;
  } else {
    own.last_stick = other.first_stick = all.last_stick / 2;
  }
  helper_->Start([&] { first.kernel->multiply(stack, other); });
  first.kernel->multiply(stack, own);
  helper_->Wait();
}

void MatmulStacker::Free(Stack& stack) {
  for (LxSnapshots::Snapshot* snapshot : stack.snapshots) snapshots_.Release(snapshot);
  for (const Matmul& matmul : stack.matmuls) {
    auto& waiting = lxs_[static_cast<size_t>(matmul.lx)];
    const auto done = [&](const Waiting& other) { return other.stack == stack.id; };
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(), done), waiting.end());
  }
  stack.matmuls.clear();
  stack.a.clear();
}

}  // namespace spyre::model
