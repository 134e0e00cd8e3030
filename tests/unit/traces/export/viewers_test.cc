// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "base/json_text.h"
#include "base/ranges.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/export/perfetto.h"
#include "traces/export/text_export.h"
#include "traces/lanes.h"

namespace spyre::trace::viewers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One field of a protobuf message: a number, or bytes.
struct Field {
  uint64_t number = 0;
  std::string_view bytes;
};
using Fields = std::multimap<uint64_t, Field>;

// Walks the wire format; throws when it is not protobuf.
Fields Parse(std::string_view in) {
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<uint8_t>(in.at(0));
      in.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("varint of more than ten bytes");
  };
  Fields fields;
  while (!in.empty()) {
    const uint64_t key = varint();
    Field field;
    size_t size = 0;
    switch (key & 7) {
      case 0:
        field.number = varint();
        break;
      case 1:
        size = 8;
        for (size_t i = 0; i < size; ++i) {
          field.number |= uint64_t{static_cast<uint8_t>(in.at(i))} << 8 * i;
        }
        break;
      case 2:
        size = varint();
        if (size > in.size()) throw std::runtime_error("field longer than its message");
        field.bytes = in.substr(0, size);
        break;
      default:
        throw std::runtime_error("wire type " + std::to_string(key & 7));
    }
    in.remove_prefix(size);
    fields.emplace(key >> 3, field);
  }
  return fields;
}

uint64_t Number(const Fields& fields, uint64_t id) { return fields.find(id)->second.number; }
std::string Text(const Fields& fields, uint64_t id) {
  return std::string(fields.find(id)->second.bytes);
}

struct Slice {
  std::string process, track, name, category;
  uint64_t start_ns = 0, end_ns = 0, flow = 0;
  std::map<std::string, uint64_t> annotations;
};

// Reads a Perfetto file as its trace processor does, and checks its rules on the way.
class PerfettoReader {
 public:
  explicit PerfettoReader(const std::string& file) {
    for (const auto& [id, field] : Parse(file)) {
      EXPECT_EQ(id, 1U) << "a trace is packets only";
      ReadPacket(Parse(field.bytes));
    }
    for (const auto& [uuid, open] : open_) {
      EXPECT_TRUE(open.empty()) << names_[uuid] << " has slices that never end";
    }
  }
  std::vector<Slice> slices;
  std::map<uint64_t, std::string> processes;                   // by uuid
  std::map<std::string, std::map<uint64_t, double>> counters;  // "memory GB/s": value by time in ns

 private:
  void ReadPacket(const Fields& packet) {
    EXPECT_EQ(Number(packet, 10), 1U) << "trusted_packet_sequence_id";
    if (packet.count(12) == 1) {
      EXPECT_EQ(Number(packet, 13), 1U) << "SEQ_INCREMENTAL_STATE_CLEARED";
      EXPECT_TRUE(is_first_) << "interned data come first";
      ReadInterned(Parse(packet.find(12)->second.bytes));
    } else if (packet.count(60) == 1) {
      ReadTrack(Parse(packet.find(60)->second.bytes));
    } else {
      EXPECT_EQ(Number(packet, 13), 2U) << "SEQ_NEEDS_INCREMENTAL_STATE";
      ASSERT_EQ(packet.count(11), 1U);
      ReadEvent(Number(packet, 8), Parse(packet.find(11)->second.bytes));
    }
    is_first_ = false;
  }

  void ReadInterned(const Fields& data) {
    for (const auto& [id, field] : data) {
      const Fields entry = Parse(field.bytes);
      interned_[id][Number(entry, 1)] = Text(entry, 2);
    }
  }

  void ReadTrack(const Fields& track) {
    const uint64_t uuid = Number(track, 1);
    if (uuid == 0) return;  // the root: only says how processes are ordered
    EXPECT_TRUE(names_.emplace(uuid, Text(track, 2)).second) << "uuid " << uuid << " twice";
    if (track.count(3) == 1) {
      const Fields process = Parse(track.find(3)->second.bytes);
      EXPECT_GT(Number(process, 1), 0U) << "pid";
      processes[uuid] = Text(process, 6);
    } else {
      ASSERT_EQ(processes.count(Number(track, 5)), 1U) << "parents come before children";
      parent_[uuid] = Number(track, 5);
      if (track.count(8) == 1) {
        EXPECT_EQ(processes[parent_[uuid]], "counters");
        units_[uuid] = names_[uuid] + " " + Text(Parse(track.find(8)->second.bytes), 6);
      }
    }
  }

