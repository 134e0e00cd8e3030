// SPDX-License-Identifier: Apache-2.0
// make_trace FILE kernel: writes the kernel of tests/unit/traces/sample_trace.h.
// make_trace FILE SLICES: writes a trace of about that many slices, as a card with 32 cores leaves
// it in a run of many kernels: the tracks and names of a run of spyre-cosim, times that jitter.
// The same arguments give the same file. The tests of the report page measure with it.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/traces/sample_trace.h"
#include "traces/recording/recorder.h"
#include "traces/trace_file.h"

namespace spyre::trace {
namespace {

constexpr unsigned kCores = 32, kChannels = 16, kLinks = 33;
constexpr uint64_t kSetUpPs = 100'000'000'000, kKernelPs = 80'000'000;
constexpr uint64_t kInKernel = 66'000;  // slices of a kernel, about

class Run {
 public:
  explicit Run(Recorder& recorder) : recorder_(recorder) {
    host_ = recorder.AddTrack("host", "stream 0");
    stream_ = recorder.AddTrack("card", "stream 0");
    for (const char* way : {"cw", "ccw"}) {
      for (unsigned i = 0; i < kLinks; ++i)
        links_.push_back(recorder.AddTrack("ring", fmt::format("link {} {:02}", way, i)));
    }
    for (unsigned i = 0; i < kChannels; ++i)
      channels_.push_back(recorder.AddTrack("memory", fmt::format("channel {:02}", i)));
    for (unsigned i = 0; i < kCores; ++i) {
      for (const char* unit : {"load", "pt", "vector", "store"})
        units_.push_back(recorder.AddTrack(fmt::format("core {:02}", i), unit));
    }
  }

  void Kernel(uint64_t number) {
    const uint64_t start = kSetUpPs + number * (kKernelPs + 2'000'000), end = start + kKernelPs;
    const uint64_t flow = (uint64_t{1} << 48) + number + 1;
    recorder_.Slice(kHost, host_, recorder_.Intern("Launch"), start - 1'500'000, start - 1'000'000,
                    flow);
    for (const TrackId link : links_) Bursts(kRing, link, start, end, 3'077, 93'000, flow, 256);
    for (const TrackId channel : channels_)
      Bursts(kMemory, channel, start, end, 20'000, 72'000, 0, 512);
    for (unsigned core = 0; core < kCores; ++core) Core(core, start, end, flow);
    recorder_.Slice(kControl, stream_, recorder_.Intern("COMPUTE matmul"), start, end, flow,
                    8'393'600);
  }

 private:
  uint64_t Around(uint64_t mean_ps) { return mean_ps / 2 + random_() % mean_ps; }

  void Bursts(Category category, TrackId track, uint64_t start, uint64_t end, uint64_t length,
              uint64_t every, uint64_t flow, uint64_t bytes) {
    const NameId name = recorder_.Intern("burst");
    for (uint64_t now = start + Around(every); now < end - 4 * every; now += Around(every)) {
      const uint64_t bursts = 1 + random_() % 3;
      recorder_.Slice(category, track, name, now, now + bursts * length / 2, flow, bursts * bytes);
      now += bursts * length / 2;
    }
  }

  void Core(unsigned core, uint64_t start, uint64_t end, uint64_t flow) {
    const TrackId load = units_[core * 4], pt = units_[core * 4 + 1], vector = units_[core * 4 + 2],
                  store = units_[core * 4 + 3];
    const NameId token = recorder_.Intern("token wait"), partner = recorder_.Intern("partner wait");
    for (uint64_t now = start + Around(800'000); now < end - 4'000'000;) {
      const uint64_t loaded = now + Around(2'400'000);
      recorder_.Slice(kCore, load, recorder_.Intern("load"), now, loaded, flow, 65'536, core);
      for (uint64_t t = now + Around(60'000); t + 100'000 < loaded; t += Around(110'000))
        recorder_.Slice(kWait, load, partner, t, t + Around(32'000), flow, 0,
                        units_[random_() % units_.size()]);
      recorder_.Slice(kWait, pt, token, now, loaded + 1'818, flow, 0, load);
      recorder_.Slice(kCore, pt, recorder_.Intern("matmul"), loaded + 1'818, loaded + 1'163'636,
                      flow, 204'800, core);
      now = loaded + 1'200'000;
    }
    recorder_.Slice(kCore, vector, recorder_.Intern("vround"), end - 3'500'000, end - 3'100'000,
                    flow, 98'304, core);
    recorder_.Slice(kCore, store, recorder_.Intern("store"), end - 3'000'000, end - 400'000, flow,
                    65'536, core);
  }

  Recorder& recorder_;
  std::minstd_rand random_{17};
  TrackId host_ = 0, stream_ = 0;
  std::vector<TrackId> links_, channels_, units_;
};

int Main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[2]) == "kernel") {
    WriteTrace(KernelTrace(), argv[1]);
    return 0;
  }
  if (argc != 3) {
    fmt::print(stderr, "usage: make_trace FILE SLICES|kernel\n");
    return 2;
  }
  const uint64_t slices = std::strtoull(argv[2], nullptr, 10);
  Recorder recorder(slices + kInKernel * 2);
  Run run(recorder);
  uint64_t kernels = 0;
  while (recorder.Records().size() + kInKernel / 2 < slices) run.Kernel(kernels++);
  WriteTrace(Snapshot(recorder, R"({"workload":"made by make_trace"})"), argv[1]);
  fmt::print("{} slices\n", recorder.Records().size());
  return 0;
}

}  // namespace
}  // namespace spyre::trace

int main(int argc, char** argv) { return spyre::trace::Main(argc, argv); }
