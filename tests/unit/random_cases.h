// SPDX-License-Identifier: Apache-2.0
// Cases of random tests, one for each seed, and what a case draws. Many tests include this, so
// there is nothing in it that takes long to compile.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <random>

namespace spyre::test {

// Runs `test` for the seeds 0, 1, ... below `count`, or for a fifth of them where a sanitizer makes
// each slow. The first seed whose case fails or throws is the last, and the failure says which it
// was.
inline void ForSeeds(uint32_t count, void (*test)(std::mt19937& random)) {
  if (std::getenv("SPYRE_FEW_SEEDS") != nullptr) count /= 5;
  for (uint32_t seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    std::mt19937 random(seed);
    try {
      test(random);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (::testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
  }
}

// A number from `low` to `high`: of eight, one is the least, one is the largest, two are of any
// magnitude, and the others are equally likely.
inline int64_t DrawNumber(std::mt19937& random, int64_t low, int64_t high) {
  uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t kind = random() % 8;
  if (kind == 0 || span == 0) return low;
  if (kind == 1) return high;
  if (kind <= 3) span >>= random() % (64 - static_cast<unsigned>(__builtin_clzll(span)));
  const uint64_t above = std::uniform_int_distribution<uint64_t>(0, span)(random);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + above);
}
template <typename Number>
Number Draw(std::mt19937& random, Number low, Number high) {
  return static_cast<Number>(
      DrawNumber(random, static_cast<int64_t>(low), static_cast<int64_t>(high)));
}

// Any 64 bits: as signed numbers, they are of any magnitude and either sign, and the least and the
// largest are among them.
inline uint64_t DrawWord(std::mt19937& random) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const uint64_t kind = random() % 32;
  if (kind < 2) return kSign - kind;
  uint64_t word = random();
  word = word << 32 | random();
  const uint64_t bits = random() % 65;
  word = bits == 0 ? 0 : word >> (64 - bits);
  return random() % 2 == 0 ? word : ~word;
}

inline bool DrawBool(std::mt19937& random) { return random() % 2 == 0; }

template <typename Value>
Value DrawOf(std::mt19937& random, std::initializer_list<Value> values) {
  return values.begin()[random() % values.size()];
}

}  // namespace spyre::test
