// SPDX-License-Identifier: Apache-2.0
#include "model/memory/device_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model/common/split_socket.h"

namespace spyre::model::device_memory_test {
namespace {

// A memory with a requester that has many accesses in flight, and its trace.
struct Bench : sc_core::sc_module {
  struct Request final : TransferClient {
    TransferPayload payload;
    std::array<uint8_t, 16384> data{};
    uint64_t done_ps = 0;
    bool waiting = false;
    void Complete(tlm::tlm_generic_payload& /*payload*/, uint64_t end_ps) override {
      waiting = false;
      done_ps = end_ps;
    }
  };

  trace::Recorder recorder;
  FunctionalQueue functional;
  DeviceMemory memory;
  SplitSocket socket{"socket"};
  std::vector<std::unique_ptr<Request>> requests;

  Bench(const sc_core::sc_module_name& name, const CardConfig& config, Folding folding)
      : sc_module(name), memory("memory", config, functional, &recorder, folding) {
    socket.bind(memory.socket);
  }
  void Send(size_t index, bool write, uint64_t address, uint64_t bytes) {
    while (requests.size() <= index) requests.push_back(std::make_unique<Request>());
    Request& request = *requests[index];
    request.waiting = true;
    request.payload.info.client = &request;
    request.payload.info.move_data = false;
    socket.Send(request.payload.Prepare(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                        address, request.data.data(), bytes),
                sc_core::SC_ZERO_TIME);
  }
};

TEST(DeviceMemory, TracesAndCountsEveryChannelOfAClassAsIfItWorkedAlone) {
  CardConfig config;
  Bench folded("folded", config, Folding::kOn);
  Bench plain("plain", config, Folding::kOff);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::mt19937_64 random(169);
  constexpr size_t kInFlight = 24;
  for (int step = 0; step < 4000; ++step) {
    const size_t index = random() % kInFlight;
    if (plain.requests.size() <= index || !plain.requests[index]->waiting) {
      const bool write = random() % 3 == 0;
      // Mostly whole rounds of the interleave; for a while nothing else.
      const bool small = step / 500 % 2 == 0 && random() % 16 == 0;
      const uint64_t address = random() % 4096 * 4096 + (small ? random() % 32 * 128 : 0);
      const uint64_t bytes = small ? 128 << random() % 3 : 4096 << random() % 3;
      folded.Send(index, write, address, bytes);
      plain.Send(index, write, address, bytes);
    }
    sc_core::sc_start(Ps(random() % 50 == 0 ? random() % 3'000'000 : random() % 60'000));
    for (size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_EQ(folded.requests[i]->waiting, plain.requests[i]->waiting) << "step " << step;
      ASSERT_EQ(folded.requests[i]->done_ps, plain.requests[i]->done_ps) << "step " << step;
    }
  }
  EXPECT_GT(plain.recorder.Records().size(), 1000u);
  EXPECT_EQ(folded.recorder.Digest(), plain.recorder.Digest());
  const auto by_folded = folded.memory.Statistics(), by_plain = plain.memory.Statistics();
  for (size_t i = 0; i < by_plain.size(); ++i) {
    EXPECT_EQ(by_folded[i].busy_ps, by_plain[i].busy_ps) << by_plain[i].name;
    EXPECT_EQ(by_folded[i].bytes, by_plain[i].bytes) << by_plain[i].name;
    EXPECT_EQ(by_folded[i].requests, by_plain[i].requests) << by_plain[i].name;
    EXPECT_EQ(by_folded[i].lost_ps, by_plain[i].lost_ps) << by_plain[i].name;
  }
}

// The slices are all that a viewer has to tell reads from writes.
TEST(DeviceMemory, SlicesOfAChannelSayTheirDirectionAndDoNotOverlap) {
  CardConfig config;
  Bench bench("bench", config, Folding::kOn);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::mt19937_64 random(7);
  std::map<std::string, uint64_t> asked, seen;
  for (int step = 0; step < 2000; ++step) {
    const size_t index = random() % 16;
    if (bench.requests.size() <= index || !bench.requests[index]->waiting) {
      const bool write = random() % 3 == 0;
      const uint64_t bytes = 256 << random() % 5;
      // Not of the same place: a read is answered from the write queue without the bus.
      bench.Send(index, write, (random() % 4096 + (write ? 8192 : 0)) * 512, bytes);
      asked[write ? "write" : "read"] += bytes;
    }
    sc_core::sc_start(Ps(random() % 40'000));
  }
  sc_core::sc_start(1, sc_core::SC_MS);

  std::map<trace::TrackId, uint64_t> end_ps;
  for (const trace::Record& slice : bench.recorder.Records()) {
    seen[bench.recorder.names()[slice.name]] += slice.bytes;
    EXPECT_LE(end_ps[slice.track], slice.start_ps);
    end_ps[slice.track] = slice.end_ps;
  }
  EXPECT_EQ(seen, asked);
}

// Memory decides ahead of time, in steps of the controller's latency. Here the channels go from one
// decision to the next, and hear of an access when it is sent.
TEST(DeviceMemory, DecidesAheadWhatItWouldHaveDecidedInTime) {
  struct Sent {
    uint64_t at_ps;
    size_t index;
    bool write;
    uint64_t address, bytes;
    uint64_t done_ps;
  };
  CardConfig config;
  Bench bench("bench", config, Folding::kOn);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::mt19937_64 random(14);
  std::vector<Sent> log;
  std::map<size_t, size_t> last;  // of the log, by request
  const auto collect = [&] {
    for (const auto& [index, at] : last) {
      if (!bench.requests[index]->waiting) log[at].done_ps = bench.requests[index]->done_ps;
    }
  };
  for (int step = 0; step < 4000; ++step) {
    const size_t index = random() % 24;
    if (bench.requests.size() <= index || !bench.requests[index]->waiting) {
      const bool write = random() % 3 == 0;
      const uint64_t address = random() % 8192 * 512;
      const uint64_t bytes = 256 << random() % 5;
      collect();
      last[index] = log.size();
      log.push_back({NowPs(), index, write, address, bytes, 0});
      bench.Send(index, write, address, bytes);
    }
    sc_core::sc_start(Ps(random() % 100 == 0 ? random() % 9'000'000 : random() % 40'000));
  }
  sc_core::sc_start(1, sc_core::SC_MS);
  collect();

  MemoryChannels channels(config.memory, Folding::kOff);
  std::vector<uint64_t> done_ps(log.size());
  std::vector<MemoryCompletion> ended;
  const auto decide_until = [&](uint64_t until_ps) {
    while (channels.NextDecisionPs() < until_ps) channels.Advance(channels.NextDecisionPs(), ended);
  };
  for (size_t i = 0; i < log.size(); ++i) {
    decide_until(log[i].at_ps);
    channels.Submit({static_cast<uint32_t>(i), log[i].at_ps + config.memory.controller_ns * 1000,
                     log[i].address, log[i].bytes, log[i].write});
  }
  decide_until(UINT64_MAX);
  for (const MemoryCompletion& end : ended) done_ps[end.id] = end.done_ps;
  for (size_t i = 0; i < log.size(); ++i)
    ASSERT_EQ(log[i].done_ps, done_ps[i]) << "ps; access " << i << " sent at " << log[i].at_ps;
}

}  // namespace
}  // namespace spyre::model::device_memory_test
