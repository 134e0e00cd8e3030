// SPDX-License-Identifier: Apache-2.0
// The random numbers of fuzz tests. Seeds are fixed: a failure repeats.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace spyre::fuzz {

// Random numbers with a taste for trouble.
class Chaos {
 public:
  explicit Chaos(uint32_t seed) : engine_(seed + Campaign()) {}

  uint64_t Word() { return static_cast<uint64_t>(engine_()) << 32 | engine_(); }
  uint64_t Below(uint64_t limit) { return Word() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }
  // A size, address or count: near a power of two, near the top, small, or anything.
  uint64_t Nasty() {
    switch (Below(6)) {
      case 0:
        return Pick<uint64_t>({0, 1, 127, 128, 129, 4095, 4096, 4097});
      case 1:
        return (1ull << Below(64)) + Below(3) - 1;
      case 2:
        return ~0ull - Below(1024);
      case 3:
        return Below(1 << 16) * 128;
      case 4:
        return Below(1024);
      default:
        return Word();
    }
  }

 private:
  // For longer campaigns: SPYRE_FUZZ_SEED shifts every seed.
  static uint32_t Campaign() {
    const char* text = std::getenv("SPYRE_FUZZ_SEED");
    return text == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) * 1000;
  }
  std::mt19937 engine_;
};

}  // namespace spyre::fuzz
