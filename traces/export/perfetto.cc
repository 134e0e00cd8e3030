// SPDX-License-Identifier: Apache-2.0
#include "traces/export/perfetto.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "traces/export/counters.h"
#include "traces/lanes.h"

namespace spyre::trace {
namespace {

namespace packet {
enum { kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInterned = 12, kFlags = 13 };
enum { kTrackDescriptor = 60 };
}  // namespace packet
namespace track {
enum {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kParent = 5,
  kCounter = 8,
  kChildOrder = 11,
  kRank = 12,
  kProcessOrder = 19
};
}
namespace process {
enum { kPid = 1, kSortIndex = 3, kName = 6 };
}
namespace counter {
enum { kUnitName = 6 };
}
namespace event {
enum {
  kCategoryIid = 3,
  kAnnotation = 4,
  kType = 9,
  kNameIid = 10,
  kTrack = 11,
  kDoubleValue = 44,
  kFlowId = 47
};
}
namespace annotation {
enum { kNameIid = 1, kUint = 3 };
}
namespace interned {
enum { kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kIid = 1, kText = 2 };
}
constexpr uint64_t kStateCleared = 1;       // SEQ_INCREMENTAL_STATE_CLEARED
constexpr uint64_t kNeedsState = 2;         // SEQ_NEEDS_INCREMENTAL_STATE
constexpr uint64_t kExplicitOrder = 3;      // TrackDescriptor.ChildTracksOrdering.EXPLICIT
constexpr uint64_t kExplicitProcesses = 1;  // TrackDescriptor.ProcessOrdering.EXPLICIT
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterValue = 4;
constexpr uint64_t kSequence = 1;

// Iid 0 means none: ids are one more than the index.
constexpr std::array<const char*, 5> kAnnotations = {"bytes", "stream", "detail", "start_ps",
                                                     "duration_ps"};
enum AnnotationIid : uint64_t { kBytesIid = 1, kStreamIid, kDetailIid, kStartIid, kDurationIid };

// A message under construction. Cleared and used again: no allocation per packet.
class Message {
 public:
  void Clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

