// SPDX-License-Identifier: Apache-2.0
// Random work of a card with several LXs, against a card that does everything at once: what is kept
// once for many cores, and what is put off, must never show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "model/common/functional_queue.h"
#include "model/common/pt_narrow.h"
#include "model/contract/formats.h"
#include "model/core/pt_kernel.h"

namespace spyre::model::functional_queue_data_test {
namespace {

constexpr int kCores = 5;
constexpr uint64_t kOperands = 24 << 10;  // bytes of an LX that hold SEN169 codes
constexpr uint64_t kSums = 8 << 10;       // bytes behind them that hold fp32 sums
constexpr uint64_t kLx = kOperands + kSums;
constexpr uint64_t kDevice = 64 << 10;

using Bytes = std::vector<uint8_t>;

// The definition of MATMUL, element by element, in chunks of 64 steps.
struct Matmul {
  uint64_t m, n, k, acc, a, b;
  bool accumulate;

  uint64_t a_stride() const { return m * 128 + 128; }
  uint64_t b_stride() const { return k * 128; }
  uint64_t acc_stride() const { return m * 256 + 256; }

  void Run(uint8_t* lx) const {
    const auto value = [&](uint64_t at) {
      uint16_t code;
      std::memcpy(&code, lx + at, sizeof code);
      return DlfToFloat(code);
    };
    for (uint64_t i = 0; i < m; ++i) {
      for (uint64_t j = 0; j < n; ++j) {
        uint8_t* const out = lx + acc + j / 64 * acc_stride() + i * 256 + j % 64 * 4;
        float total = 0;
        if (accumulate) std::memcpy(&total, out, sizeof total);
        for (uint64_t first = 0; first < k; first += 64) {
          float sum = 0;
          for (uint64_t kk = first; kk < std::min(k, first + 64); ++kk) {
            sum += value(a + kk / 64 * a_stride() + i * 128 + kk % 64 * 2) *
                   value(b + j / 64 * b_stride() + kk * 128 + j % 64 * 2);
          }
          total += sum;
        }
        std::memcpy(out, &total, sizeof total);
      }
    }
  }
};

// Every piece of work is given to the queue, and done at once on memory of its own.
class TwoCards {
 public:
  TwoCards(unsigned threads, uint32_t seed) : random_(seed), queue_(threads) {
    device_.resize(kDevice);
    for (size_t at = 0; at < kDevice; at += 2) {
      // Numbers near one, either sign.
      const auto code = static_cast<uint16_t>((random_() & 0x81FF) | (28 + random_() % 6) << 9);
      std::memcpy(&device_[at], &code, sizeof code);
    }
    eager_device_ = device_;
    for (int core = 0; core < kCores; ++core) {
      lx_.emplace_back(kLx);
      eager_lx_.emplace_back(kLx);
    }
    for (Bytes& lx : lx_) queue_.AddLx({lx.data(), lx.size()});
  }

  void Step() {
    switch (Below(10)) {
      case 0:
        return Weights();
      case 1:
        return Weights();
      case 2:
      case 3:
        return MatmulsOfAll();
      case 4:
        return OneMatmul();
      case 5:
        return Load();
      case 6:
        return Store();
      case 7:
        return Vector();
      case 8:
        return Send();
      default:
        return Below(10) == 0 ? ClearLx() : BroadcastAnything();
    }
  }

