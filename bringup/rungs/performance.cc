// SPDX-License-Identifier: Apache-2.0
// Rung 10: how fast. Each figure is checked against the limits of the card's configuration, if
// somebody has said which card it is. What cores do is measured twice, with less and with more
// work, and the difference counts: so what it takes to start and to end is not in it.
#include <algorithm>
#include <functional>

#include "bringup/rungs/program_rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

class Rung10Latency : public Rung {
 protected:
  static constexpr int kTimes = 64;

  // ns of the transport's clock: the median of kTimes calls, which does not see that the host does
  // something else now and then.
  double NsOf(const std::function<void()>& action) {
    action();
    std::vector<uint64_t> took;
    for (int i = 0; i < kTimes; ++i) {
      const uint64_t begin = card().NowPs();
      action();
      took.push_back(card().NowPs() - begin);
    }
    std::nth_element(took.begin(), took.begin() + kTimes / 2, took.end());
    return static_cast<double>(took[kTimes / 2]) / 1000;
  }
  double NopNs(bool interrupts) {
    driver::DeviceOptions options;
    options.interrupts = interrupts;
    driver::Device& device = Physical(options);
    return NsOf([&] {
      driver::Entry nop = ControlBlock{};
      device.queue().Submit(nop);
      ASSERT_EQ(device.queue().Wait().status, static_cast<uint16_t>(Status::OK));
    });
  }
};

TEST_F(Rung10Latency, OfARegisterRead) {
  EnableBars(0);
  auto registers = Registers(0);
  Measure("register_read_latency", NsOf([&] { registers.ReadScratch(); }), "ns");
}

TEST_F(Rung10Latency, OfANopThatIsPolledFor) { Measure("nop_polled_latency", NopNs(false), "ns"); }

TEST_F(Rung10Latency, OfANopWithItsInterrupt) {
  Measure("nop_interrupt_latency", NopNs(true), "ns");
}

class Rung10Dma : public Rung {
 protected:
  // GB/s of the card's clock, from the start to the end of the operation.
  double Rate(Opcode opcode, uint64_t bytes) {
    driver::PhysicalFunction(Physical()).MapRange(0, bytes, kPermissionRead | kPermissionWrite);
    driver::HostBuffer buffer(card(), 0, bytes);
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.host_address = buffer.io_address();
    block.size_bytes = bytes;
    driver::Entry entry = block;
    Physical().queue().Submit(entry);
    const Response done = Physical().queue().Wait();
    ExpectOk(done);
    driver::PhysicalFunction(Physical()).UnmapRange(0);
    return 1000.0 * static_cast<double>(bytes) /
           static_cast<double>(std::max<uint64_t>(1, done.finished_ps - done.started_ps));
  }
  void MeasureSizes(Opcode opcode, const std::string& name) {
    for (const auto& [bytes, size] :
         {std::pair{4ull << 10, "4_kib"}, std::pair{64ull << 10, "64_kib"},
          std::pair{1ull << 20, "1_mib"}, std::pair{16ull << 20, "16_mib"}})
      Measure(name + "_" + size, Rate(opcode, bytes), "GB/s");
  }
};

TEST_F(Rung10Dma, RateFromTheHost) { MeasureSizes(Opcode::DMA_IN, "dma_in"); }

TEST_F(Rung10Dma, RateToTheHost) { MeasureSizes(Opcode::DMA_OUT, "dma_out"); }

class Rung10Cores : public ProgramRung {
 protected:
  // The first program after a reset clears LX; what is measured comes later.
  void SetUp() override {
    ProgramRung::SetUp();
    RunAt(fmt::format(".program first\n.cores {0:#x}\n.section vector {0:#x}\n  nop\n", AllCores()),
          {});
  }
  struct Work {
    uint64_t ps = 0;
    double amount = 0;
  };
  // Amount in a picosecond of `much` beyond `little`.
  static double Rate(const Work& little, const Work& much) {
    EXPECT_GT(much.ps, little.ps) << "more work takes longer";
    return (much.amount - little.amount) /
           static_cast<double>(std::max<uint64_t>(1, much.ps - little.ps));
  }
  uint64_t AllCores() { return (uint64_t{1} << cores()) - 1; }
  static uint64_t PsOf(const flex::CompletedOperation& done) {
    return done.finished_ps - done.started_ps;
  }
  // .core lines: core c has the registers that `values` gives for it.
  std::string CoreRegisters(const std::function<std::string(int)>& values) {
    std::string text;
    for (int core = 0; core < cores(); ++core)
      text += fmt::format(".core {}: {}\n", core, values(core));
    return text;
  }

  // All cores load `times` boxes of `rows` rows. A core starts at its distance from `base`, a box
  // at its distance from the box before.
  struct Boxes {
    uint64_t base = 0, core_distance = 0, box_distance = 0, row_bytes = 0, row_distance = 0;
    uint64_t rows = 0;
  };
  Work Load(const Boxes& boxes, uint64_t times) {
    const std::string text = fmt::format(
        ".program loads\n.cores {:#x}\n.lx {}\n.table 1\n{}"
        ".section load {:#x}\n  tab r1, 0\n  creg r2, 0\n  madd r1, r1, r2, 1\n  li r3, {}\n"
        "  li r4, {}\n  li r5, {}\n  li r6, 1\n  li r7, {}\n  li r8, {}\n  loop r9, r7\n"
        "    mul r10, r9, r8, 0\n    madd r10, r10, r1, 1\n"
        "    load r0, r10, r3, r4, r5, r3, r6, r0, r0, r0\n  end\n",
        AllCores(), boxes.row_bytes * boxes.rows, CoreRegisters([&](int core) {
          return std::to_string(static_cast<uint64_t>(core) * boxes.core_distance);
        }),
        AllCores(), boxes.row_bytes, boxes.rows, boxes.row_distance, times, boxes.box_distance);
    const auto done = RunAt(text, {boxes.base});
    return {PsOf(done), static_cast<double>(boxes.row_bytes * boxes.rows * times) * cores()};
  }
};

