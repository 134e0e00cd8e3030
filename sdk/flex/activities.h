// SPDX-License-Identifier: Apache-2.0
// What a program does with the card, as profilers want to know it: calls of the runtime on the
// host, work of the card, memory. Kept while somebody listens, and at no other time. libaiupti.so
// makes the records of its interface of it.
//
// Threads: any. The runtime's lock may be held while this one is taken, never the other way.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace spyre::flex {
class RuntimeContext;
}

// A part of libflex.so that other libraries see, as all of this namespace is.
namespace flex::activity {

// Times of the host: ns since the epoch.
struct Call {
  int kind = 0;  // an AIUpti_runtime_api_trace_cbid
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t thread = 0;
  uint64_t first = 0, last = 0;  // the operations that it gave the card: (first, last]
  uint64_t bytes = 0;
};

// Times of the card: ps.
struct CardWork {
  enum class Kind { kCompute, kToCard, kFromCard, kFill };
  Kind kind = Kind::kCompute;
  std::string name;  // of a program
  uint32_t stream = 0;
  uint64_t correlation = 0, bytes = 0;
  uint64_t queued_ps = 0, fetched_ps = 0, started_ps = 0, finished_ps = 0;
};

struct Memory {
  bool freed = false;
  uint64_t address = 0, bytes = 0;  // device virtual
  uint64_t time_ns = 0;             // of the host
};

// In the order of their ends.
struct Activities {
  std::vector<Call> calls;
  std::vector<CardWork> work;  // with status OK, launched while somebody listened
  std::vector<Memory> memory;
};

class Recorder {
 public:
  static Recorder& Get();

  // From now on, or no more; what nobody has taken is dropped then. Opens no card.
  void Listen(bool on);
  bool listening() const { return listening_.load(std::memory_order_relaxed); }
  // Waits for what the card has been given, without telling its errors, and takes what there is.
  Activities Take();

  // By the platform, of the card that it has opened.
  void Attach(spyre::flex::RuntimeContext& context);
  void Note(Memory memory);  // now
  void Note(const Call& call);

 private:
  void Observe(spyre::flex::RuntimeContext& context);

  std::atomic<bool> listening_ = false;
  std::mutex mutex_;
  uint64_t begin_ = 0;  // the last operation that was launched before anybody listened
  Activities activities_;
};

// A call of the runtime, from the construction to the end of this.
class HostCall {
 public:
  explicit HostCall(int kind, uint64_t bytes = 0);
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

 private:
  const bool noted_;
  Call call_;
};

uint64_t HostNs();

}  // namespace flex::activity
