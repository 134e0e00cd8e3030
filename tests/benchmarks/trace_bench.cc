// SPDX-License-Identifier: Apache-2.0
// What tracing costs: per recorded slice (on the model's hot path), per slice of a summary, of the
// file and of an export. Items are slices; time per item is 1 / items_per_second.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <ostream>
#include <random>
#include <streambuf>

#include "base/files.h"
#include "tests/benchmarks/instructions.h"
#include "traces/export/perfetto.h"
#include "traces/export/text_export.h"
#include "traces/recording/recorder.h"
#include "traces/summary.h"
#include "traces/trace_file.h"
#include "traces/trace_writer.h"

namespace spyre::trace::trace_bench {
namespace {

// Swallows what is written: measures the encoding, not the disk.
class NullBuffer : public std::streambuf {
 protected:
  std::streamsize xsputn(const char* /*data*/, std::streamsize size) override { return size; }
  int overflow(int c) override { return c; }
};

// 32 cores with five units each and 16 memory channels, whose requests overlap.
Trace Run(uint64_t slices) {
  Recorder recorder(slices);
  std::vector<TrackId> tracks;
  for (int core = 0; core < 32; ++core) {
    for (const char* unit : {"load", "store", "pt", "vector", "ring"}) {
      tracks.push_back(recorder.AddTrack(fmt::format("core {:02}", core), unit));
    }
  }
  for (int channel = 0; channel < 16; ++channel) {
    tracks.push_back(recorder.AddTrack("memory", fmt::format("channel {:02}", channel)));
  }
  const NameId name = recorder.Intern("tile");
  for (uint64_t i = 0; i < slices; ++i) {
    const uint64_t start = i / tracks.size() * 1000;
    recorder.Slice(kCore, tracks[i % tracks.size()], name, start, start + 700 + i % 7 * 100,
                   i / 1000 + 1, 4096);
  }
  return Snapshot(recorder);
}

constexpr uint64_t kSlices = 200000;

void BM_RecordSlice(benchmark::State& state) {
  Recorder recorder(1 << 16);
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  uint64_t time = 0;
  for (auto _ : spyre::benchmarks::Counted(state)) {
    recorder.Slice(kMemory, track, name, time, time + 10, 1, 64);
    time += 10;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RecordSlice);

// The same with a file behind it: packing and writing are in the figure.
void BM_RecordSliceToFile(benchmark::State& state) {
  const spyre::ScratchDirectory directory("trace_bench");
  TraceWriter writer(directory.path() + "/run.sctrace", "{}", 1 << 20);
  Recorder recorder(0);
  recorder.HandTo(writer, writer.block_records());
  std::vector<TrackId> tracks;
  for (int channel = 0; channel < 16; ++channel)
    tracks.push_back(recorder.AddTrack("memory", fmt::format("channel {:02}", channel)));
  const NameId name = recorder.Intern("read");
  std::mt19937_64 random(1);
  uint64_t time = 0;
  for (auto _ : spyre::benchmarks::Counted(state)) {
    const uint64_t bits = random();
    time += bits % 40'000;
    recorder.Slice(kMemory, tracks[bits >> 60], name, time, time + bits % 20'000, 1, 4096);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RecordSliceToFile);

void BM_RecordMaskedSlice(benchmark::State& state) {
  Recorder recorder(1 << 16, kHost);
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  uint64_t time = 0;
  for (auto _ : spyre::benchmarks::Counted(state)) {
    recorder.Slice(kMemory, track, name, time, time + 10, 1, 64);
    benchmark::DoNotOptimize(time += 10);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RecordMaskedSlice);

void BM_TraceSummary(benchmark::State& state) {
  const Trace trace = Run(kSlices);
  for (auto _ : spyre::benchmarks::Counted(state)) benchmark::DoNotOptimize(Summarize(trace));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kSlices));
}
BENCHMARK(BM_TraceSummary)->Unit(benchmark::kMillisecond);

void BM_TraceFileEncodeDecode(benchmark::State& state) {
  const Trace trace = Run(kSlices);
  for (auto _ : spyre::benchmarks::Counted(state))
    benchmark::DoNotOptimize(DecodeTrace(EncodeTrace(trace), "bench"));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kSlices));
}
BENCHMARK(BM_TraceFileEncodeDecode)->Unit(benchmark::kMillisecond);

template <void (*Export)(const Trace&, std::ostream&)>
void BM_TraceExport(benchmark::State& state) {
  const Trace trace = Run(kSlices);
  NullBuffer buffer;
  std::ostream out(&buffer);
  for (auto _ : spyre::benchmarks::Counted(state)) Export(trace, out);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kSlices));
}
BENCHMARK_TEMPLATE(BM_TraceExport, ExportPerfetto)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_TraceExport, ExportChrome)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_TraceExport, ExportCsv)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spyre::trace::trace_bench
