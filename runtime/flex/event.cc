// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/event.h"

#include <utility>

#include "base/error.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::flex {

const char* EventStatusName(EventStatus status) {
  switch (status) {
    case EventStatus::kUnrecorded:
      return "unrecorded";
    case EventStatus::kQueued:
      return "queued";
    case EventStatus::kInRing:
      return "in ring";
    case EventStatus::kComplete:
      return "complete";
    case EventStatus::kFailed:
      return "failed";
  }
  return "unknown";
}

Event::Event(RuntimeContext& context, std::string name)
    : context_(&context), state_(std::make_shared<EventState>()) {
  const auto lock = context.Enter();
  const uint64_t number = context.CountEvent();
  state_->name = name.empty() ? fmt::format("event {}", number) : std::move(name);
  state_->epoch = context.scheduler().epoch();
}

void Event::CheckUsable(const std::string& what) const {
  if (state_->destroyed) throw BadInput("{} event '{}', which was destroyed", what, name());
  if (state_->captured && !context_->Captures(*state_)) {
    throw BadInput("{} event '{}', which was recorded in a capture and exists only in its replays",
                   what, name());
  }
  if (state_->epoch != context_->scheduler().epoch()) {
    throw BadInput("{} event '{}', which was made before the context was reset, and failed by that",
                   what, name());
  }
}

void Event::CheckContext(const RuntimeContext& context, const std::string& what) const {
  if (context_ != &context) {
    throw BadInput(
        "{} event '{}', which belongs to another context (function {}, this one is of function {})",
        what, name(), context_->identity().function, context.identity().function);
  }
}

void Event::TellTracker() const {
  if (context_->hazards_) context_->hazards_->ToldAbout(*state_);
}

EventStatus Event::status() const {
  const auto lock = context_->Enter();
  TellTracker();
  return state_->epoch == context_->scheduler().epoch() ? state_->status : EventStatus::kFailed;
}

bool Event::Query() const {
  const auto lock = context_->Enter();
  CheckUsable("Query of");
  const auto done = [this] {
    return state_->status == EventStatus::kComplete || state_->status == EventStatus::kFailed;
  };
  if (!context_->PollFor(done)) return false;
  TellTracker();
  return true;
}

void Event::Synchronize() const {
  const RuntimeContext::HostSlice slice(*context_, kDefaultStream, "Event::Synchronize");
  for (;;) {
    const auto lock = context_->Enter();
    Scheduler& scheduler = context_->scheduler();
    scheduler.CheckMayWait(fmt::format("Synchronize of event '{}'", name()));
    CheckUsable("Synchronize of");
    if (state_->status == EventStatus::kComplete) {
      TellTracker();
      return;
    }
    if (state_->status == EventStatus::kFailed) {
      throw Error(ErrorKind::kDeviceFault, state_->error);
    }
    scheduler.Progress(state_.get());
  }
}

uint64_t Event::TimePs() const {
  const auto lock = context_->Enter();
  CheckUsable("time of");
  if (state_->status != EventStatus::kComplete) {
    throw BadInput("time of event '{}', which is {}, not complete", name(),
                   EventStatusName(state_->status));
  }
  TellTracker();
  return state_->finished_ps;
}

void Event::Destroy() {
  const auto lock = context_->Enter();
  state_->destroyed = true;
}

int64_t ElapsedPs(const Event& from, const Event& to) {
  to.CheckContext(from.context(), fmt::format("time from event '{}' to", from.name()));
  return static_cast<int64_t>(to.TimePs() - from.TimePs());
}

}  // namespace spyre::flex
