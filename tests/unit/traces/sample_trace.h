// SPDX-License-Identifier: Apache-2.0
// A small run whose every number a reader can check: two streams, one kernel, two cores.
//
//   time in ps   0         1000      2000      3000      4000      5000      6000      7000    8000
//   stream 0     |DMA_IN-------------|         |COMPUTE mm------------------|DMA_OUT------------|
//   stream 1                              |COMPUTE mm---------|
//   dma in       |burst------|
//                          |burst------|
//   core 00/pt                                 |tile-----|tile-----|
//   core 01/pt                                 |tile-----|
#pragma once

#include <string>

#include "traces/recording/recorder.h"
#include "traces/trace_file.h"

namespace spyre::trace {

inline void RecordSample(Recorder& recorder) {
  const TrackId host = recorder.AddTrack("host", "thread 0");
  const TrackId stream0 = recorder.AddTrack("card", "stream 0");
  const TrackId stream1 = recorder.AddTrack("card", "stream 1");
  const TrackId dma = recorder.AddTrack("card", "dma in");
  const TrackId pt0 = recorder.AddTrack("core 00", "pt");
  const TrackId pt1 = recorder.AddTrack("core 01", "pt");
  const NameId enqueue = recorder.Intern("enqueue");
  const NameId ring = recorder.Intern("doorbell, \"0\"");
  const NameId dma_in = recorder.Intern("DMA_IN");
  const NameId mm = recorder.Intern("COMPUTE mm");
  const NameId dma_out = recorder.Intern("DMA_OUT");
  const NameId burst = recorder.Intern("burst");
  const NameId tile = recorder.Intern("tile");

  recorder.Slice(kHost, host, enqueue, 0, 900, 7);
  recorder.Slice(kHost, host, ring, 400, 400, 7);
  recorder.Slice(kControl, stream0, dma_in, 0, 2000, 7, 4096, 0);
  recorder.Slice(kDma, dma, burst, 0, 1200, 7, 2048);
  recorder.Slice(kDma, dma, burst, 1000, 2000, 7, 2048);
  recorder.Slice(kControl, stream0, mm, 3000, 6000, 8, 0, 0);
  recorder.Slice(kControl, stream1, mm, 2500, 4500, 9, 0, 1);
  recorder.Slice(kCore, pt0, tile, 3000, 4000, 8, 0, 0);
  recorder.Slice(kCore, pt0, tile, 4000, 5000, 8, 0, 0);
  recorder.Slice(kCore, pt1, tile, 3000, 4000, 8, 0, 1);
  recorder.Slice(kControl, stream0, dma_out, 6000, 8000, 10, 1024, 0);
}

inline Trace SampleTrace() {
  Recorder recorder;
  RecordSample(recorder);
  return Snapshot(recorder, R"({"card":"spyre","config":"1f03"})");
}

// One kernel on two cores, of 8000 ps. What its end depended on, last first: the store; the barrier
// that core 01 reached last; core 01's vector unit, late because of its load; the launch.
//
//   time in ps     1000   1500                  3500          6000    7300 7500         8900 9000
//   COMPUTE sum    |-------------------------------------------------------------------------|
//   core 00/load          |load-|load-------------|(4500)
//   core 00/pt             <wait 3100>|matmul 4000|<wait 4600>|matmul|
//   core 00/ring          <wait                               6100>|barrier-----|(7500)
//   core 00/store         <wait                                             7600>|store-|
//   core 01/load          |load-----------------|
//   core 01/vector        <wait                3600>|vunary---------------|(7300)
//   core 01/ring          <wait                                       7400>|barrier|(7500)
//
// A token takes 100 ps from its giver to its taker; the barrier takes 100 ps after the last
// arrival.
inline void RecordKernel(Recorder& recorder) {
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  const TrackId load0 = recorder.AddTrack("core 00", "load");
  const TrackId store0 = recorder.AddTrack("core 00", "store");
  const TrackId pt0 = recorder.AddTrack("core 00", "pt");
  const TrackId ring0 = recorder.AddTrack("core 00", "ring");
  const TrackId load1 = recorder.AddTrack("core 01", "load");
  const TrackId vector1 = recorder.AddTrack("core 01", "vector");
  const TrackId ring1 = recorder.AddTrack("core 01", "ring");
  const TrackId channel = recorder.AddTrack("memory", "channel 00");
  const NameId token_wait = recorder.Intern("token wait");
  const NameId barrier_wait = recorder.Intern("barrier wait");
  const auto work = [&](TrackId track, const char* name, uint64_t start, uint64_t end) {
    recorder.Slice(kCore, track, recorder.Intern(name), start, end, 8);
  };
  const auto wait = [&](TrackId track, NameId name, uint64_t start, uint64_t end, TrackId by) {
    recorder.Slice(kWait, track, name, start, end, 8, 0, by);
  };
  recorder.Slice(kMemory, channel, recorder.Intern("burst"), 2000, 2500, 8, 128);
  work(load0, "load", 1500, 3000);
  wait(pt0, token_wait, 1600, 3100, load0);
  work(load1, "load", 1500, 3500);
  wait(vector1, token_wait, 1500, 3600, load1);
  work(pt0, "matmul", 3100, 4000);
  work(load0, "load", 2000, 4500);
  wait(pt0, token_wait, 4000, 4600, load0);
  work(pt0, "matmul", 4600, 6000);
  wait(ring0, token_wait, 1500, 6100, pt0);
  work(vector1, "vunary", 3600, 7300);
  wait(ring1, token_wait, 1500, 7400, vector1);
  wait(ring0, barrier_wait, 6100, 7400, ring1);
  work(ring1, "barrier", 7400, 7500);
  work(ring0, "barrier", 6100, 7500);
  wait(store0, token_wait, 1500, 7600, ring0);
  work(store0, "store", 7600, 8900);
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE sum"), 1000, 9000, 8);
}

inline Trace KernelTrace(uint32_t mask = kAll) {
  Recorder recorder(1000, mask);
  RecordKernel(recorder);
  return Snapshot(recorder, R"({"card":"spyre"})");
}

}  // namespace spyre::trace