  Message& Uint(uint64_t field, uint64_t value) {
    Varint(field << 3);
    Varint(value);
    return *this;
  }
  Message& Fixed64(uint64_t field, uint64_t value) {
    Varint(field << 3 | 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift);
    return *this;
  }
  Message& Double(uint64_t field, double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return Fixed64(field, bits);
  }
  Message& Bytes(uint64_t field, std::string_view value) {
    Varint(field << 3 | 2);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& Sub(uint64_t field, const Message& value) { return Bytes(field, value.bytes_); }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

class Exporter {
 public:
  Exporter(const Trace& trace, std::ostream& out)
      : trace_(trace), out_(out), lanes_(AssignLanes(trace)) {
    // Lane 0 of track t is uuid first_uuid_[t]; 0 and the processes come before.
    uint64_t uuid = 1 + trace.tracks.size();
    for (const uint32_t count : lanes_.count) {
      first_uuid_.push_back(uuid);
      uuid += count;
    }
    first_counter_ = uuid;
  }

  void Run() {
    WriteInterned();
    WriteDescriptors();
    WriteCounterTracks();
    for (const Event& e : Events(trace_, lanes_)) {
      WriteCountersUpTo(e.time_ps);
      WriteEvent(e);
    }
    WriteCountersUpTo(UINT64_MAX);
    Flush();
  }

 private:
  // Frames packet_ as one TracePacket (field 1 of Trace).
  void WritePacket() {
    packet_.Uint(packet::kSequenceId, kSequence);
    buffer_.Sub(1, packet_);
    packet_.Clear();
    if (buffer_.bytes().size() > (1 << 20)) Flush();
  }
  void Flush() {
    out_.write(buffer_.bytes().data(), static_cast<std::streamsize>(buffer_.bytes().size()));
    buffer_.Clear();
  }

  void WriteInterned() {
    Message data;
    const auto add = [&](uint64_t field, uint64_t iid, std::string_view text) {
      Message entry;
      entry.Uint(interned::kIid, iid).Bytes(interned::kText, text);
      data.Sub(field, entry);
    };
    for (uint32_t bit = 1; bit <= kStep; bit <<= 1) {
      add(interned::kCategories, bit, CategoryName(static_cast<Category>(bit)));
    }
    for (size_t i = 0; i < trace_.names.size(); ++i) {
      add(interned::kEventNames, i + 1, trace_.names[i]);
    }
    for (size_t i = 0; i < kAnnotations.size(); ++i) {
      add(interned::kAnnotationNames, i + 1, kAnnotations[i]);
    }
    packet_.Uint(packet::kFlags, kStateCleared).Sub(packet::kInterned, data);
    WritePacket();
  }

  void WriteDescriptors() {
    // The root, on which no events lie: viewers that know the field keep our order of processes.
    Message root;
    root.Uint(track::kUuid, 0).Uint(track::kProcessOrder, kExplicitProcesses);
    packet_.Sub(packet::kTrackDescriptor, root);
    WritePacket();
    uint64_t pid = 0;
    for (const ProcessTracks& tracks : Processes(trace_)) {
      ++pid;
      Message owner, descriptor;
      owner.Uint(process::kPid, pid).Uint(process::kSortIndex, pid);
      owner.Bytes(process::kName, tracks.name);
      descriptor.Uint(track::kUuid, pid).Bytes(track::kName, tracks.name);
      descriptor.Sub(track::kProcess, owner).Uint(track::kRank, pid);
      descriptor.Uint(track::kChildOrder, kExplicitOrder);
      packet_.Sub(packet::kTrackDescriptor, descriptor);
      WritePacket();
      uint64_t rank = 0;
      for (const TrackId id : tracks.tracks) {
        for (uint32_t lane = 0; lane < lanes_.count[id]; ++lane) {
          Message child;
          child.Uint(track::kUuid, first_uuid_[id] + lane);
          child.Bytes(track::kName, trace_.tracks[id].name);
          child.Uint(track::kParent, pid).Uint(track::kRank, rank);
          packet_.Sub(packet::kTrackDescriptor, child);
          WritePacket();
        }
        ++rank;  // lanes share it: the viewer merges siblings of one name
      }
    }
  }

  // Below a process of their own, with units. A value holds from its time on.
  void WriteCounterTracks() {
    const Counters counters = CountersOf(trace_);
    if (counters.counters.empty()) return;
    const uint64_t pid = Processes(trace_).size() + 1;
    const uint64_t owner_uuid = first_counter_;
    Message owner, descriptor;
    owner.Uint(process::kPid, pid).Uint(process::kSortIndex, 0).Bytes(process::kName, "counters");
    descriptor.Uint(track::kUuid, owner_uuid).Bytes(track::kName, "counters");
    descriptor.Sub(track::kProcess, owner).Uint(track::kRank, 0);
    packet_.Sub(packet::kTrackDescriptor, descriptor);
    WritePacket();
    for (size_t i = 0; i < counters.counters.size(); ++i) {
      const Counter& counter = counters.counters[i];
      Message unit, child;
      unit.Bytes(counter::kUnitName, counter.unit);
      child.Uint(track::kUuid, owner_uuid + 1 + i).Bytes(track::kName, counter.name);
      child.Uint(track::kParent, owner_uuid).Sub(track::kCounter, unit);
      packet_.Sub(packet::kTrackDescriptor, child);
      WritePacket();
      double last = -1;
      for (size_t period = 0; period <= counter.values.size(); ++period) {
        const double value = period == counter.values.size() ? 0 : counter.values[period];
        if (value == last) continue;
        last = value;
        counter_values_.push_back(
            {counters.from_ps + period * counters.period_ps, owner_uuid + 1 + i, value});
      }
    }
    std::stable_sort(counter_values_.begin(), counter_values_.end(),
                     [](const CounterValue& a, const CounterValue& b) { return a.ps < b.ps; });
  }

  // Those up to `ps` that have not been written: packets are in order of time.
  void WriteCountersUpTo(uint64_t ps) {
    for (; next_counter_ < counter_values_.size() && counter_values_[next_counter_].ps <= ps;
         ++next_counter_) {
      const CounterValue& value = counter_values_[next_counter_];
      event_.Clear();
      event_.Uint(event::kTrack, value.track).Uint(event::kType, kCounterValue);
      event_.Double(event::kDoubleValue, value.value);
      packet_.Uint(packet::kTimestamp, value.ps / 1000).Sub(packet::kTrackEvent, event_);
      packet_.Uint(packet::kFlags, kNeedsState);
      WritePacket();
    }
  }

  void WriteEvent(const Event& e) {
    const Record& record = trace_.records[e.record];
    event_.Clear();
    event_.Uint(event::kTrack, first_uuid_[record.track] + lanes_.lane[e.record]);
    if (e.kind == Event::kEnd) {
      event_.Uint(event::kType, kSliceEnd);
    } else {
      event_.Uint(event::kType, e.kind == Event::kBegin ? kSliceBegin : kInstant);
      event_.Uint(event::kNameIid, record.name + uint64_t{1});
      event_.Uint(event::kCategoryIid, record.category);
      if (record.flow != 0) event_.Fixed64(event::kFlowId, record.flow);
      if (record.bytes != 0) Annotate(kBytesIid, record.bytes);
      Annotate(record.category == kControl ? kStreamIid : kDetailIid, record.detail);
      Annotate(kStartIid, record.start_ps);
      Annotate(kDurationIid, record.end_ps - record.start_ps);
    }
    packet_.Uint(packet::kTimestamp, e.time_ps / 1000).Sub(packet::kTrackEvent, event_);
    packet_.Uint(packet::kFlags, kNeedsState);
    WritePacket();
  }

  void Annotate(AnnotationIid name, uint64_t value) {
    annotation_.Clear();
    annotation_.Uint(annotation::kNameIid, name).Uint(annotation::kUint, value);
    event_.Sub(event::kAnnotation, annotation_);
  }

  const Trace& trace_;
  std::ostream& out_;
  Lanes lanes_;
  std::vector<uint64_t> first_uuid_;
  struct CounterValue {
    uint64_t ps, track;
    double value;
  };
  std::vector<CounterValue> counter_values_;  // in order of time
  size_t next_counter_ = 0;
  uint64_t first_counter_ = 0;  // the process of counters; they come behind it
  Message buffer_, packet_, event_, annotation_;
};

}  // namespace

void ExportPerfetto(const Trace& trace, std::ostream& out) { Exporter(trace, out).Run(); }

}  // namespace spyre::trace
