// SPDX-License-Identifier: Apache-2.0
// The PT array's RTL against the definition of MATMUL, bit for bit, and against the timed model's
// cycles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "base/error.h"
#include "model/contract/dlf_bits.h"
#include "model/contract/program.h"
#include "model/core/pt_kernel.h"
#include "model/rtl/rtl_blocks.h"
#include "model/rtl/waves.h"

namespace spyre::model::pt_array_test {
namespace {

enum class Values { kNearOne, kAny, kZerosAndNinf };

// Operands with slack between the sticks; it holds values too, and must not matter.
struct Problem {
  Problem(uint64_t m, uint64_t n, uint64_t k, Values values, bool accumulate)
      : a((k + 63) / 64 * (m + 1) * 64), b(n / 64 * (k + 3) * 64), acc(n / 64 * (m + 1) * 64) {
    operands = {nullptr,       nullptr,       nullptr,       m,         n, k,
                (m + 1) * 128, (k + 3) * 128, (m + 1) * 256, accumulate};
    std::mt19937 random(static_cast<uint32_t>(m * 1000003 + n * 1009 + k));
    for (auto* codes : {&a, &b}) {
      for (uint16_t& code : *codes) {
        const auto bits = static_cast<uint32_t>(random());
        code = static_cast<uint16_t>(bits);
        if (values == Values::kAny) continue;
        // Exponents near one, so that every bit of a sum matters.
        code = static_cast<uint16_t>((code & 0x81FF) | (28 + (bits >> 16) % 6) << 9);
        if (values == Values::kZerosAndNinf && (bits >> 20) % 3 == 0) code &= 0x8000;
        if (values == Values::kZerosAndNinf && (bits >> 20) % 400 == 1) code |= 0x7FFF;
      }
    }
    for (float& sum : acc) {
      const auto bits = static_cast<uint32_t>(random());
      sum = values == Values::kNearOne ? static_cast<float>(static_cast<int32_t>(bits)) / 1e8F
                                       : FloatOf(bits);
    }
  }

  // With acc where the caller wants it.
  PtOperands At(std::vector<float>& sums) const {
    PtOperands o = operands;
    o.acc = reinterpret_cast<uint8_t*>(sums.data());
    o.a = reinterpret_cast<const uint8_t*>(a.data());
    o.b = reinterpret_cast<const uint8_t*>(b.data());
    return o;
  }
  std::vector<float> Reference() const {
    std::vector<float> sums = acc;
    const PtOperands o = At(sums);
    PtMatmulScalar(o.acc, o.a, o.b, static_cast<int>(o.m), static_cast<int>(o.n),
                   static_cast<int>(o.k), static_cast<int64_t>(o.a_kstick_stride),
                   static_cast<int64_t>(o.b_nstick_stride),
                   static_cast<int64_t>(o.acc_nstick_stride), o.accumulate);
    return sums;
  }

  std::vector<uint16_t> a, b;
  std::vector<float> acc;
  PtOperands operands{};
};

void ExpectSameSums(const std::vector<float>& got, const std::vector<float>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(BitsOf(got[i]), BitsOf(expected[i]))
        << "stick " << i / 64 << ", lane " << i % 64 << ": " << got[i] << " != " << expected[i];
  }
}

class PtArray : public ::testing::Test {
 protected:
  void ExpectRight(uint64_t m, uint64_t n, uint64_t k, Values values, bool accumulate,
                   uint64_t corelets = 1, PtSharing sharing = {}) {
    SCOPED_TRACE(::testing::Message() << "m " << m << " n " << n << " k " << k << " accumulate "
                                      << accumulate << " corelets " << corelets);
    const Problem problem(m, n, k, values, accumulate);
    std::vector<float> sums = problem.acc;
    EXPECT_EQ(array_.Run(problem.At(sums), corelets, sharing, 0),
              PtArrayCycles(m, n, k, corelets, sharing));
    ExpectSameSums(sums, problem.Reference());
    array_.Check();
  }
  const std::unique_ptr<RtlPtArray> block_ = MakeRtlPtArray();
  RtlPtArray& array_ = *block_;
};

TEST_F(PtArray, EqualsTheDefinitionWhateverItsRegistersHeldAtPowerOn) {
  const Problem problem(5, 64, 70, Values::kNearOne, true);
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<RtlPtArray> array = MakeRtlPtArray({seed});
    std::vector<float> sums = problem.acc;
    EXPECT_EQ(array->Run(problem.At(sums), 1, {}, 0), PtArrayCycles(5, 64, 70, 1));
    ExpectSameSums(sums, problem.Reference());
    array->Check();
  }
}

