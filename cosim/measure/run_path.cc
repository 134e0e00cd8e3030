// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/run_path.h"

#include <algorithm>
#include <unordered_set>

#include "traces/intervals.h"

namespace spyre::cosim {
namespace {

using flex::CompletedOperation;
using trace::Cause;
using trace::PathTimes;

bool HasEngine(Opcode opcode) {
  return opcode == Opcode::COMPUTE || opcode == Opcode::DMA_IN || opcode == Opcode::DMA_OUT ||
         opcode == Opcode::DMA_FILL;
}

// Walks back. The cursor is the time that remains to be explained.
class Walk {
 public:
  Walk(const RunPathInput& input, uint64_t begin_ps) : input_(input), begin_ps_(begin_ps) {
    for (const CompletedOperation& operation : input.operations) {
      if (!operation.executed || operation.finished_ps < begin_ps) continue;
      by_finish_.push_back(&operation);
      by_post_.push_back(&operation);
    }
    std::stable_sort(by_finish_.begin(), by_finish_.end(), FinishesEarlier);
    std::stable_sort(by_post_.begin(), by_post_.end(),
                     [](const auto* a, const auto* b) { return a->posted_ps < b->posted_ps; });
  }

  PathTimes Follow() {
    if (by_finish_.empty()) return {};
    const CompletedOperation* operation = by_finish_.back();
    cursor_ = operation->finished_ps;
    // Every round goes to an operation that finished no later, and to each one once.
    while (operation != nullptr && cursor_ > begin_ps_) operation = Before(*operation);
    Spend(begin_ps_, Cause::kHost);
    return path_;
  }

 private:
  static bool FinishesEarlier(const CompletedOperation* a, const CompletedOperation* b) {
    return a->finished_ps < b->finished_ps;
  }

  void Spend(uint64_t from_ps, Cause cause) {
    from_ps = std::max(from_ps, begin_ps_);
    if (from_ps >= cursor_) return;
    path_[static_cast<size_t>(cause)] += cursor_ - from_ps;
    cursor_ = from_ps;
  }
  void SpendFor(uint64_t ps, Cause cause) { Spend(cursor_ - std::min(ps, cursor_), cause); }

  // Explains the operation and what held it up; null: up to the beginning.
  const CompletedOperation* Before(const CompletedOperation& operation) {
    met_.insert(&operation);
    // A wait or a signal does no work of its own: its time is that of what it waited for.
    if (!HasEngine(operation.opcode)) {
      const CompletedOperation* const last = LastFinished(cursor_);
      if (last != nullptr && last->finished_ps > operation.started_ps) {
        Spend(last->finished_ps, Cause::kControl);
        return last;
      }
    }
    SpendOnCard(operation);
    const uint64_t started_ps = cursor_;
    if (HasEngine(operation.opcode)) SpendFor(input_.costs.dispatch_ps, Cause::kControl);
    const CompletedOperation* const last = LastFinished(cursor_);
    if (last != nullptr && last->finished_ps >= operation.fetched_ps) {
      Spend(last->finished_ps, Cause::kControl);
      return last;
    }
    Spend(operation.fetched_ps, Cause::kControl);
    const uint64_t fetch_ps = cursor_ - std::min(cursor_, operation.queued_ps);
    const uint64_t read_ps = 2 * input_.costs.pcie_one_way_ps + input_.costs.host_memory_ps;
    SpendFor(fetch_ps - std::min(fetch_ps, read_ps), Cause::kControl);
    Spend(std::min(operation.queued_ps, started_ps), Cause::kPcie);
    SpendFor(input_.costs.pcie_one_way_ps, Cause::kPcie);
    return BeforeHost();
  }

  void SpendOnCard(const CompletedOperation& operation) {
    const auto kernel = input_.kernels.find(operation.correlation);
    if (kernel != input_.kernels.end() && operation.started_ps >= begin_ps_) {
      // The card has measured it; what is left is the control processor's.
      for (size_t i = trace::kCauses; i-- > 0;) {
        const uint64_t room = cursor_ - std::min(cursor_, operation.started_ps);
        SpendFor(std::min(kernel->second[i], room), static_cast<Cause>(i));
      }
      return Spend(operation.started_ps, Cause::kControl);
    }
    Spend(operation.started_ps,
          operation.opcode == Opcode::DMA_FILL ? Cause::kMemoryWrite
          : operation.opcode == Opcode::DMA_IN || operation.opcode == Opcode::DMA_OUT
              ? Cause::kPcie
              : Cause::kControl);
  }

