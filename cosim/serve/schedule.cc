// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/schedule.h"

#include <algorithm>
#include <map>

#include "base/ranges.h"
#include "model/common/transfer.h"

namespace spyre::cosim {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A message is to be answered long before a client gives up, and soon after it has come.
constexpr microseconds kTurn{2'000};
constexpr microseconds kShortSlice{500};
constexpr microseconds kLongSlice{2'000};
constexpr uint64_t kMinSlicePs = 1'000;
constexpr int kSilenceMs = 5;
// After a time with little to do, the first slice with much to do is not longer than this; time
// without anything to do is not cut into slices.
constexpr uint64_t kMaxSlicePs = 100'000'000;

}  // namespace

// Connections of one client have one thread behind them: it waits if one of them does.
bool Schedule::AllWait(const Functions& functions) {
  std::map<std::string, bool> clients;
  uint64_t expected = options_.clients;
  for (const auto& function : functions) {
    const ClientVersion* client = function->client();
    if (client == nullptr || !client->time_client) continue;
    clients[*client->time_client] |= function->waiting();
    expected = std::max(expected, client->clients);
  }
  if (clients.empty()) seen_.clear();
  for (const auto& [name, waits] : clients)
    if (seen_.size() < expected) seen_.insert(name);
  all_have_come_ = seen_.size() >= expected;
  return all_have_come_ && !clients.empty() &&
         AllFit(clients, [](const auto& c) { return c.second; });
}

bool Schedule::AnyWaits(const Functions& functions) {
  return AnyFits(functions, [](const auto& function) { return function->waiting(); });
}

// Only what happens by itself may happen then: nobody's sleep comes to its end because nothing else
// is left.
bool Schedule::OthersSleep(const Functions& functions) {
  if (options_.program == 0) return false;
  const bool moves = AnyFits(functions, [this](const auto& function) {
    return function->waiting() && (!function->waits_for_interrupt() || !card_.idle());
  });
  if (!moves || others_sleep_) return moves;
  if (!silence_) return false;
  silence_ = false;
  std::set<pid_t> awaited;
  for (const auto& function : functions) {
    if (function->client() != nullptr && !function->waiting())
      awaited.insert(function->connection()->process());
  }
  // Who sleeps until this server answers has said something.
  others_sleep_ = host_.AllWait(awaited, !all_have_come_) && !input_pending_();
  return others_sleep_;
}

ServedFunction* Schedule::Next(const Functions& functions) {
  ServedFunction* next = nullptr;
  for (const auto& function : functions) {
    if (function->waiting() && (next == nullptr || function->wake_ps() < next->wake_ps()))
      next = function.get();
  }
  return next;
}

uint64_t Schedule::LimitPs() const {
  const auto paced = [](const Begin& begin, double factor) {
    const std::chrono::duration<double, std::pico> wall = Clock::now() - begin.wall;
    return begin.ps + static_cast<uint64_t>(wall.count() * factor);
  };
  uint64_t limit_ps = UINT64_MAX;
  if (options_.mode == TimeMode::kPaced) limit_ps = begin_ ? paced(*begin_, options_.factor) : 0;
  if (late_) limit_ps = std::min(limit_ps, paced(*late_, 1));
  return limit_ps;
}

void Schedule::LookForLate(const Functions& functions) {
  const bool owed = AnyFits(functions, [](const auto& function) {
    return function->connection() != nullptr && function->connection()->owes_answers();
  });
  if (!owed) late_.reset();
  if (owed && !late_) late_ = Begin{Clock::now(), model::NowPs()};
}

bool Schedule::HasBegun(const Functions& functions) {
  if (!begin_ &&
      AnyFits(functions, [](const auto& function) { return function->client() != nullptr; }))
    begin_ = Begin{Clock::now(), model::NowPs()};
  return begin_.has_value();
}

bool Schedule::CanMove(const Functions& functions) {
  if (options_.mode == TimeMode::kLockstep) {
    all_wait_ = AllWait(functions);
    return all_wait_ || OthersSleep(functions);
  }
  if (!HasBegun(functions)) return false;
  return Next(functions) != nullptr || !card_.idle();
}

int Schedule::PatienceMs(const Functions& functions) {
  if (!CanMove(functions)) return options_.program != 0 && AnyWaits(functions) ? kSilenceMs : -1;
  return model::NowPs() >= LimitPs() ? 1 : 0;
}

// When nothing is left to happen and everybody sleeps, the first one is told so; what it does then
// may be what the others sleep for.
bool Schedule::EndSleepOfAll(const Functions& functions) {
  if (!card_.idle() || (options_.program != 0 && !all_wait_)) return false;
  ServedFunction* first = nullptr;
  for (const auto& function : functions) {
    if (!function->waiting()) continue;
    if (!function->waits_for_interrupt() || function->wake_ps() <= model::NowPs()) return false;
    if (first == nullptr) first = function.get();
  }
  if (first != nullptr) first->EndSleep();
  return first != nullptr;
}

void Schedule::Run(uint64_t until_ps, bool when_idle) {
  const uint64_t now = model::NowPs();
  const bool jump = when_idle && card_.idle();
  const uint64_t target = jump ? until_ps : std::min(until_ps, now + slice_ps_);
  const Clock::time_point start = Clock::now();
  card_.RunUntil(target, when_idle);
  for (InProcessTransport* const card : cards_) card->Check();
  const auto wall = Clock::now() - start;
  if (wall > kLongSlice) {
    const std::chrono::duration<double> longest = kLongSlice, took = wall;
    const double shorter = static_cast<double>(slice_ps_) * (longest / took);
    slice_ps_ = std::max(static_cast<uint64_t>(shorter), kMinSlicePs);
  }
  if (wall < kShortSlice && target == now + slice_ps_)
    slice_ps_ = std::min(slice_ps_ * 2, kMaxSlicePs);
}

void Schedule::CatchUp() {
  others_sleep_ = silence_ = false;
  if (options_.mode == TimeMode::kPaced && begin_ && card_.idle()) card_.RunUntil(LimitPs(), true);
}

void Schedule::Move(const Functions& functions) {
  const Clock::time_point end = Clock::now() + kTurn;
  do {
    LookForLate(functions);
    for (const auto& function : functions) function->TakeInterrupt();  // messages that have come
    if (!CanMove(functions)) return;
    const uint64_t limit = LimitPs();
    ServedFunction* const next = Next(functions);
    if (next != nullptr && EndSleepOfAll(functions)) continue;
    const uint64_t wake = next == nullptr ? UINT64_MAX : next->wake_ps();
    if (model::NowPs() < wake) {
      if (model::NowPs() >= limit) return;
      const bool known = next != nullptr || options_.mode == TimeMode::kPaced || late_;
      Run(std::min(wake, limit), known && std::min(wake, limit) != UINT64_MAX);
      for (const auto& function : functions) function->TakeInterrupt();
    }
    // An interrupt may have changed who is next.
    ServedFunction* const due = Next(functions);
    if (due != nullptr && due->wake_ps() <= model::NowPs()) {
      due->Step();
      due->Serve();
      others_sleep_ = silence_ = false;
    }
  } while (Clock::now() < end);
}

}  // namespace spyre::cosim