TEST_F(PtArray, EqualsTheDefinitionForEveryNumberOfRows) {
  for (uint64_t m = 1; m <= 20; ++m) ExpectRight(m, 64, 64, Values::kNearOne, true);
}

TEST_F(PtArray, EqualsTheDefinitionForEveryLengthOfAChunk) {
  for (uint64_t k = 1; k <= 65; ++k) ExpectRight(5, 64, k, Values::kNearOne, k % 2 != 0);
}

TEST_F(PtArray, EqualsTheDefinitionOverManyBlocks) {
  ExpectRight(3, 192, 200, Values::kNearOne, false);
  ExpectRight(9, 128, 320, Values::kNearOne, true);
  ExpectRight(17, 320, 64, Values::kNearOne, false);
  ExpectRight(64, 64, 128, Values::kNearOne, false);
}

// The blocks of a MATMUL with a flag are loaded when the array is free. With three corelets and
// five sticks some share by columns, then by rows.
TEST_F(PtArray, EqualsTheDefinitionHoweverTheCoreletsShareTheWork) {
  for (const uint8_t flag : {kMatmulOneCorelet, kMatmulRows, kMatmulColumns}) {
    for (const uint64_t corelets : {1, 2, 3}) {
      for (const uint64_t m : {1, 5, 40}) {
        ExpectRight(m, 320, 130, Values::kNearOne, true, corelets, {flag, 98});
        ExpectRight(m, 64, 64, Values::kNearOne, false, corelets, {flag, 64});
      }
    }
  }
}

TEST_F(PtArray, EqualsTheDefinitionForAnyBitPatterns) {
  ExpectRight(13, 128, 130, Values::kAny, false);
  ExpectRight(13, 128, 130, Values::kAny, true);
}

TEST_F(PtArray, EqualsTheDefinitionForZerosAndNinf) {
  ExpectRight(33, 64, 100, Values::kZerosAndNinf, false);
  ExpectRight(33, 64, 100, Values::kZerosAndNinf, true);
}

// Values beyond k are there and do not take part, NINF least of all.
TEST_F(PtArray, IgnoresWhatLiesBehindTheLastK) {
  Problem problem(4, 64, 10, Values::kNearOne, false);
  for (uint64_t row = 0; row < 4; ++row)
    std::fill_n(problem.a.begin() + static_cast<int64_t>(row * 64 + 10), 54, 0x7FFF);
  std::fill(problem.b.begin() + 10 * 64, problem.b.end(), 0x7FFF);
  std::vector<float> sums = problem.acc;
  array_.Run(problem.At(sums), 1, {}, 0);
  ExpectSameSums(sums, problem.Reference());
}

TEST_F(PtArray, WithoutKZeroesOrKeepsTheSums) {
  ExpectRight(3, 128, 0, Values::kAny, false);
  ExpectRight(3, 128, 0, Values::kAny, true);
}

TEST_F(PtArray, WithoutRowsOrColumnsDoesNothing) {
  ExpectRight(0, 64, 64, Values::kAny, false);
  ExpectRight(1, 0, 64, Values::kAny, false);
}