TEST_F(Rung10Cores, RateOfMemory) {
  constexpr uint64_t kBox = 64 << 10, kBoxes = 12;
  Boxes boxes;
  boxes.core_distance = kBox * kBoxes;
  boxes.box_distance = boxes.row_bytes = boxes.row_distance = kBox;
  boxes.rows = 1;
  const auto memory = runtime_->Allocate(boxes.core_distance * static_cast<uint64_t>(cores()));
  boxes.base = flex::ToDeviceVirtual(memory);
  Measure("memory_read", 1000 * Rate(Load(boxes, 4), Load(boxes, kBoxes)), "GB/s");
}

// Blocks of one channel only, at the distance that keeps to the channel.
TEST_F(Rung10Cores, RateOfEachMemoryChannel) {
  constexpr uint64_t kBlock = 256, kRows = 16;
  // Long enough, on few cores too, that it does not matter which of two runs meets a refresh.
  const uint64_t times = std::max<uint64_t>(3, 64 / static_cast<uint64_t>(cores()));
  const auto& expected = board().backend().expected;
  if (!expected || !expected->place)
    CannotRun("it is not known how addresses are spread over banks; --card CONFIG says it");
  const auto channel = [&](uint64_t address) { return expected->place(address).channel; };
  const uint64_t blocks = static_cast<uint64_t>(cores()) * kRows * times;
  uint64_t distance = 0;
  for (uint64_t tried = kBlock; tried * blocks <= memory_bytes() / 2 && distance == 0; tried *= 2) {
    bool keeps = true;
    for (uint64_t i = 0; i < blocks && keeps; ++i) keeps = channel(i * tried) == channel(0);
    if (keeps) distance = tried;
  }
  if (distance == 0) CannotRun("no distance that is a power of two keeps to one channel");
  const auto memory = runtime_->Allocate(distance * (blocks + 1));
  const uint64_t first = (flex::ToDeviceVirtual(memory) + distance - 1) / distance * distance;
  double slowest = 0, fastest = 0;
  std::vector<bool> seen(expected->channels);
  for (uint64_t base = first; base < first + distance; base += kBlock) {
    if (seen.at(channel(base))) continue;
    seen.at(channel(base)) = true;
    Boxes boxes;
    boxes.base = base;
    boxes.row_bytes = kBlock;
    boxes.rows = kRows;
    boxes.row_distance = distance;
    boxes.box_distance = kRows * distance;
    boxes.core_distance = times * kRows * distance;
    const double rate = 1000 * Rate(Load(boxes, 1), Load(boxes, times));
    slowest = slowest == 0 ? rate : std::min(slowest, rate);
    fastest = std::max(fastest, rate);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), expected->channels) << "channels measured";
  Measure("channel_read_slowest", slowest, "GB/s");
  Measure("channel_read_fastest", fastest, "GB/s");
}

// 256 x 256 x 128 on each core, operands and sums in LX.
TEST_F(Rung10Cores, PeakOfTheProductArrays) {
  const auto multiply = [&](int times) {
    const auto done = RunAt(
        fmt::format(".program peak\n.cores {:#x}\n.lx 327680\n.section pt {:#x}\n"
                    "  li r1, 196608\n  li r2, 131072\n  li r3, 256\n  li r4, 128\n  li r5, 32768\n"
                    "  li r6, 65536\n  li r7, {}\n  loop r8, r7\n"
                    "    matmul r1, r0, r2, r3, r4, r3, r5, r5, r6, r0\n  end\n",
                    AllCores(), AllCores(), times),
        {});
    return Work{PsOf(done), 2.0 * static_cast<double>(done.macs)};
  };
  Measure("pt_fp16", Rate(multiply(1), multiply(5)), "TFLOP/s");
}

// Every core sends to the one on the other side of the ring.
TEST_F(Rung10Cores, BisectionOfTheRing) {
  if (cores() < 2) CannotRun("the card has one core");
  constexpr uint64_t kBytes = 32 << 10;
  const auto send = [&](int times) {
    const int half = cores() / 2;
    const auto done =
        RunAt(fmt::format(".program bisection\n.cores {:#x}\n.lx {}\n{}.section ring {:#x}\n"
                          "  creg r1, 0\n  li r2, {}\n  li r3, {}\n  loop r4, r3\n"
                          "    send r1, r2, r0, r2, r0\n  end\n",
                          AllCores(), 2 * kBytes, CoreRegisters([&](int core) {
                            return std::to_string((core + half) % cores());
                          }),
                          AllCores(), kBytes, times),
              {});
    return Work{PsOf(done), static_cast<double>(kBytes) * times * cores()};
  };
  Measure("ring_bisection", 1000 * Rate(send(2), send(10)), "GB/s");
}

}  // namespace

void LinkPerformanceRung() {}

}  // namespace spyre::bringup
