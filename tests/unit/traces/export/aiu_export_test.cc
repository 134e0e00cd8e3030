// SPDX-License-Identifier: Apache-2.0
#include "traces/export/aiu_export.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json_text.h"
#include "traces/run_results.h"

namespace spyre::trace::aiu_export_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

constexpr uint64_t kWrap = 1ull << 32;  // ns

// Two tiles: copy in, correction, kernel; then a copy out. The second kernel ends behind the wrap
// of the card's time stamps.
Trace Tiles() {
  Recorder recorder;
  const TrackId driver = recorder.AddTrack("host", "driver, function 1");
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  const NameId submit = recorder.Intern("submit");
  const auto block = [&](const char* name, uint64_t flow, uint64_t from_ns, uint64_t to_ns,
                         uint64_t bytes) {
    recorder.Slice(kHost, driver, submit, flow * 1000'000, flow * 1000'000 + 150'000, flow);
    recorder.Slice(kControl, stream, recorder.Intern(name), from_ns * 1000 + 1, to_ns * 1000 + 999,
                   flow, bytes);
  };
  block("DMA_IN", 1, 10'000, 12'000, 8192);
  block("COMPUTE mm correction", 2, 12'100, 12'500, 0);
  block("COMPUTE mm", 3, 13'000, 23'000, 1000);
  block("COMPUTE mm correction", 4, 23'100, 23'500, 0);
  block("COMPUTE mm", 5, 24'000, kWrap + 7, 1000);
  block("DMA_OUT", 6, kWrap + 100, kWrap + 300, 4096);
  Trace trace = Snapshot(
      recorder, R"({"config":{"card":{"cores":2,"core":{"corelets":2,"pt_macs_per_cycle":512}}}})");
  RunResults results;
  results.launch_end_ps = 1;
  results.macs = {{3, 4096000}, {5, 4096000}};
  results.kernels = {{3, {}}, {5, {}}};
  trace.results = EncodeRunResults(results);
  return trace;
}

json Export(const Trace& trace, const AiuOptions& options = {}) {
  std::ostringstream out;
  ExportAiu(trace, options, out);
  return SortedJsonOf(out.str());
}

std::vector<json> Named(const json& file, const std::string& part) {
  std::vector<json> found;
  for (const json& event : file["traceEvents"]) {
    if (event["name"].get<std::string>().find(part) != std::string::npos) found.push_back(event);
  }
  return found;
}

TEST(AiuExport, IsAFileOfOneRankWithOneDevice) {
  const json file = Export(Tiles(), {3, 4});
  ASSERT_EQ(file["deviceProperties"].size(), 1u);
  EXPECT_EQ(file["deviceProperties"][0]["id"], 3);
  EXPECT_EQ(file["distributedInfo"]["rank"], 3);
  EXPECT_EQ(file["distributedInfo"]["world_size"], 4);
  for (const json& event : Named(file, "Cmpt Exec")) EXPECT_EQ(event["pid"], 3);
}

TEST(AiuExport, KernelsHaveWindowsOfTimeStampsThatWrap) {
  const std::vector<json> kernels = Named(Export(Tiles()), "mm Cmpt Exec");
  ASSERT_EQ(kernels.size(), 2u);
  const json& first = kernels[0];
  EXPECT_EQ(first["cat"], "kernel");
  EXPECT_DOUBLE_EQ(first["ts"].get<double>(), 13.0) << "whole nanoseconds";
  EXPECT_DOUBLE_EQ(first["dur"].get<double>(), 10.0);
  EXPECT_EQ(first["args"]["TS3"], "13000");
  EXPECT_EQ(first["args"]["TS4"], "23000");
  EXPECT_EQ(first["args"]["TS5"], "23000");
  EXPECT_EQ(kernels[1]["args"]["TS4"], "7") << "32 bits";
  EXPECT_EQ(first["args"]["correlation"], 3);
  EXPECT_EQ(kernels[1]["args"]["correlation"], 5) << "a program that comes again begins anew";
}

TEST(AiuExport, ACorrectionIsThePreparationOfItsKernel) {
  const json file = Export(Tiles());
  EXPECT_TRUE(Named(file, "correction").empty());
  const std::vector<json> preparations = Named(file, "mm Cmpt Prep");
  ASSERT_EQ(preparations.size(), 2u);
  EXPECT_EQ(preparations[0]["args"]["TS3"], "13000");
  EXPECT_DOUBLE_EQ(preparations[0]["ts"].get<double>(), 3.15) << "from when it was submitted";
  // They wait together: not on one track.
  EXPECT_NE(preparations[0]["tid"], preparations[1]["tid"]);
}

TEST(AiuExport, CopiesHaveBytesAndBandwidth) {
  const json file = Export(Tiles());
  const std::vector<json> in = Named(file, "Memcpy (HtoD) DmaI");
  ASSERT_EQ(in.size(), 1u);
  EXPECT_EQ(in[0]["cat"], "gpu_memcpy");
  EXPECT_EQ(in[0]["args"]["bytes"], 8192);
  EXPECT_DOUBLE_EQ(in[0]["args"]["memory bandwidth (GB/s)"].get<double>(), 8192.0 / 2000);
  EXPECT_EQ(in[0]["args"]["TS1"], "10000");
  EXPECT_EQ(in[0]["args"]["TS2"], "12000");
  const std::vector<json> out = Named(file, "Memcpy (DtoH) DmaO");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]["args"]["TS5"], "300");
}