  void ReadEvent(uint64_t time_ns, const Fields& event) {
    EXPECT_GE(time_ns, last_ns_) << "packets are in time order";
    last_ns_ = time_ns;
    const uint64_t uuid = Number(event, 11);
    ASSERT_EQ(parent_.count(uuid), 1U) << "event on unknown track " << uuid;
    ASSERT_EQ(units_.count(uuid) == 1, Number(event, 9) == 4) << "counters have values only";
    if (units_.count(uuid) == 1) {
      double value = 0;
      std::memcpy(&value, &event.find(44)->second.number, sizeof value);
      counters[units_[uuid]][time_ns] = value;
      return;
    }
    auto& open = open_[uuid];
    if (Number(event, 9) == 2) {
      ASSERT_FALSE(open.empty()) << "an end without a begin on " << names_[uuid];
      Slice& slice = slices[open.back()];
      slice.end_ns = time_ns;
      // Nesting: begins and ends match like brackets when each end gives the recorded duration.
      EXPECT_EQ(slice.end_ns,
                (slice.annotations["start_ps"] + slice.annotations["duration_ps"]) / 1000)
          << slice.name << " ends with another slice's end";
      open.pop_back();
      return;
    }
    Slice slice;
    slice.process = processes[parent_[uuid]];
    slice.track = names_[uuid];
    slice.start_ns = slice.end_ns = time_ns;
    slice.name = interned_[2].at(Number(event, 10));
    slice.category = interned_[1].at(Number(event, 3));
    if (event.count(47) == 1) slice.flow = Number(event, 47);
    const auto [first, last] = event.equal_range(4);
    for (auto it = first; it != last; ++it) {
      const Fields annotation = Parse(it->second.bytes);
      slice.annotations[interned_[3].at(Number(annotation, 1))] = Number(annotation, 3);
    }
    if (Number(event, 9) == 1) open.push_back(slices.size());
    slices.push_back(slice);
  }

  bool is_first_ = true;
  uint64_t last_ns_ = 0;
  std::map<uint64_t, std::map<uint64_t, std::string>> interned_;  // by kind, iid
  std::map<uint64_t, std::string> names_;
  std::map<uint64_t, uint64_t> parent_;
  std::map<uint64_t, std::string> units_;  // of counters
  std::map<uint64_t, std::vector<size_t>> open_;
};

std::string Perfetto(const Trace& trace) {
  std::ostringstream out;
  ExportPerfetto(trace, out);
  return out.str();
}

// Slices of random lengths on few tracks: every kind of overlap.
Trace RandomTrace(int records, uint64_t max_length_ps, uint32_t seed) {
  std::mt19937_64 random(seed);
  Recorder recorder;
  for (int i = 0; i < 3; ++i) recorder.AddTrack("memory", "channel 0" + std::to_string(i));
  const NameId name = recorder.Intern("read");
  for (int i = 0; i < records; ++i) {
    const uint64_t start = random() % 100000;
    recorder.Slice(kMemory, static_cast<TrackId>(random() % 3), name, start,
                   start + random() % max_length_ps, random() % 5, 64);
  }
  return Snapshot(recorder);
}

TEST(Perfetto, HoldsEverySliceWithNameTrackFlowAndAnnotations) {
  const PerfettoReader reader(Perfetto(SampleTrace()));
  ASSERT_EQ(reader.slices.size(), 11U);
  std::set<std::string> processes;
  for (const auto& [uuid, name] : reader.processes) processes.insert(name);
  EXPECT_THAT(processes, ElementsAre("card", "core 00", "core 01", "counters", "host"));

  const auto slice = FindIf(reader.slices, [](const Slice& s) { return s.name == "DMA_OUT"; });
  ASSERT_NE(slice, reader.slices.end());
  EXPECT_EQ(slice->process, "card");
  EXPECT_EQ(slice->track, "stream 0");
  EXPECT_EQ(slice->category, "control");
  EXPECT_EQ(slice->start_ns, 6U);
  EXPECT_EQ(slice->end_ns, 8U);
  EXPECT_EQ(slice->flow, 10U);
  const std::map<std::string, uint64_t> expected = {
      {"bytes", 1024}, {"stream", 0}, {"start_ps", 6000}, {"duration_ps", 2000}};
  EXPECT_EQ(slice->annotations, expected);
}

