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

#include "traces/recorder.h"
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

}  // namespace spyre::trace
