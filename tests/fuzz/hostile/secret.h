// SPDX-License-Identifier: Apache-2.0
// What a tenant has that nobody else may see: 64 random bytes, which it leaves wherever it can, and
// which tests look for in all that others can read.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

namespace spyre::fuzz {

class Secret {
 public:
  explicit Secret(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (uint64_t& word : words_) {
      word = random();
      sieve_ |= Bit(word);
    }
  }

  uint64_t word(size_t i) const { return words_[i % words_.size()]; }

  // Fills [data, data + bytes) with it, again and again; bytes a multiple of 8.
  void Spread(uint8_t* data, size_t bytes) const {
    for (size_t i = 0; i < bytes; i += 8) std::memcpy(data + i, &words_[i / 8 % words_.size()], 8);
  }

  // Whether any eighth of it lies at a multiple of 8 of [data, data + bytes).
  bool IsIn(const uint8_t* data, size_t bytes) const {
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
      uint64_t word;
      std::memcpy(&word, data + i, 8);
      if ((sieve_ & Bit(word)) == 0) continue;
      for (const uint64_t own : words_) {
        if (word == own) return true;
      }
    }
    return false;
  }
  // Whether a register shows half an eighth of it.
  bool Shows(uint32_t value) const {
    for (const uint64_t own : words_) {
      if (value == static_cast<uint32_t>(own) || value == static_cast<uint32_t>(own >> 32))
        return true;
    }
    return false;
  }

 private:
  static uint64_t Bit(uint64_t word) { return 1ull << (word & 63); }

  std::array<uint64_t, 8> words_{};
  uint64_t sieve_ = 0;
};

}  // namespace spyre::fuzz
