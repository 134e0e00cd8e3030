// SPDX-License-Identifier: Apache-2.0
// Rung 6: programs on the cores, small enough to follow by hand. One promise for each unit;
// expected values are computed here from the definition of the number format.
#include "bringup/rungs/program_rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

TEST_F(Rung6Programs, LoadAndStoreMoveBoxesWithTheirStrides) {
  const std::vector<uint8_t> data = RandomBytes(8192, 6);
  const auto source = Upload(data.data(), data.size());
  const auto target = runtime_->Allocate(8192);
  runtime_->DefaultStream().Fill(target, 8192, 0);
  // 3 planes x 2 rows x 256 bytes; in memory rows are 512 apart and planes 2048, packed in LX.
  Run(R"(
.program boxes
.cores 0x1
.lx 2048
.table 2
.section load 0x1
  tab r1, 0
  li r2, 256
  li r3, 2
  li r4, 512
  li r5, 3
  li r6, 2048
  li r7, 512
  load r0, r1, r2, r3, r4, r2, r5, r6, r7, r0 signal=t1
.section store 0x1
  tab r1, 1
  li r2, 256
  li r3, 2
  li r4, 512
  li r5, 3
  li r6, 2048
  li r7, 512
  store r0, r1, r2, r3, r4, r2, r5, r6, r7 wait=t1
)",
      {source, target});
  const auto out = Download<uint8_t>(target, 8192);
  for (size_t i = 0; i < out.size(); ++i) {
    const bool inside = i < 3 * 2048 && i % 2048 < 1024 && i % 512 < 256;
    ASSERT_EQ(out[i], inside ? data[i] : 0) << "byte " << i;
  }
}

TEST_F(Rung6Programs, EveryCoreReachesMemoryOfItsOwn) {
  const int all = cores();
  const uint64_t mask = (uint64_t{1} << all) - 1;
  std::vector<uint16_t> data(static_cast<size_t>(all) * 64);
  std::iota(data.begin(), data.end(), uint16_t{0});
  const auto source = Upload(data.data(), data.size() * 2);
  const auto target = runtime_->Allocate(data.size() * 2);
  std::string text = fmt::format(".program every_core\n.cores {:#x}\n.lx 128\n.table 2\n", mask);
  for (int core = 0; core < all; ++core) text += fmt::format(".core {}: {}\n", core, core);
  for (const char* unit : {"load", "store"}) {
    text += fmt::format(
        ".section {} {:#x}\n  tab r1, {}\n  creg r5, 0\n  madd r1, r1, r5, 128\n"
        "  li r2, 128\n  li r3, 1\n",
        unit, mask, unit == std::string("load") ? 0 : 1);
    text += unit == std::string("load")
                ? "  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1\n"
                : "  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t1\n";
  }
  Run(text, {source, target});
  EXPECT_EQ(Download<uint16_t>(target, data.size()), data);
}

TEST_F(Rung6Programs, LoopsCountAndScalarsCompute) {
  // Fills stick i with 3 * i * i + min(i, 4), for i < 10.
  const auto target = runtime_->Allocate(1280);
  Run(R"(
.program loops
.cores 0x1
.lx 1280
.table 1
.section vector 0x1
  li r1, 10
  li r2, 128
  li r3, 1
  li r7, 4
  loop r4, r1
    mul r5, r4, r4, 0
    min r8, r4, r7
    madd r8, r8, r5, 3
    madd r6, r0, r4, 128
    vfill r6, r8, r2, r3, r0
  end
  nop signal=t1
.section store 0x1
  tab r1, 0
  li r2, 1280
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t1
)",
      {target});
  const auto out = Download<uint16_t>(target, 640);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t n = i / 64;
    ASSERT_EQ(out[i], 3 * n * n + std::min<size_t>(n, 4)) << "element " << i;
  }
}

TEST_F(Rung6Programs, ACoreMaySendToItself) {
  const std::vector<uint8_t> data = RandomBytes(1024, 9);
  const auto source = Upload(data.data(), data.size());
  const auto target = runtime_->Allocate(1024);
  Run(R"(
.program self
.cores 0x1
.lx 4096
.table 2
.section load 0x1
  tab r1, 0
  li r2, 1024
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x1
  li r2, 512
  li r3, 1024
  li r4, 7
  send r0, r2, r0, r3, r4 wait=t1
.section store 0x1
  tab r1, 1
  li r2, 1024
  li r3, 1
  li r4, 512
  store r4, r1, r2, r3, r0, r0, r3, r0, r0 wait=t7
)",
      {source, target});
  EXPECT_EQ(Download<uint8_t>(target, 1024), data);
}

