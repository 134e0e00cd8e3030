// SPDX-License-Identifier: Apache-2.0
// Rung 6: each core by itself, so that one that computes wrongly, or is late, has a name.
#include <array>

#include "bringup/rungs/program_rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

// What one core computes by itself: 8 x 64 times 64 x 128 in its PT array, each output stick in a
// corelet, and the product's negative in its vector unit. On small integers, so that each bit is
// known.
class Rung6EveryCore : public ProgramRung {
 protected:
  static constexpr size_t kM = 8, kK = 64, kSticksOfN = 2, kLanes = 64;
  static constexpr int kTimes = 3;

  void SetUp() override {
    std::mt19937 random(6);
    for (int& value : a_) value = static_cast<int>(random() % 9) - 4;
    for (int& value : b_) value = static_cast<int>(random() % 9) - 4;
    Begin();
  }
  // The card after a reset, with both operands.
  void Begin() {
    if (runtime_ != nullptr) {
      runtime_.reset();
      board().Reset();
    }
    ProgramRung::SetUp();
    std::vector<uint16_t> a, b;
    for (const int value : a_) a.push_back(DlfFromFloat(static_cast<float>(value)));
    for (const int value : b_) b.push_back(DlfFromFloat(static_cast<float>(value)));
    a_memory_ = Upload(a.data(), a.size() * 2);
    b_memory_ = Upload(b.data(), b.size() * 2);
    products_ = runtime_->Allocate(kBytes);
    negatives_ = runtime_->Allocate(kBytes);
  }
  std::string ProgramOf(int core) const {
    return fmt::format(R"(
.program alone
.cores {0:#x}
.lx 65536
.table 4
.section load {0:#x}
  tab r1, 0
  tab r2, 1
  li r3, 1024
  li r4, 1
  li r5, 16384
  li r6, 4096
  load r0, r1, r3, r4, r0, r0, r4, r0, r0, r0
  load r6, r2, r5, r4, r0, r0, r4, r0, r0, r0 signal=t1
.section pt {0:#x}
  li r1, 32768
  li r3, 4096
  li r4, 8
  li r5, 128
  li r6, 64
  li r7, 1024
  li r8, 8192
  li r9, 2048
  matmul r1, r0, r3, r4, r5, r6, r7, r8, r9, r0 wait=t1 signal=t2
.section vector {0:#x}
  li r1, 40960
  li r2, 32768
  li r3, 1
  li r4, 32
  li r5, 128
  vunary.neg.fp32 r1, r2, -, r4, r3, r0, r0, -, r5, r5 wait=t2 signal=t3
.section store {0:#x}
  tab r1, 2
  tab r2, 3
  li r3, 4096
  li r4, 1
  li r5, 32768
  li r6, 40960
  store r5, r1, r3, r4, r0, r0, r4, r0, r0 wait=t3
  store r6, r2, r3, r4, r0, r0, r4, r0, r0
)",
                       uint64_t{1} << core);
  }
  int Product(size_t stick, size_t row, size_t lane) const {
    int sum = 0;
    for (size_t k = 0; k < kK; ++k)
      sum += a_.at(row * kLanes + k) * b_.at((stick * kK + k) * kLanes + lane);
    return sum;
  }
  // Names the first element that is wrong, and the unit that has made it.
  void CheckCore(int core) {
    const auto products = Download<float>(products_, kBytes / sizeof(float));
    const auto negatives = Download<float>(negatives_, kBytes / sizeof(float));
    for (size_t i = 0; i < products.size(); ++i) {
      const size_t stick = i / (kM * kLanes), row = i / kLanes % kM, lane = i % kLanes;
      const auto expected = static_cast<float>(Product(stick, row, lane));
      const bool is_product = products[i] != expected;
      if (!is_product && negatives[i] == -products[i]) continue;
      ADD_FAILURE() << (is_product ? fmt::format(
                                         "core {}, corelet {}, PT array, lane {}: {} instead of {}",
                                         core, stick, lane, products[i], expected)
                                   : fmt::format("core {}, vector unit, lane {}: {} instead of {}",
                                                 core, lane, negatives[i], -products[i]))
                    << fmt::format(" (row {})", row);
      return;
    }
  }

  static constexpr size_t kBytes = kSticksOfN * kM * kLanes * sizeof(float);
  std::array<int, kM * kK> a_{};
  std::array<int, kSticksOfN * kK * kLanes> b_{};
  flex::DeviceHandle a_memory_, b_memory_, products_, negatives_;
};

TEST_F(Rung6EveryCore, ComputesRightAloneAndAsFastAsTheOthers) {
  std::array<std::vector<double>, kTimes> times_ns;  // the first one clears LX
  for (int core = 0; core < cores(); ++core) {
    for (std::vector<double>& times : times_ns) {
      try {
        const auto done = Run(ProgramOf(core), {a_memory_, b_memory_, products_, negatives_});
        times.push_back(static_cast<double>(done.finished_ps - done.started_ps) / 1000);
        CheckCore(core);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kDeviceFault) throw;
        ADD_FAILURE() << "core " << core << ": " << error.what();
        Begin();  // the stream has failed
      }
    }
  }
  if (HasFailure() || cores() < 3) return;
  for (size_t time = 0; time < kTimes; ++time)
    ExpectEven(fmt::format("time {} of a core, in order of cores", time + 1), times_ns.at(time));
}

}  // namespace

void LinkCoresRung() {}

}  // namespace spyre::bringup