TEST_F(PtArray, EqualsTheDefinitionWhenCoreletsShareTheWork) {
  for (const uint64_t corelets : {2, 3, 8}) {
    for (const uint64_t sticks : {1, 2, 3, 5}) {
      ExpectRight(5, sticks * 64, 70, Values::kNearOne, true, corelets);
      ExpectRight(1, sticks * 64, 70, Values::kNearOne, false, corelets);
    }
  }
}

TEST(PtShares, CoverEveryElementOnce) {
  for (uint64_t corelets = 1; corelets <= 8; ++corelets) {
    for (uint64_t m = 1; m < 12; ++m) {
      for (uint64_t sticks = 1; sticks < 12; ++sticks) {
        std::vector<int> done(m * sticks);
        for (uint64_t corelet = 0; corelet < corelets; ++corelet) {
          for (const PtShare& share : PtShares(m, sticks * 64, corelets, corelet)) {
            for (uint64_t s = 0; s < share.sticks; ++s) {
              for (uint64_t row = 0; row < share.rows; ++row)
                ++done.at((share.stick + s * share.stick_step) * m + share.row + row);
            }
          }
        }
        EXPECT_EQ(std::count(done.begin(), done.end(), 1), static_cast<int64_t>(done.size()))
            << corelets << " corelets, " << m << " rows, " << sticks << " sticks";
      }
    }
  }
}

// One row of the table in docs/fidelity.md: the RTL counts, the formula says the same.
struct Size {
  uint64_t m, n, k, cycles;
};
class PtArrayCyclesOf : public PtArray, public ::testing::WithParamInterface<Size> {};
TEST_P(PtArrayCyclesOf, AreThoseOfTheRtl) {
  const auto [m, n, k, cycles] = GetParam();
  EXPECT_EQ(PtArrayCycles(m, n, k, 1), cycles);
  const Problem problem(m, n, k, Values::kNearOne, false);
  std::vector<float> sums = problem.acc;
  EXPECT_EQ(array_.Run(problem.At(sums), 1, {}, 0), cycles);
}
INSTANTIATE_TEST_SUITE_P(Grid, PtArrayCyclesOf,
                         ::testing::Values(Size{1, 64, 64, 116}, Size{4, 64, 64, 116},
                                           Size{5, 64, 64, 124}, Size{8, 64, 64, 148},
                                           Size{64, 64, 64, 596}, Size{1, 64, 512, 564},
                                           Size{8, 64, 512, 596}, Size{64, 64, 256, 2132},
                                           Size{7, 256, 64, 332}, Size{32, 256, 128, 2132}));

TEST_F(PtArray, RestsBetweenMatmuls) {
  const Problem problem(1, 64, 64, Values::kNearOne, false);
  std::vector<float> sums = problem.acc;
  const uint64_t before = array_.cycles();
  array_.Run(problem.At(sums), 1, {}, 0);
  array_.Run(problem.At(sums), 1, {}, 0);
  EXPECT_EQ(array_.cycles() - before, 2 * 116u);
}

TEST_F(PtArray, WritesWaves) {
  const std::string path = ::testing::TempDir() + "pt_array.fst";
  const Problem problem(1, 64, 64, Values::kNearOne, false);
  std::vector<float> sums = problem.acc;
  Waves waves(path, {});
  waves.Discard();
  array_.SetWaves(&waves, 1000);
  array_.Run(problem.At(sums), 1, {}, 5000);
  array_.Run(problem.At(sums), 1, {}, 6000);  // overlaps the one before: its waves come behind
  waves.Close();
  EXPECT_GT(std::ifstream(path, std::ios::ate).tellg(), 1000);
}

TEST_F(PtArray, TellsLaterThatWavesCouldNotBeWritten) {
  const Problem problem(1, 64, 64, Values::kNearOne, false);
  std::vector<float> sums = problem.acc;
  Waves waves("/nowhere/pt_array.fst", {});
  array_.SetWaves(&waves, 1000);
  array_.Run(problem.At(sums), 1, {}, 0);
  EXPECT_THROW(array_.Check(), Error);
}

}  // namespace
}  // namespace spyre::model::pt_array_test