TEST_F(Rung6Programs, AMatmulIsExactOnIntegersAndAddsToWhatIsThere) {
  constexpr size_t kM = 5, kK = 100, kN = 128;
  std::mt19937 random(3);
  const auto small = [&] { return DlfFromFloat(static_cast<float>(random() % 9) - 4); };
  std::vector<uint16_t> a(2 * kM * 64), b(2 * kK * 64);  // sticks of k x rows, sticks of n x k
  for (uint16_t& value : a) value = small();
  for (uint16_t& value : b) value = small();
  const auto a_handle = Upload(a.data(), a.size() * 2);
  const auto b_handle = Upload(b.data(), b.size() * 2);
  const auto out_handle = runtime_->Allocate(2 * kM * 256);
  const auto done = Run(R"(
.program matmul
.cores 0x1
.lx 65536
.table 3
.section load 0x1
  tab r1, 0
  tab r2, 1
  li r3, 1280
  li r4, 1
  li r5, 25600
  li r6, 4096
  load r0, r1, r3, r4, r0, r0, r4, r0, r0, r0
  load r6, r2, r5, r4, r0, r0, r4, r0, r0, r0 signal=t1
.section pt 0x1
  li r1, 32768
  li r3, 4096
  li r4, 5
  li r5, 128
  li r6, 100
  li r7, 640
  li r8, 12800
  li r9, 1280
  li r10, 1
  matmul r1, r0, r3, r4, r5, r6, r7, r8, r9, r0 wait=t1
  matmul r1, r0, r3, r4, r5, r6, r7, r8, r9, r10 signal=t2
.section store 0x1
  tab r1, 2
  li r2, 2560
  li r3, 32768
  li r4, 1
  store r3, r1, r2, r4, r0, r0, r4, r0, r0 wait=t2
)",
                        {a_handle, b_handle, out_handle});
  EXPECT_EQ(done.macs, 2 * kM * kK * kN);
  const auto out = Download<float>(out_handle, 2 * kM * 64);
  for (size_t i = 0; i < kM; ++i) {
    for (size_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (size_t k = 0; k < kK; ++k) {
        sum += DlfToFloat(a[(k / 64 * kM + i) * 64 + k % 64]) *
               DlfToFloat(b[(j / 64 * kK + k) * 64 + j % 64]);
      }
      ASSERT_EQ(out[(j / 64 * kM + i) * 64 + j % 64], 2 * sum) << i << ", " << j;
    }
  }
}

TEST_F(Rung6Programs, AMessageCrossesTheWholeRing) {
  if (cores() < 2) CannotRun("the card has one core");
  const int last = cores() - 1;
  const uint64_t mask = uint64_t{1} << last;
  const std::vector<uint8_t> data = RandomBytes(1024, 8);
  const auto source = Upload(data.data(), data.size());
  const auto target = runtime_->Allocate(1024);
  Run(fmt::format(R"(
.program send
.cores {:#x}
.lx 4096
.table 2
.section load 0x1
  tab r1, 0
  li r2, 1024
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x1
  li r1, {}
  li r2, 2048
  li r3, 1024
  li r4, 7
  send r1, r2, r0, r3, r4 wait=t1
.section store {:#x}
  tab r1, 1
  li r2, 1024
  li r3, 1
  li r4, 2048
  store r4, r1, r2, r3, r0, r0, r3, r0, r0 wait=t7
)",
                  mask | 1, last, mask),
      {source, target});
  EXPECT_EQ(Download<uint8_t>(target, 1024), data);
}

TEST_F(Rung6Programs, MoreResultsThanLxHoldsAreIllegalAndNotEndlessWork) {
  // 2^20 x 2^20 sticks with strides of 0: more work than LX can hold results.
  EXPECT_NE(FailureOf([&] {
              Vector("li r11, 1048576\n  vunary.neg r1, r0, -, r11, r11, r0, r0, -, r0, r0",
                     Values(1), Values(1));
            }).find("ILLEGAL_INSTRUCTION"),
            std::string::npos);
}

}  // namespace

void LinkProgramsRung() {}

}  // namespace spyre::bringup
