// SPDX-License-Identifier: Apache-2.0
// Activities of the card for profilers: what PyTorch's profiler is written against on this device.
// A client enables kinds of activities, runs its program, and flushes; the library then asks it for
// buffers, fills them with records, and gives them back. C++17 and later.
//
// Times are nanoseconds since the epoch, as std::chrono::system_clock has them. Of calls on the
// host they are its own. Of the card's work they are simulated: durations, and distances within
// work that follows itself, are those of the card; the place on the axis is chosen so that nothing
// starts before the call that has launched it has returned (docs/profiling.md).
//
// Threads: any. Errors: results; nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>

enum AIUpti_ResultTypes : int {
  AIUPTI_SUCCESS = 0,
  AIUPTI_ERROR = 1,               // the card failed while a flush waited for it
  AIUPTI_ERROR_PARAMETER = 2,     // null, or a kind that there is not
  AIUPTI_ERROR_NO_CALLBACKS = 3,  // records are there, and nobody to give them to
  AIUPTI_END_OF_RECORDS = 4,      // of a buffer
};

enum AIUpti_ActivityKind : uint8_t {
  AIUPTI_ACTIVITY_KIND_INVALID = 0,
  AIUPTI_ACTIVITY_KIND_MEMCPY = 1,           // AIUpti_ActivityMemcpy
  AIUPTI_ACTIVITY_KIND_MEMCPY2 = 2,          // copies between cards: none yet
  AIUPTI_ACTIVITY_KIND_MEMSET = 3,           // AIUpti_ActivityMemset
  AIUPTI_ACTIVITY_KIND_MEMORY = 4,           // AIUpti_ActivityMemory
  AIUPTI_ACTIVITY_KIND_CMPT = 5,             // AIUpti_ActivityCompute
  AIUPTI_ACTIVITY_KIND_RUNTIME = 6,          // AIUpti_ActivityAPI
  AIUPTI_ACTIVITY_KIND_DRIVER = 7,           // none: the driver has no calls of its own here
  AIUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 8,  // none: they are calls, of kind RUNTIME
};

enum AIUpti_ActivityMemcpyKind : uint8_t {
  AIUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN = 0,
  AIUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
  AIUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
  AIUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 3,
};

enum AIUpti_ActivityMemoryOperationType : uint8_t {
  AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID = 0,
  AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1,
  AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE = 2,
};

// Every record begins with its kind.
struct AIUpti_Activity {
  uint8_t kind;
};

// A call of the runtime on the host. cbid: aiupti_runtime_cbid.h.
struct AIUpti_ActivityAPI {
  uint8_t kind;
  uint32_t cbid;
  uint64_t start, end;
  uint32_t process_id, thread_id;
  uint32_t correlation_id;  // of the last operation that it has put on the card; 0: of none
  uint64_t data;            // of a launch: how many control blocks; of others: bytes
};

// A program on the card.
struct AIUpti_ActivityCompute {
  uint8_t kind;
  uint64_t start, end;
  uint64_t queued, submitted;  // in the ring of the card; taken from it
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
  char name[128];  // ends with a zero; longer names are cut
};

struct AIUpti_ActivityMemcpy {
  uint8_t kind;
  uint8_t copy_kind;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
};

struct AIUpti_ActivityMemset {
  uint8_t kind;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
};

// Memory of the card that is allocated or freed, which takes no time of the card.
struct AIUpti_ActivityMemory {
  uint8_t kind;
  uint8_t memory_operation_type;
  uint64_t address;  // device virtual
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, process_id, stream_id;
  uint32_t correlation_id;
};

// Gives a buffer of `size` bytes, aligned to 8. max_records: 0 is as many as fit.
using AIUpti_BuffersCallbackRequestFunc = void (*)(uint8_t** buffer, size_t* size,
                                                   size_t* max_records);
// Takes it back: the first `valid_size` bytes are records.
using AIUpti_BuffersCallbackCompleteFunc = void (*)(uint8_t* buffer, size_t size,
                                                    size_t valid_size);

#pragma GCC visibility push(default)
AIUpti_ResultTypes aiuptiActivityRegisterCallbacks(AIUpti_BuffersCallbackRequestFunc request,
                                                   AIUpti_BuffersCallbackCompleteFunc complete);
// From now on. Opens no card.
AIUpti_ResultTypes aiuptiActivityEnable(AIUpti_ActivityKind kind);
AIUpti_ResultTypes aiuptiActivityDisable(AIUpti_ActivityKind kind);
// Waits for what the card has been given, and hands out all records that there are, of the calls in
// the order of their ends, then of the card in the order of its completions.
AIUpti_ResultTypes aiuptiFlushAllActivities();
// The record behind *record; the first one of the buffer if that is null.
AIUpti_ResultTypes aiuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size,
                                               AIUpti_Activity** record);
// Since the last call: records for which the client's buffers had no room.
AIUpti_ResultTypes aiuptiActivityGetNumDroppedRecords(size_t* dropped);
#pragma GCC visibility pop