TEST(AiuExport, HostCallsHaveTheNamesOfTheProfilingLibraryAndArrowsToTheirKernels) {
  const json file = Export(Tiles());
  const std::vector<json> launches = Named(file, "aiuLaunchControlBlocks");
  EXPECT_EQ(launches.size(), 6u);
  EXPECT_EQ(launches[0]["cat"], "cuda_runtime");
  EXPECT_EQ(launches[0]["args"]["num_cbs"], 1);
  std::map<std::string, std::set<uint64_t>> arrows;
  for (const json& arrow : Named(file, "ac2g"))
    arrows[arrow["ph"]].insert(arrow["id"].get<uint64_t>());
  EXPECT_EQ(arrows["s"], arrows["f"]);
  EXPECT_EQ(arrows["f"], (std::set<uint64_t>{3, 5}));
}

TEST(AiuExport, MemoryEventsHaveWhatIsHeldAfterwards) {
  Recorder recorder;
  const TrackId memory = recorder.AddTrack("host", "device memory");
  const NameId allocate = recorder.Intern("allocate"), release = recorder.Intern("free");
  recorder.Slice(kHost, memory, allocate, 1000, 1000, 0, 4096, 3);
  recorder.Slice(kHost, memory, allocate, 2000, 2000, 0, 1024, 64);
  recorder.Slice(kHost, memory, release, 3000, 3000, 0, 4096, 3);
  std::vector<int64_t> held;
  for (const json& event : Named(Export(Snapshot(recorder)), "[memory]")) {
    held.push_back(event["args"]["Total Allocated"].get<int64_t>());
    EXPECT_EQ(event["ph"], "i");
  }
  EXPECT_THAT(held, ElementsAre(4096, 5120, 1024));
  EXPECT_EQ(Named(Export(Snapshot(recorder)), "[memory]")[0]["args"]["Addr"], 3 * 128);
}

TEST(AiuExport, EventsAreInOrderOfTime) {
  double last = -1;
  const json file = Export(Tiles());
  for (const json& event : file["traceEvents"]) {
    EXPECT_GE(event["ts"].get<double>(), last);
    last = event["ts"];
  }
}

TEST(AiuExport, IdealCyclesAreTheMacsByThoseOfAllPtArrays) {
  const std::vector<IdealCycles> table = IdealCyclesOf(Tiles());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].kernel, "mm");
  EXPECT_EQ(table[0].category, "matmul");
  EXPECT_THAT(table[0].cycles, ElementsAre(2000)) << "4096000 by 2 cores x 2 corelets x 512";
  const ScratchDirectory directory("aiu_export");
  const std::vector<std::string> paths = WriteIdealCycles(Tiles(), directory.path() + "/x.json");
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths[0], directory.path() + "/inductor-spyre/mm/perf/ideal_cycles.json");
  EXPECT_EQ(SortedJsonOf(ReadFile(paths[0], "cycles")),
            SortedJsonOf(R"([{"ideal_cycles": 2000, "op_category": "matmul"}])"));
}

TEST(AiuExport, KernelsOfRoundsThatAreNotAlikeShareOneCorrelation) {
  Recorder recorder;
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  uint64_t flow = 10;
  for (const char* name : {"COMPUTE b", "COMPUTE a", "COMPUTE a"}) {
    recorder.Slice(kControl, stream, recorder.Intern(name), flow * 10'000, flow * 10'000 + 5'000,
                   flow);
    ++flow;
  }
  const Trace trace = Snapshot(recorder);
  std::set<uint64_t> correlations;
  std::vector<std::string> names;
  for (const json& event : Named(Export(trace), "Cmpt Exec")) {
    correlations.insert(event["args"]["correlation"].get<uint64_t>());
    names.push_back(event["name"]);
  }
  EXPECT_EQ(correlations.size(), 1u);
  EXPECT_THAT(names, ElementsAre("0_b Cmpt Exec", "1_a Cmpt Exec", "1_a Cmpt Exec"))
      << "numbered, so that the order of names is that of events";
  const std::vector<IdealCycles> table = IdealCyclesOf(trace);
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[1].cycles.size(), 2u);
  // The tool divides by the sum of them, and ends with an error if it is 0.
  for (const IdealCycles& entry : table)
    for (const uint64_t cycles : entry.cycles) EXPECT_EQ(cycles, 1u) << entry.kernel;
}

}  // namespace
}  // namespace spyre::trace::aiu_export_test
