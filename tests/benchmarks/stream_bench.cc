// SPDX-License-Identifier: Apache-2.0
// Wall time of the runtime without a card: what FlexStream, Scheduler and QueuePair need for one
// stream operation, on one core. The card is a transport that answers every entry when the doorbell
// is rung; sealing its responses is in the figures.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "driver/pci.h"
#include "model/contract/control_block.h"
#include "runtime/flex/runtime_context.h"
#include "tests/benchmarks/instructions.h"

namespace spyre::stream_bench {
namespace {

class InstantCard : public driver::Transport {
 public:
  InstantCard() {
    for (const regs::RegisterInfo& info : regs::kRegisters) Register(info.offset) = info.reset;
    Register(regs::CAPABILITIES) = 32;
    Register(regs::MEMORY_MIB) = 64 << 10;
  }

  uint32_t ConfigRead(driver::FunctionId /*function*/, uint32_t offset) override {
    if (offset != driver::pci::kVendorDevice) return 0;
    return static_cast<uint32_t>(kPciPfDeviceId) << 16 | kPciVendorId;
  }
  void ConfigWrite(driver::FunctionId /*function*/, uint32_t /*offset*/,
                   uint32_t /*value*/) override {}
  uint32_t Read32(driver::FunctionId /*function*/, int /*bar*/, uint64_t offset) override {
    return offset == regs::SQ_HEAD ? answered_ : Register(offset);
  }
  void Write32(driver::FunctionId /*function*/, int /*bar*/, uint64_t offset,
               uint32_t value) override {
    Register(offset) = value;
    if (offset == regs::QUEUE_CONTROL) answered_ = 0;
    if (offset == regs::SQ_TAIL || offset == regs::RQ_HEAD) Answer();
  }
  driver::IoAddress MapHost(driver::FunctionId /*function*/, void* host, size_t /*size*/) override {
    return reinterpret_cast<driver::IoAddress>(host);
  }
  void UnmapHost(driver::FunctionId /*function*/, driver::IoAddress /*address*/) override {}
  driver::WaitResult WaitInterrupt(driver::FunctionId /*function*/, int /*vector*/,
                                   uint64_t /*deadline_ps*/) override {
    return driver::WaitResult::kStalled;
  }
  uint64_t NowPs() override { return now_ps_; }
  void Advance(uint64_t host_ps) override { now_ps_ += host_ps; }
  std::string Diagnose() override { return {}; }

 private:
  uint32_t& Register(uint64_t offset) { return registers_.at(offset / 4); }
  uint8_t* Slot(uint32_t base, uint32_t entries, uint32_t index) {
    const uint64_t address = Register(base) | static_cast<uint64_t>(Register(base + 4)) << 32;
    return reinterpret_cast<uint8_t*>(address) + index % Register(entries) * sizeof(Response);
  }
  // Whatever is submitted, as far as the response ring has room.
  void Answer() {
    for (; answered_ != Register(regs::SQ_TAIL) &&
           answered_ - Register(regs::RQ_HEAD) != Register(regs::RQ_ENTRIES);
         ++answered_) {
      ControlBlock block;
      std::memcpy(&block, Slot(regs::SQ_BASE_LO, regs::SQ_ENTRIES, answered_), sizeof(block));
      Response response{};
      response.opcode = block.opcode;
      response.stream = block.stream;
      response.sequence = block.sequence;
      response.correlation = block.correlation;
      response.phase = answered_ / Register(regs::RQ_ENTRIES) % 2 == 0 ? 1 : 0;
      response.finished_ps = response.posted_ps = now_ps_;
      Seal(response);
      std::memcpy(Slot(regs::RQ_BASE_LO, regs::RQ_ENTRIES, answered_), &response, sizeof(response));
    }
  }

