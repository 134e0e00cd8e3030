// SPDX-License-Identifier: Apache-2.0
// The timed model of the PT unit and the RTL of its array count the same cycles.
#include <gtest/gtest.h>

#include "model/contract/program.h"
#include "model/rtl/pt_array.h"
#include "tests/unit/model/core/core_bench.h"

namespace spyre::model::pt_price_test {
namespace {

// An LX port too wide to matter: 4096 bytes a cycle.
class PtPrice : public ::testing::TestWithParam<uint64_t> {
 protected:
  uint64_t Priced(uint64_t m, uint64_t n, uint64_t k, const std::string& suffix = "") {
    const uint64_t before = busy_;
    const std::string program = fmt::format(
        ".program matmul\n.cores 0x1\n.lx 2031616\n.section pt 0x1\n"
        "  li r1, 0\n  li r2, 1048576\n  li r3, 1310720\n  li r4, {}\n  li r5, {}\n  li r6, {}\n"
        "  li r7, {}\n  li r8, {}\n  li r9, {}\n"
        "  matmul{} r1, r2, r3, r4, r5, r6, r7, r8, r9, r0\n",
        m, n, k, m * 128, k * 128, m * 256, suffix);
    EXPECT_EQ(bench_.Run(program), Status::OK);
    busy_ = bench_.BusyCycles("pt");
    return busy_ - before;
  }
  CoreBench bench_;
  uint64_t busy_ = 0;
};

TEST_P(PtPrice, IsThatOfTheRtlForEverySize) {
  const uint64_t corelets = GetParam();
  bench_.config.pt.fidelity = model::BlockFidelity::kRtl;
  bench_.config.core.corelets = corelets;
  bench_.config.core.lx_port_bytes_per_cycle = 4096;
  for (const uint64_t m : {1, 3, 4, 5, 8, 11, 64, 200}) {
    for (const uint64_t n : {64, 128, 192, 320}) {
      for (const uint64_t k : {1, 64, 65, 256, 640}) {
        EXPECT_EQ(Priced(m, n, k), PtArrayCycles(m, n, k, corelets))
            << "m " << m << " n " << n << " k " << k;
      }
    }
  }
}

TEST_P(PtPrice, IsThatOfTheRtlHoweverTheCoreletsShareTheWork) {
  const uint64_t corelets = GetParam();
  bench_.config.pt.fidelity = model::BlockFidelity::kRtl;
  bench_.config.core.corelets = corelets;
  bench_.config.core.lx_port_bytes_per_cycle = 4096;
  bench_.config.core.pt_block_load_split_cycles = 98;
  const std::vector<std::pair<uint8_t, std::string>> flags = {
      {kMatmulOneCorelet, ".one_corelet"}, {kMatmulRows, ".rows"}, {kMatmulColumns, ".columns"}};
  for (const auto& [flag, name] : flags) {
    for (const uint64_t m : {1, 5, 64, 200}) {
      for (const uint64_t n : {64, 128, 320}) {
        for (const uint64_t k : {64, 65, 640}) {
          EXPECT_EQ(Priced(m, n, k, ".sen169_fp16" + name),
                    PtArrayCycles(m, n, k, corelets, {flag, 98}))
              << name << " m " << m << " n " << n << " k " << k;
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Corelets, PtPrice, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace spyre::model::pt_price_test
