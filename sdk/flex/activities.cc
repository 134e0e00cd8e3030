// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/activities.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "sdk/flex/platform.h"

namespace flex::activity {
namespace {

using spyre::Opcode;
using spyre::flex::CompletedOperation;
using spyre::sdk::Platform;

std::optional<CardWork::Kind> KindOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::COMPUTE:
      return CardWork::Kind::kCompute;
    case Opcode::DMA_IN:
      return CardWork::Kind::kToCard;
    case Opcode::DMA_OUT:
      return CardWork::Kind::kFromCard;
    case Opcode::DMA_FILL:
      return CardWork::Kind::kFill;
    default:  // orders streams, and does no work
      return std::nullopt;
  }
}

// The last operation that the card was given; 0: none.
uint64_t LastCorrelation() {
  Platform* const platform = Platform::Opened();
  if (platform == nullptr) return 0;
  const auto guard = platform->context().Lock();
  return platform->context().scheduler().last_correlation();
}

}  // namespace

uint64_t HostNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

Recorder& Recorder::Get() {
  static auto& recorder = *new Recorder;  // memory is freed while the process ends
  return recorder;
}

void Recorder::Listen(bool on) {
  if (listening() == on) return;
  const uint64_t last = LastCorrelation();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    activities_ = {};
    begin_ = last;
  }
  listening_ = on;
  if (Platform* const platform = Platform::Opened()) Observe(platform->context());
}

void Recorder::Attach(spyre::flex::RuntimeContext& context) {
  if (listening()) Observe(context);
}

void Recorder::Observe(spyre::flex::RuntimeContext& context) {
  const auto guard = context.Lock();
  if (!listening()) {
    context.scheduler().Observe(nullptr);
    return;
  }
  const spyre::driver::HostCosts costs = context.options().device.costs;
  context.scheduler().Observe([this, costs](const CompletedOperation& operation) {
    const auto kind = KindOf(operation.opcode);
    if (!kind || !operation.executed || operation.status != spyre::Status::OK) return;
    CardWork work;
    work.kind = *kind;
    work.name = operation.name;
    work.stream = operation.stream;
    work.correlation = operation.correlation;
    work.bytes = operation.size_bytes;
    work.queued_ps = operation.queued_ps;
    work.fetched_ps = operation.fetched_ps;
    work.started_ps = operation.started_ps;
    work.finished_ps = operation.finished_ps;
    // As a profiler on a card sees a copy to the host: with what the runtime does around the DMA.
    if (work.kind == CardWork::Kind::kFromCard)
      work.finished_ps += spyre::driver::PsFromNs(costs.CopyOutNs(work.bytes));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (work.correlation > begin_) activities_.work.push_back(std::move(work));
  });
}

Activities Recorder::Take() {
  if (Platform* const platform = listening() ? Platform::Opened() : nullptr)
    platform->context().AwaitAll();
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(activities_, {});
}

void Recorder::Note(Memory memory) {
  if (!listening()) return;
  memory.time_ns = HostNs();
  const std::lock_guard<std::mutex> lock(mutex_);
  activities_.memory.push_back(memory);
}

void Recorder::Note(const Call& call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  activities_.calls.push_back(call);
}

HostCall::HostCall(int kind, uint64_t bytes) : noted_(Recorder::Get().listening()) {
  if (!noted_) return;
  call_.kind = kind;
  call_.bytes = bytes;
  call_.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  call_.first = LastCorrelation();
  call_.start_ns = HostNs();
}

HostCall::~HostCall() {
  if (!noted_) return;
  call_.end_ns = HostNs();
  call_.last = LastCorrelation();
  Recorder::Get().Note(call_);
}

}  // namespace flex::activity