  std::array<uint32_t, 16384> registers_{};  // BAR0
  uint32_t answered_ = 0;
  uint64_t now_ps_ = 0;
};

struct Streams {
  explicit Streams(int64_t count, const std::string& hazards = "off")
      : context(card, 0, Options(hazards)) {
    for (uint32_t index = 0; index < static_cast<uint32_t>(count); ++index) {
      streams.push_back(&context.Stream(index));
    }
  }
  static flex::RuntimeOptions Options(const std::string& hazards) {
    flex::RuntimeOptions options;
    options.device.interrupts = false;
    options.scheduling = "round_robin";
    options.keep_completed = false;
    options.hazards = hazards;
    return options;
  }

  InstantCard card;
  flex::RuntimeContext context;
  std::vector<flex::FlexStream*> streams;
};

// 1,000 operations, in turn over the streams. batch 1: enqueued one by one, as an application does,
// each with its own doorbell; 100: collected as the steps of launches are.
template <typename Operation>
void RunStreams(benchmark::State& state, Streams& bench, const Operation& operation) {
  constexpr size_t kOperations = 1000;
  const auto batch = static_cast<size_t>(state.range(1));
  for (auto _ : benchmarks::Counted(state)) {
    for (size_t i = 0; i < kOperations; i += batch) {
      const flex::RuntimeContext::Batch collect(bench.context);
      for (size_t k = i; k < i + batch; ++k) {
        operation(*bench.streams[k % bench.streams.size()]);
      }
    }
    bench.context.Synchronize();
  }
  state.counters["operations/s"] =
      benchmark::Counter(static_cast<double>(kOperations) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void BM_StreamLaunch(benchmark::State& state) {
  Streams bench(state.range(0));
  const flex::DeviceHandle program = bench.context.Allocate(4096, flex::MemoryKind::kProgram);
  RunStreams(state, bench, [&](flex::FlexStream& stream) { stream.Launch(program); });
}
BENCHMARK(BM_StreamLaunch)->ArgNames({"streams", "batch"})->ArgsProduct({{1, 8}, {1, 100}});

void BM_StreamCopyToDevice(benchmark::State& state) {
  Streams bench(state.range(0));
  std::vector<uint8_t> host(4096);
  const flex::DeviceHandle memory = bench.context.Allocate(4096);
  RunStreams(state, bench, [&](flex::FlexStream& stream) {
    stream.CopyToDevice(host.data(), memory, host.size());
  });
}
BENCHMARK(BM_StreamCopyToDevice)->ArgNames({"streams", "batch"})->ArgsProduct({{1, 8}, {1, 100}});

// What the hazard tracker adds to copies to the card on eight streams. shared 0: each stream has
// 4 KiB of its own, looked up and nothing found. shared 1: all write the same 4 KiB. Where nothing
// orders them, each operation makes a hazard with the last one of every other stream; mode event
// orders it behind the one before, by a record and a wait if that is still running.
void BM_StreamHazards(benchmark::State& state) {
  const std::string mode = flex::Name(static_cast<flex::HazardMode>(state.range(0)));
  const bool shared = state.range(2) != 0;
  state.SetLabel(mode + (shared ? ", shared" : ", disjoint"));
  Streams bench(8, mode);
  std::vector<uint8_t> host(4096);
  const flex::DeviceHandle memory = bench.context.Allocate(host.size() * bench.streams.size());
  RunStreams(state, bench, [&](flex::FlexStream& stream) {
    const size_t offset = shared ? 0 : stream.stream_index() * host.size();
    stream.CopyToDevice(host.data(), flex::Offset(memory, static_cast<int64_t>(offset)),
                        host.size());
  });
  const flex::HazardReport report = bench.context.Hazards();
  if (report.checked > 0) {
    state.counters["hazards/operation"] =
        static_cast<double>(report.found) / static_cast<double>(report.checked);
  }
}
BENCHMARK(BM_StreamHazards)
    ->ArgNames({"mode", "batch", "shared"})
    ->ArgsProduct({{static_cast<int64_t>(flex::HazardMode::kOff),
                    static_cast<int64_t>(flex::HazardMode::kWarning),
                    static_cast<int64_t>(flex::HazardMode::kEvent)},
                   {1, 100},
                   {0, 1}});

}  // namespace
}  // namespace spyre::stream_bench
