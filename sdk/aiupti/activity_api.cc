// SPDX-License-Identifier: Apache-2.0
// Records of activities, out of what libflex.so has noted.
#include <libaiupti/aiupti_activity.h>
#include <libaiupti/aiupti_runtime_cbid.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <type_traits>
#include <vector>

#include "sdk/aiupti/card_clock.h"
#include "sdk/flex/activities.h"

namespace spyre::sdk {
namespace {

using ::flex::activity::Activities;
using ::flex::activity::Call;
using ::flex::activity::CardWork;
using ::flex::activity::Memory;
using ::flex::activity::Recorder;

// Records lie behind each other, each aligned to what its times need.
constexpr size_t kAlignment = 8;
template <typename Record>
constexpr size_t SizeOf() {
  return (sizeof(Record) + kAlignment - 1) / kAlignment * kAlignment;
}

size_t SizeOf(uint8_t kind) {
  switch (kind) {
    case AIUPTI_ACTIVITY_KIND_MEMCPY:
      return SizeOf<AIUpti_ActivityMemcpy>();
    case AIUPTI_ACTIVITY_KIND_MEMSET:
      return SizeOf<AIUpti_ActivityMemset>();
    case AIUPTI_ACTIVITY_KIND_MEMORY:
      return SizeOf<AIUpti_ActivityMemory>();
    case AIUPTI_ACTIVITY_KIND_CMPT:
      return SizeOf<AIUpti_ActivityCompute>();
    case AIUPTI_ACTIVITY_KIND_RUNTIME:
      return SizeOf<AIUpti_ActivityAPI>();
    default:
      return 0;
  }
}

// Of one flush: the client's buffers, one after the other.
class Buffers {
 public:
  Buffers(AIUpti_BuffersCallbackRequestFunc request, AIUpti_BuffersCallbackCompleteFunc complete)
      : request_(request), complete_(complete) {}
  ~Buffers() { Complete(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  template <typename Record>
  void Add(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    if (!HasRoom(SizeOf<Record>())) {
      Complete();
      request_(&buffer_, &size_, &records_left_);
      if (records_left_ == 0) records_left_ = SIZE_MAX;
    }
    if (!HasRoom(SizeOf<Record>())) {
      ++dropped_;
      return;
    }
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += SizeOf<Record>();
    --records_left_;
  }
  size_t dropped() const { return dropped_; }

 private:
  bool HasRoom(size_t bytes) const {
    return buffer_ != nullptr && bytes <= size_ - used_ && records_left_ > 0;
  }
  void Complete() {
    if (buffer_ != nullptr) complete_(buffer_, size_, used_);
    buffer_ = nullptr;
    size_ = used_ = records_left_ = 0;
  }

  const AIUpti_BuffersCallbackRequestFunc request_;
  const AIUpti_BuffersCallbackCompleteFunc complete_;
  uint8_t* buffer_ = nullptr;
  size_t size_ = 0, used_ = 0, records_left_ = 0, dropped_ = 0;
};

class Library {
 public:
  static Library& Get() {
    static auto& library = *new Library;  // profilers flush while the process ends
    return library;
  }

  AIUpti_ResultTypes Register(AIUpti_BuffersCallbackRequestFunc request,
                              AIUpti_BuffersCallbackCompleteFunc complete) {
    if (request == nullptr || complete == nullptr) return AIUPTI_ERROR_PARAMETER;
    const std::lock_guard<std::mutex> lock(mutex_);
    request_ = request;
    complete_ = complete;
    return AIUPTI_SUCCESS;
  }

  AIUpti_ResultTypes Enable(AIUpti_ActivityKind kind, bool on) {
    if (kind <= AIUPTI_ACTIVITY_KIND_INVALID || kind > AIUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
      return AIUPTI_ERROR_PARAMETER;
    const std::lock_guard<std::mutex> lock(mutex_);
    kinds_ = on ? kinds_ | 1u << kind : kinds_ & ~(1u << kind);
    Recorder::Get().Listen(kinds_ != 0);
    return AIUPTI_SUCCESS;
  }

  AIUpti_ResultTypes Flush() {
    const Activities activities = Recorder::Get().Take();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (activities.calls.empty() && activities.work.empty() && activities.memory.empty())
      return AIUPTI_SUCCESS;
    if (request_ == nullptr) return AIUPTI_ERROR_NO_CALLBACKS;
    Buffers buffers(request_, complete_);
    if (Wants(AIUPTI_ACTIVITY_KIND_RUNTIME))
      for (const Call& call : activities.calls) buffers.Add(Record(call));
    if (Wants(AIUPTI_ACTIVITY_KIND_MEMORY))
      for (const Memory& memory : activities.memory) buffers.Add(Record(memory));
    clock_.Learn(activities.calls);
    for (const CardWork& work : activities.work) Add(work, clock_.Place(work), buffers);
    dropped_ += buffers.dropped();
    return AIUPTI_SUCCESS;
  }

  size_t TakeDropped() { return dropped_.exchange(0); }

 private:
  static constexpr uint32_t kDevice = 0;   // of those that the process may use
  static constexpr uint32_t kContext = 1;  // there is one
  static uint32_t Process() { return static_cast<uint32_t>(getpid()); }

  bool Wants(AIUpti_ActivityKind kind) const { return (kinds_ >> kind & 1) != 0; }

  static AIUpti_ActivityAPI Record(const Call& call) {
    AIUpti_ActivityAPI record{};
    record.kind = AIUPTI_ACTIVITY_KIND_RUNTIME;
    record.cbid = static_cast<uint32_t>(call.kind);
    record.start = call.start_ns;
    record.end = call.end_ns;
    record.process_id = Process();
    record.thread_id = call.thread;
    if (call.last > call.first) record.correlation_id = static_cast<uint32_t>(call.last);
    const bool launches = call.kind >= AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB &&
                          call.kind <= AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_DMO;
    record.data = launches ? call.last - call.first : call.bytes;
    return record;
  }
  static AIUpti_ActivityMemory Record(const Memory& memory) {
    AIUpti_ActivityMemory record{};
    record.kind = AIUPTI_ACTIVITY_KIND_MEMORY;
    record.memory_operation_type = memory.freed ? AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                                : AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    record.address = memory.address;
    record.bytes = memory.bytes;
    record.start = record.end = memory.time_ns;
    record.device_id = kDevice;
    record.process_id = Process();
    return record;
  }
  // What records of the card's work have in common.
  template <typename Record>
  static Record Base(AIUpti_ActivityKind kind, const CardWork& work, const HostTimes& times) {
    Record record{};
    record.kind = kind;
    record.start = times.started_ns;
    record.end = times.finished_ns;
    record.device_id = kDevice;
    record.context_id = kContext;
    record.stream_id = work.stream;
    record.correlation_id = static_cast<uint32_t>(work.correlation);
    return record;
  }
  void Add(const CardWork& work, const HostTimes& times, Buffers& buffers) const {
    switch (work.kind) {
      case CardWork::Kind::kCompute: {
        if (!Wants(AIUPTI_ACTIVITY_KIND_CMPT)) return;
        auto record = Base<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT, work, times);
        record.queued = times.queued_ns;
        record.submitted = times.fetched_ns;
        work.name.copy(record.name, sizeof record.name - 1);
        buffers.Add(record);
        return;
      }
      case CardWork::Kind::kToCard:
      case CardWork::Kind::kFromCard: {
        if (!Wants(AIUPTI_ACTIVITY_KIND_MEMCPY)) return;
        auto record = Base<AIUpti_ActivityMemcpy>(AIUPTI_ACTIVITY_KIND_MEMCPY, work, times);
        record.copy_kind = work.kind == CardWork::Kind::kToCard ? AIUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                                                : AIUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
        record.bytes = work.bytes;
        buffers.Add(record);
        return;
      }
      case CardWork::Kind::kFill: {
        if (!Wants(AIUPTI_ACTIVITY_KIND_MEMSET)) return;
        auto record = Base<AIUpti_ActivityMemset>(AIUPTI_ACTIVITY_KIND_MEMSET, work, times);
        record.bytes = work.bytes;
        buffers.Add(record);
        return;
      }
    }
  }

  std::mutex mutex_;
  AIUpti_BuffersCallbackRequestFunc request_ = nullptr;
  AIUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  uint32_t kinds_ = 0;  // that are enabled, by bits
  CardClock clock_;
  std::atomic<size_t> dropped_ = 0;
};

template <typename Action>
AIUpti_ResultTypes Guarded(const Action& action) {
  try {
    return action();
  } catch (const std::exception&) {
    return AIUPTI_ERROR;
  }
}

}  // namespace
}  // namespace spyre::sdk

using spyre::sdk::Guarded;
using spyre::sdk::Library;

AIUpti_ResultTypes aiuptiActivityRegisterCallbacks(AIUpti_BuffersCallbackRequestFunc request,
                                                   AIUpti_BuffersCallbackCompleteFunc complete) {
  return Library::Get().Register(request, complete);
}
AIUpti_ResultTypes aiuptiActivityEnable(AIUpti_ActivityKind kind) {
  return Guarded([&] { return Library::Get().Enable(kind, true); });
}
AIUpti_ResultTypes aiuptiActivityDisable(AIUpti_ActivityKind kind) {
  return Guarded([&] { return Library::Get().Enable(kind, false); });
}
AIUpti_ResultTypes aiuptiFlushAllActivities() {
  return Guarded([] { return Library::Get().Flush(); });
}

AIUpti_ResultTypes aiuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size,
                                               AIUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return AIUPTI_ERROR_PARAMETER;
  size_t at = 0;
  if (*record != nullptr) {
    const auto* const last = reinterpret_cast<const uint8_t*>(*record);
    if (last < buffer || last >= buffer + valid_size) return AIUPTI_ERROR_PARAMETER;
    const size_t size = spyre::sdk::SizeOf((*record)->kind);
    if (size == 0) return AIUPTI_ERROR;
    at = static_cast<size_t>(last - buffer) + size;
  }
  if (at >= valid_size) return AIUPTI_END_OF_RECORDS;
  *record = reinterpret_cast<AIUpti_Activity*>(buffer + at);
  return AIUPTI_SUCCESS;
}

AIUpti_ResultTypes aiuptiActivityGetNumDroppedRecords(size_t* dropped) {
  if (dropped == nullptr) return AIUPTI_ERROR_PARAMETER;
  *dropped = Library::Get().TakeDropped();
  return AIUPTI_SUCCESS;
}