  // LX is looked at in place: what is noted only is copied first.
  void Compare(int step) {
    for (Bytes& lx : lx_) queue_.Push({{lx.data(), lx.size()}}, [] {});
    queue_.Join();
    for (int core = 0; core < kCores; ++core)
      ASSERT_TRUE(lx_[core] == eager_lx_[core]) << "LX of core " << core << ", step " << step;
    ASSERT_TRUE(device_ == eager_device_) << "device memory, step " << step;
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  // A place for `bytes` bytes in [begin, begin + room), on a multiple of 128; or often one that is
  // in use for weights.
  uint64_t Place(uint64_t bytes) {
    if (Below(2) == 0) return kPlaces[Below(kPlaces.size())] % (kOperands - bytes + 128);
    return Below((kOperands - bytes) / 128 + 1) * 128;
  }
  int Core() { return static_cast<int>(Below(kCores)); }

  void Broadcast(uint64_t device, uint64_t bytes, const std::vector<std::pair<int, uint64_t>>& to) {
    std::vector<uint8_t*> targets;
    for (const auto& [core, at] : to) {
      targets.push_back(lx_[core].data() + at);
      std::memcpy(eager_lx_[core].data() + at, eager_device_.data() + device, bytes);
    }
    // As the card does it: memory has one member's LX for a target, the others copy from there.
    queue_.Overwrite({targets[0], bytes}, [out = targets[0], from = device_.data() + device,
                                           bytes] { std::memcpy(out, from, bytes); });
    queue_.Broadcast(targets[0], bytes, targets.data(), targets.size());
  }
  void Weights() {
    k_ = std::vector<uint64_t>{32, 64, 96, 33, 72}[Below(5)];
    n_ = 64 + 64 * Below(2);
    if (k_ * n_ * 2 > kOperands / 2) n_ = 64;
    weights_ = kPlaces[Below(kPlaces.size())];
    const uint64_t bytes = k_ * n_ * 2;
    weights_ = std::min(weights_, kOperands - bytes);
    const uint64_t device = Below((kDevice - bytes) / 128) * 128;
    for (uint64_t at = 0; at < bytes; at += 4096) {
      std::vector<std::pair<int, uint64_t>> to;
      for (int core = 0; core < kCores; ++core) to.emplace_back(core, weights_ + at);
      Broadcast(device + at, std::min<uint64_t>(4096, bytes - at), to);
    }
  }
  void BroadcastAnything() {
    const uint64_t bytes = std::vector<uint64_t>{128, 384, 512, 1024, 4096}[Below(5)];
    std::vector<std::pair<int, uint64_t>> to;
    for (int core = 0; core < kCores; ++core) {
      if (Below(4) != 0) to.emplace_back(core, Place(bytes));
    }
    if (to.size() > 1) Broadcast(Below((kDevice - bytes) / 128) * 128, bytes, to);
  }
  void Multiply(int core, uint64_t weights) {
    Matmul matmul{1 + Below(4), n_, k_, 0, 0, weights, Below(2) == 0};
    if (Below(2) == 0) {  // as a kernel that walks along k
      matmul.m = 3;
      matmul.accumulate = true;
    }
    matmul.a = Place(2 * matmul.a_stride());
    matmul.acc = kOperands;
    if (matmul.m != 3) matmul.acc += Below((kSums - 2 * matmul.acc_stride()) / 256) * 256;
    matmul.Run(eager_lx_[core].data());
    uint8_t* const lx = lx_[core].data();
    queue_.Matmul({lx + matmul.acc, lx + matmul.a, lx + matmul.b, matmul.m, matmul.n, matmul.k,
                   matmul.a_stride(), matmul.b_stride(), matmul.acc_stride(), matmul.accumulate},
                  BestPtKernel());
  }
  // Cores are nearly in step; now and then one does something else in between.
  void MatmulsOfAll() {
    if (n_ == 0) return;
    const uint64_t first = Below(kCores);
    for (uint64_t i = 0; i < kCores; ++i) {
      Multiply(static_cast<int>((first + i) % kCores), weights_);
      if (Below(6) == 0) Vector();
      if (Below(6) == 0) Load();
    }
  }
  void OneMatmul() {
    if (n_ != 0) Multiply(Core(), Place(k_ * n_ * 2));
  }
  void Load() {
    const int core = Core();
    const uint64_t bytes = 128 * (1 + Below(32)), at = Place(bytes);
    const uint64_t device = Below((kDevice - bytes) / 128) * 128;
    std::memcpy(eager_lx_[core].data() + at, eager_device_.data() + device, bytes);
    uint8_t* const to = lx_[core].data() + at;
    queue_.Overwrite({to, bytes},
                     [to, from = device_.data() + device, bytes] { std::memcpy(to, from, bytes); });
  }
  void Store() {
    const int core = Core();
    const uint64_t bytes = 128 * (1 + Below(32)), at = Place(bytes);
    const uint64_t device = Below((kDevice - bytes) / 128) * 128;
    std::memcpy(eager_device_.data() + device, eager_lx_[core].data() + at, bytes);
    uint8_t* const from = lx_[core].data() + at;
    queue_.Push({{from, bytes}},
                [to = device_.data() + device, from, bytes] { std::memcpy(to, from, bytes); });
  }
  // Turns the sign of what it reads; may do so in place, and in part of what a multicast brought.
  void Vector() {
    const int core = Core();
    const uint64_t bytes = 2 * (1 + Below(600)), from = Place(bytes), to = Place(bytes);
    const auto run = [bytes](const uint8_t* a, uint8_t* dst) {
      for (uint64_t at = 0; at < bytes; at += 2) {
        uint16_t code;
        std::memcpy(&code, a + at, sizeof code);
        code ^= 0x8000;
        std::memcpy(dst + at, &code, sizeof code);
      }
    };
    run(eager_lx_[core].data() + from, eager_lx_[core].data() + to);
    uint8_t* const a = lx_[core].data() + from;
    uint8_t* const dst = lx_[core].data() + to;
    queue_.Push({{dst, bytes}, {a, bytes}}, [run, a, dst] { run(a, dst); });
  }
  // Partial sums, or anything else, from one core to another.
  void Send() {
    const int from_core = Core(), to_core = Core();
    const bool sums = Below(2) == 0;
    const uint64_t bytes = 4 * (1 + Below(500));
    const uint64_t from_at = sums ? kOperands + Below((kSums - bytes) / 4) * 4 : Place(bytes);
    const uint64_t to_at = sums ? kOperands + Below((kSums - bytes) / 4) * 4 : Place(bytes);
    std::memmove(eager_lx_[to_core].data() + to_at, eager_lx_[from_core].data() + from_at, bytes);
    uint8_t* const from = lx_[from_core].data() + from_at;
    uint8_t* const to = lx_[to_core].data() + to_at;
    queue_.Push({{to, bytes}, {from, bytes}}, [to, from, bytes] { std::memmove(to, from, bytes); });
  }
  // A job of another function comes; what the last one left unfinished stays as it is.
  void ClearLx() {
    const int core = Core();
    std::fill(eager_lx_[core].begin(), eager_lx_[core].end(), 0);
    queue_.Overwrite({lx_[core].data(), kLx}, [lx = lx_[core].data()] { std::fill_n(lx, kLx, 0); });
  }

  // Weights come again to the same places, some of which overlap.
  static constexpr std::array<uint64_t, 5> kPlaces = {0, 4096, 4224, 12288, 12800};

  std::mt19937 random_;
  uint64_t n_ = 0, k_ = 0, weights_ = 0;  // of the last weights
  Bytes device_, eager_device_;
  std::vector<Bytes> lx_, eager_lx_;
  FunctionalQueue queue_;  // ends before the memory that it works on
};

class FunctionalQueueData : public ::testing::TestWithParam<unsigned> {};

TEST_P(FunctionalQueueData, IsThatOfACardThatDoesEverythingAtOnce) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    TwoCards cards(GetParam(), seed);
    for (int step = 1; step <= 200; ++step) {
      cards.Step();
      if (step % 50 == 0 || step == static_cast<int>(seed)) cards.Compare(step);
      if (HasFatalFailure()) return;
    }
  }
}

std::string NameOf(const ::testing::TestParamInfo<unsigned>& threads) {
  const char* const names[] = {"AtThePush", "OwnThread", "WithAHelper"};
  return names[threads.param];
}

INSTANTIATE_TEST_SUITE_P(Worker, FunctionalQueueData, ::testing::Values(0U, 1U, 2U), NameOf);

}  // namespace
}  // namespace spyre::model::functional_queue_data_test