TEST(Perfetto, CountersHaveUnitsAndChangeOnlyWhereTheirValueDoes) {
  const PerfettoReader reader(Perfetto(SampleTrace()));
  ASSERT_EQ(reader.counters.count("pt %"), 1U);
  // Both PT units work from 3 to 4 ns, one of them up to 5.
  const std::map<uint64_t, double> expected = {{0, 0}, {3, 100}, {4, 50}, {5, 0}};
  EXPECT_EQ(reader.counters.at("pt %"), expected);
}

TEST(Perfetto, OneControlBlockIsOneFlowThroughAllProcesses) {
  const PerfettoReader reader(Perfetto(SampleTrace()));
  std::vector<std::string> path;
  for (const Slice& slice : reader.slices) {
    if (slice.flow == 7) path.push_back(slice.process + "/" + slice.track);
  }
  EXPECT_THAT(path, ElementsAre("host/thread 0", "card/stream 0", "card/dma in", "host/thread 0",
                                "card/dma in"));
}

TEST(Perfetto, SlicesNestOnEveryLaneWhateverOverlaps) {
  for (const uint64_t length : {50, 2000, 100000}) {
    const Trace trace = RandomTrace(2000, length, static_cast<uint32_t>(length));
    EXPECT_EQ(PerfettoReader(Perfetto(trace)).slices.size(), 2000U) << "up to " << length << " ps";
  }
}

TEST(Perfetto, EmptyRunIsAValidFile) {
  EXPECT_TRUE(PerfettoReader(Perfetto(Snapshot(Recorder(0)))).slices.empty());
}

TEST(Lanes, NestedSlicesShareALaneAndOthersDoNot) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  const auto add = [&](uint64_t start, uint64_t end) {
    recorder.Slice(kMemory, track, name, start, end);
  };
  add(0, 100);
  add(10, 50);    // inside the first
  add(40, 120);   // across the end of both
  add(100, 110);  // after the first
  add(40, 40);    // an instant
  const Lanes lanes = AssignLanes(Snapshot(recorder));
  EXPECT_THAT(lanes.lane, ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(lanes.count, ElementsAre(2));
}

TEST(Lanes, ManySlicesAtOnceNeedAsManyLanesAndNoMore) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  for (uint64_t i = 0; i < 10000; ++i) recorder.Slice(kMemory, track, name, i, i + 100);
  EXPECT_THAT(AssignLanes(Snapshot(recorder)).count, ElementsAre(100));
}

TEST(Processes, AreInReadingOrder) {
  Recorder recorder;
  for (const char* process : {"core 01", "memory", "ring", "core 00", "card", "pcie", "host"}) {
    recorder.AddTrack(process, "t");
  }
  std::vector<std::string> names;
  for (const ProcessTracks& process : Processes(Snapshot(recorder))) names.push_back(process.name);
  EXPECT_THAT(names, ElementsAre("host", "card", "pcie", "memory", "ring", "core 00", "core 01"));
}

TEST(Chrome, IsJsonWithExactTimesAndFlowsFromFirstToLastSlice) {
  std::ostringstream out;
  ExportChrome(SampleTrace(), out);
  const auto json = SortedJsonOf(out.str());
  EXPECT_EQ(json["otherData"]["card"], "spyre");
  EXPECT_THAT(out.str(), HasSubstr(R"("ts":0.001000,"dur":0.001000)")) << "us with ps digits";
  int slices = 0, instants = 0;
  std::map<uint64_t, std::string> flows;
  for (const auto& event : json["traceEvents"]) {
    const std::string phase = event["ph"];
    slices += phase == "X";
    instants += phase == "i";
    if (event.contains("id")) flows[event["id"]] += phase;
  }
  EXPECT_EQ(slices, 10);
  EXPECT_EQ(instants, 1);
  const std::map<uint64_t, std::string> expected = {{7, "sttf"}, {8, "sttf"}};
  EXPECT_EQ(flows, expected) << "control blocks with one slice have no arrow";
}

TEST(Csv, HasARowPerRecordAndQuotesWhereNeeded) {
  std::ostringstream out;
  ExportCsv(SampleTrace(), out);
  EXPECT_THAT(out.str(),
              StartsWith("start_ps,end_ps,process,track,category,name,flow,bytes,detail\n"
                         "0,900,host,thread 0,host,enqueue,7,0,0\n"
                         "400,400,host,thread 0,host,\"doorbell, \"\"0\"\"\",7,0,0\n"));
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12);
}

}  // namespace
}  // namespace spyre::trace::viewers_test