  // Of the operations that the path has not met yet, the last that had finished by `ps`. Of one
  // instant one that has worked, for signals and waits only pass its end on.
  const CompletedOperation* LastFinished(uint64_t ps) const {
    auto next = std::partition_point(by_finish_.begin(), by_finish_.end(),
                                     [ps](const auto* o) { return o->finished_ps <= ps; });
    const CompletedOperation* last = nullptr;
    while (next != by_finish_.begin()) {
      const CompletedOperation* const found = *--next;
      if (met_.count(found) != 0) continue;
      if (last != nullptr && found->finished_ps < last->finished_ps) break;
      if (last == nullptr || HasEngine(found->opcode)) last = found;
      if (HasEngine(last->opcode)) break;
    }
    return last;
  }

  // The host rang the doorbell at the cursor.
  const CompletedOperation* BeforeHost() {
    if (input_.waits.empty()) {  // it polled, or its waits are not known
      const CompletedOperation* const last = LastFinished(cursor_);
      if (last != nullptr) Spend(last->finished_ps, Cause::kHost);
      return last;
    }
    const auto next =
        std::partition_point(input_.waits.begin(), input_.waits.end(),
                             [this](const HostWait& wait) { return wait.end_ps <= cursor_; });
    if (next == input_.waits.begin()) return nullptr;
    const uint64_t woken_ps = (next - 1)->end_ps;
    Spend(woken_ps, Cause::kHost);
    const auto posted =
        std::partition_point(by_post_.begin(), by_post_.end(),
                             [woken_ps](const auto* o) { return o->posted_ps <= woken_ps; });
    if (posted == by_post_.begin()) return nullptr;
    const CompletedOperation* const waker = *(posted - 1);
    if (met_.count(waker) != 0) return nullptr;
    Spend(waker->posted_ps, Cause::kPcie);
    Spend(waker->finished_ps, Cause::kControl);
    return waker;
  }

  const RunPathInput& input_;
  const uint64_t begin_ps_;
  uint64_t cursor_ = 0;
  std::vector<const CompletedOperation*> by_finish_, by_post_;
  std::unordered_set<const CompletedOperation*> met_;
  PathTimes path_{};
};

}  // namespace

PathTimes PathOfRun(const RunPathInput& input, uint64_t begin_ps) {
  return Walk(input, begin_ps).Follow();
}

WindowShares SharesOfWindow(const std::vector<CompletedOperation>& operations,
                            const std::vector<HostWait>& waits, uint64_t begin_ps,
                            uint64_t end_ps) {
  WindowShares shares;
  if (end_ps <= begin_ps) return shares;
  shares.window_ps = end_ps - begin_ps;
  std::vector<trace::Interval> on_card, asleep;
  const auto add = [&](std::vector<trace::Interval>& to, uint64_t from_ps, uint64_t until_ps) {
    from_ps = std::max(from_ps, begin_ps);
    until_ps = std::min(until_ps, end_ps);
    if (from_ps < until_ps) to.push_back({from_ps, until_ps});
  };
  for (const CompletedOperation& operation : operations) {
    if (operation.executed) add(on_card, operation.started_ps, operation.finished_ps);
  }
  for (const HostWait& wait : waits) add(asleep, wait.begin_ps, wait.end_ps);
  const trace::IntervalSet card(on_card);
  std::vector<trace::Interval> either = std::move(on_card);
  either.insert(either.end(), asleep.begin(), asleep.end());
  shares.card_ps = card.length_ps();
  const uint64_t covered_ps = trace::IntervalSet(std::move(either)).length_ps();
  shares.host_ps = shares.window_ps - covered_ps;  // not on the card, and not asleep
  shares.idle_ps = covered_ps - shares.card_ps;
  return shares;
}

}  // namespace spyre::cosim
