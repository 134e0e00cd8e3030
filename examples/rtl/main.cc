// SPDX-License-Identifier: Apache-2.0
// The multiplier and divider of the management controller (extension M of RISC-V) against
// arithmetic of the host: results, and the cycles that the source promises.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "Vmuldiv.h"

namespace {

enum Operation : uint8_t { kMul, kMulh, kMulhsu, kMulhu, kDiv, kDivu, kRem, kRemu };

// What the RISC-V specification says.
uint32_t Expected(unsigned operation, uint32_t a, uint32_t b) {
  const int64_t signed_a = static_cast<int32_t>(a), signed_b = static_cast<int32_t>(b);
  const auto unsigned_a = static_cast<int64_t>(a), unsigned_b = static_cast<int64_t>(b);
  switch (operation) {
    case kMul:
      return a * b;
    case kMulh:
      return static_cast<uint32_t>((signed_a * signed_b) >> 32);
    case kMulhsu:
      return static_cast<uint32_t>((signed_a * unsigned_b) >> 32);
    case kMulhu:
      return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
    case kDiv:
      return b == 0 ? UINT32_MAX : static_cast<uint32_t>(signed_a / signed_b);
    case kDivu:
      return b == 0 ? UINT32_MAX : static_cast<uint32_t>(unsigned_a / unsigned_b);
    case kRem:
      return b == 0 ? a : static_cast<uint32_t>(signed_a % signed_b);
    default:
      return b == 0 ? a : static_cast<uint32_t>(unsigned_a % unsigned_b);
  }
}

void Clock(Vmuldiv& block) {
  block.clk = 0;
  block.eval();
  block.clk = 1;
  block.eval();
}

}  // namespace

int main() {
  Vmuldiv block;
  std::mt19937 random(1);
  const uint32_t corners[] = {0, 1, UINT32_MAX, 0x80000000, 0x7FFFFFFF};
  for (int round = 0; round < 20000; ++round) {
    const unsigned operation = random() % 8;
    const uint32_t a = random() % 4 == 0 ? corners[random() % 5] : random();
    const uint32_t b = random() % 4 == 0 ? corners[random() % 5] : random() >> (random() % 32);
    block.start = 1;
    block.funct3 = static_cast<uint8_t>(operation);
    block.a = a;
    block.b = b;
    Clock(block);
    block.start = 0;
    int cycles = 1;
    for (; !block.done; ++cycles) Clock(block);
    const int promised = operation >= kDiv ? 33 : 1;
    if (block.result == Expected(operation, a, b) && cycles == promised) continue;
    std::printf("funct3 %u of %08x and %08x: %08x after %d cycles; right are %08x and %d\n",
                operation, a, b, block.result, cycles, Expected(operation, a, b), promised);
    return EXIT_FAILURE;
  }
  std::printf("20000 products and quotients are right\n");
  return EXIT_SUCCESS;
}
