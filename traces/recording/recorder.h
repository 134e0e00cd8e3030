// SPDX-License-Identifier: Apache-2.0
// The trace recorder: what happened when, on which track, in simulated time. Used by model, driver,
// runtime, cosim.
//
// One recorder per run. Threads: any may record; calls take turns, so that contexts in several
// threads can share one. What is read afterwards (tracks, names, Records) is read when nothing
// records any more. Memory is bounded: when the buffer is full, its records go to the sink that
// there may be (trace_writer.h: a file), or else the oldest go and are counted. Recording never
// changes simulated time.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spyre::trace {

enum Category : uint32_t {
  kHost = 1 << 0,      // driver and runtime calls
  kControl = 1 << 1,   // control blocks: fetch, execute, respond
  kPcie = 1 << 2,      // link occupancy
  kDma = 1 << 3,       // DMA engine
  kRing = 1 << 4,      // ring transfers
  kMemory = 1 << 5,    // device memory channels
  kCore = 1 << 6,      // units of the cores
  kFirmware = 1 << 7,  // management controller
  kWait = 1 << 8,      // units of the cores waiting for each other; chosen with kCore
  kStep = 1 << 9,      // steps of a program, inside its control block; chosen with kControl
  kAll = 0xFFFFFFFF,
};
const char* CategoryName(Category category);
// names: "host", "core" (with its waits), ..., "all". Throws std::invalid_argument for others.
uint32_t CategoryMask(const std::vector<std::string>& names);

using TrackId = uint32_t;
using NameId = uint32_t;

// A slice of time on a track. 48 bytes, as stored in the trace file.
struct Record {
  uint64_t start_ps;
  uint64_t end_ps;  // == start_ps: an instant
  uint64_t flow;    // correlation of the control block this belongs to, 0: none
  uint64_t bytes;   // bytes moved, 0: none
  TrackId track;
  NameId name;
  uint32_t category;
  // Stream, core or channel number; kWait: the track that ended the wait; kStep: the iteration.
  uint32_t detail;
};
static_assert(sizeof(Record) == 48);

struct Track {
  std::string process;  // "host", "card", "core 03", ...: group in viewers
  std::string name;     // "stream 0", "dma in", "pt", "channel 7", ...
};

class Recorder;

// Takes records as they are made.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // The records since the last call, in order of recording; the recorder has their tracks and
  // names. Called under the recorder's lock: it must not record.
  virtual void Take(const Recorder& recorder, const std::vector<Record>& records) = 0;
};

class Recorder {
 public:
  // capacity: records kept. mask: categories recorded, 0: none.
  explicit Recorder(size_t capacity = 1 << 20, uint32_t mask = kAll);
  // A part of `whole`, which must outlive it: records and names go there, and the processes of
  // tracks are called "NAME: PROCESS". For one of several cards, or users of a card. Only what
  // records may be called, not what is read afterwards.
  Recorder(Recorder& whole, std::string name);

  bool Wants(Category category) const { return (mask_ & category) != 0; }
  // The same pair gives the same id, and so does the same name. Both search and may allocate: call
  // them once and keep the id. What is not printable UTF-8 becomes '?'.
  TrackId AddTrack(std::string_view process, std::string_view name);
  NameId Intern(std::string_view name);
  // Of the operations of a stream: "stream 3", or, once functions are to be told apart,
  // "stream 3, function 2".
  TrackId StreamTrack(std::string_view process, uint32_t stream, uint32_t function);
  void TellFunctionsApart() { functions_apart_ = true; }

  // Some ten nanoseconds, one when masked. Throws std::logic_error for an unknown track or name and
  // for a slice that ends before it starts.
  void Slice(Category category, TrackId track, NameId name, uint64_t start_ps, uint64_t end_ps,
             uint64_t flow = 0, uint64_t bytes = 0, uint32_t detail = 0) {
    if (Wants(category)) Add({start_ps, end_ps, flow, bytes, track, name, category, detail});
  }

  // From now on every `block_records` records go to the sink, which is not owned, and none is kept
  // or dropped here. Before the first record.
  void HandTo(RecordSink& sink, size_t block_records);
  // Hands over what there is; nothing without a sink.
  void Flush();

  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<std::string>& names() const { return names_; }
  std::vector<Record> Records() const;  // oldest first, in order of recording
  uint64_t dropped() const { return dropped_; }
  // Every record that ends later than this is kept: the latest end of those that were dropped.
  uint64_t whole_from_ps() const { return whole_from_ps_; }
  // xxh3 of every record ever added, also of dropped ones, and of all names: equal runs have equal
  // digests.
  uint64_t Digest() const;

 private:
  void Add(const Record& record);
  void HandOver();

  const uint32_t mask_;
  Recorder* const whole_ = nullptr;  // null: this is not a part
  const std::string part_;
  bool functions_apart_ = false;
  size_t capacity_;
  RecordSink* sink_ = nullptr;
  std::mutex mutex_;  // of all below, while something is recorded
  size_t next_ = 0;   // ring position once full
  uint64_t dropped_ = 0;
  uint64_t whole_from_ps_ = 0;
  uint64_t digest_ = 0;
  std::vector<Record> records_;
  std::vector<Track> tracks_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, TrackId> track_ids_;
  std::unordered_map<std::string, NameId> name_ids_;
};

}  // namespace spyre::trace
