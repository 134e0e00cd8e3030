// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/hazard_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/control_block.h"

namespace spyre::flex {
namespace {

// What the operation touches by itself. The steps of a launch use the program that they patch: two
// launches never use it at once (BARRIER), so they are readers of it to each other, and only what
// loads a program writes it.
void AddOwnAccesses(const ControlBlockRequest& request, bool begins_launch,
                    std::vector<Access>& accesses) {
  const bool patches = begins_launch && request.exclusive_key != 0;
  switch (request.opcode) {
    case Opcode::DMA_IN:
    case Opcode::DMA_FILL:
      accesses.push_back({request.location, request.size_bytes, !patches});
      break;
    case Opcode::DMA_OUT:
      accesses.push_back({request.location, request.size_bytes, false});
      break;
    case Opcode::COMPUTE:
      accesses.push_back({request.program, request.program_bytes, false});
      break;
    default:
      break;
  }
}

}  // namespace

// What is enqueued starts when the tracker knows it.
class HazardGuard::Batch {
 public:
  explicit Batch(Scheduler& scheduler) : scheduler_(scheduler) { scheduler_.BeginBatch(); }
  ~Batch() { scheduler_.EndBatch(); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

 private:
  Scheduler& scheduler_;
};

HazardGuard::HazardGuard(HazardMode mode, Scheduler& scheduler)
    : mode_(mode), scheduler_(scheduler) {
  report_.mode = mode;
}

uint64_t HazardGuard::QueueOperation(uint32_t stream, ControlBlockRequest request) {
  const Batch batch(scheduler_);
  // Refused, with the reason: it touches nothing.
  if (!scheduler_.Accepts(stream)) return scheduler_.QueueOperation(stream, std::move(request));
  if (request.callback) return QueueCallback(stream, std::move(request));
  if (request.opcode == Opcode::EVENT_SIGNAL) return QueueRecord(stream, std::move(request));
  if (request.opcode == Opcode::EVENT_WAIT) return QueueWait(stream, std::move(request));
  return QueueWork(stream, std::move(request));
}

uint64_t HazardGuard::QueueWork(uint32_t stream, ControlBlockRequest request) {
  const bool step =
      request.joined && in_launch_.Contains(stream) && request.touches->launch.empty();
  const auto point = request.then ? std::make_shared<HazardPoint>() : nullptr;
  if (point) request.then = ThenTell(point, std::move(request.then));
  if (step) {  // the launch it belongs to was looked at as a whole
    const uint64_t correlation = scheduler_.QueueOperation(stream, std::move(request));
    tracker_.Extend(stream, correlation);
    if (point) tracker_.Mark(stream, point);
    return correlation;
  }
  const TouchedMemory& touches = *request.touches;
  const bool begins = !touches.launch.empty();
  HazardOperation operation;
  operation.stream = stream;
  operation.name = begins ? "launch of " + touches.launch : request.name;
  if (!begins) operation.label = request.label;  // of the first step alone
  operation.tag = request.tag;
  std::vector<Access> accesses = touches.accesses;
  AddOwnAccesses(request, begins, accesses);
  const AccessRanges ranges(accesses);
  const bool unknown = touches.accesses.empty() && (begins || request.opcode == Opcode::COMPUTE);

  std::vector<Hazard> hazards = tracker_.Find(operation, ranges);
  Act(hazards, stream, request.joined);
  operation.correlation = scheduler_.QueueOperation(stream, std::move(request));
  operation.last_correlation = operation.correlation;
  tracker_.Add(operation, ranges);
  ++(unknown ? report_.unknown : report_.checked);
  List(std::move(hazards), operation.correlation);
  if (begins) {
    in_launch_.Insert(stream);
  } else {
    in_launch_.Erase(stream);
  }
  if (point) tracker_.Mark(stream, point);
  return operation.correlation;
}

void HazardGuard::Act(const std::vector<Hazard>& hazards, uint32_t stream, bool joined) {
  if (hazards.empty() || mode_ == HazardMode::kWarning) return;
  if (mode_ == HazardMode::kError) {
    List(hazards, 0);
    throw BadInput(
        "stream {}: hazard with nothing that orders the two: {}; record an event after the first "
        "and wait for it before the second, or synchronize between them",
        stream, ToString(hazards.front()));
  }
  if (joined &&
      AnyFits(hazards, [this](const Hazard& hazard) { return IsRunning(hazard.earlier); })) {
    throw BadInput(
        "stream {}: no wait can come between an operation and the one it is joined to: {}; state "
        "the accesses of all with the first",
        stream, ToString(hazards.front()));
  }
  // The latest first: to wait for it may be to wait for others.
  std::vector<const HazardOperation*> earlier;
  earlier.reserve(hazards.size());
  for (const Hazard& hazard : hazards) earlier.push_back(&hazard.earlier);
  std::sort(earlier.begin(), earlier.end(),
            [](const auto* a, const auto* b) { return a->last_correlation > b->last_correlation; });
  for (const HazardOperation* operation : earlier) {
    if (!tracker_.IsBefore(*operation, stream)) WaitFor(*operation, stream);
  }
}

bool HazardGuard::IsRunning(const HazardOperation& operation) const {
  // What a stream in error has left does not run.
  return scheduler_.Accepts(operation.stream) &&
         !scheduler_.HasPassed(operation.stream, operation.last_correlation);
}

void HazardGuard::WaitFor(const HazardOperation& earlier, uint32_t stream) {
  const uint32_t other = earlier.stream;
  const uint64_t correlation = earlier.last_correlation;
  if (!IsRunning(earlier)) {
    tracker_.Told(other, correlation);
    return;
  }
  LastRecord& last = last_record_[other];
  if (last.event == nullptr || last.correlation < correlation) {
    ControlBlockRequest signal;
    signal.opcode = Opcode::EVENT_SIGNAL;
    signal.event = std::make_shared<EventState>();
    signal.event->name = fmt::format("hazard event {}", ++report_.events);
    signal.event->epoch = scheduler_.epoch();
    signal.name = signal.event->name;
    signal.joined = true;  // directly behind what it is recorded for
    QueueRecord(other, std::move(signal));
  }
  ControlBlockRequest wait;
  wait.opcode = Opcode::EVENT_WAIT;
  wait.event = last.event;
  wait.name = wait.event->name;
  QueueWait(stream, std::move(wait));
  ++report_.waits;
}

uint64_t HazardGuard::QueueRecord(uint32_t stream, ControlBlockRequest request) {
  const std::shared_ptr<EventState> event = request.event;
  if (!event->point) event->point = std::make_shared<HazardPoint>();
  std::vector<Hazard> hazards = mode_ == HazardMode::kError
                                    ? tracker_.MarkIfSafe(stream, event->point)
                                    : tracker_.Mark(stream, event->point);
  if (mode_ == HazardMode::kError) Act(hazards, stream, false);
  const uint64_t correlation = scheduler_.QueueOperation(stream, std::move(request));
  List(std::move(hazards), 0);
  last_record_[stream] = {event, correlation};
  return correlation;
}

uint64_t HazardGuard::QueueWait(uint32_t stream, ControlBlockRequest request) {
  EventState& event = *request.event;
  if (mode_ == HazardMode::kEvent && event.status == EventStatus::kUnrecorded) {
    throw BadInput(
        "stream {}: Wait of event '{}', which is not recorded yet: hazards = \"event\" keeps the "
        "order in which operations are enqueued, so an event is recorded before it is waited for",
        stream, event.name);
  }
  if (!event.point) event.point = std::make_shared<HazardPoint>();
  const HazardTracker::Point point = event.point;
  const uint64_t correlation = scheduler_.QueueOperation(stream, std::move(request));
  tracker_.Wait(stream, point);
  return correlation;
}

uint64_t HazardGuard::QueueCallback(uint32_t stream, ControlBlockRequest request) {
  const auto point = std::make_shared<HazardPoint>();
  request.callback = ThenTell(point, std::move(request.callback));
  const uint64_t correlation = scheduler_.QueueOperation(stream, std::move(request));
  tracker_.Mark(stream, point);
  return correlation;
}

std::function<void()> HazardGuard::ThenTell(HazardTracker::Point point,
                                            std::function<void()> function) {
  return [this, point = std::move(point), function = std::move(function)] {
    {
      const std::lock_guard<RuntimeMutex> lock(scheduler_.mutex());
      tracker_.Told(*point);
    }
    function();
  };
}

void HazardGuard::List(std::vector<Hazard> hazards, uint64_t later_correlation) {
  report_.found += hazards.size();
  for (Hazard& hazard : hazards) {
    if (report_.hazards.size() == HazardReport::kListed) return;
    if (later_correlation != 0) {
      hazard.later.correlation = hazard.later.last_correlation = later_correlation;
    }
    report_.hazards.push_back(std::move(hazard));
  }
}

void HazardGuard::Forget(const DeviceHandle& handle, uint64_t size) {
  if (size == 0) return;
  const uint64_t begin = AddressOf(handle);
  tracker_.Forget(begin, begin + size, [this](const HazardOperation& operation) {
    return scheduler_.HasPassed(operation.stream, operation.last_correlation);
  });
}

void HazardGuard::Reset() {
  tracker_ = HazardTracker();
  last_record_ = {};
  in_launch_.Clear();
}

}  // namespace spyre::flex
