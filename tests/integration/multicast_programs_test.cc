// SPDX-License-Identifier: Apache-2.0
// Random programs of several cores on the card against the interpreter, which copies every byte at
// once: multicasts and what then happens to their bytes, in whole and in part, on cores that are
// not in step. Some programs fail in the middle; the next one must not notice.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "tests/integration/card_fixture.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::test::multicast_programs_test {
namespace {

constexpr int kCores = 4;
constexpr int64_t kLx = 65536;
constexpr int64_t kOperands = 40 << 10;  // bytes of LX with SEN169 codes; fp32 sums behind them
constexpr int64_t kSums = kLx - kOperands;
constexpr int64_t kMask = (1 << kCores) - 1;
// Table of addresses: what is loaded, then for each core what it stores, and its LX at the end.
constexpr int64_t kWork = 1, kFinal = 1 + kCores, kTensors = 1 + 2 * kCores;

// What a core does: its instructions one behind the other, whatever the unit.
struct Core {
  std::array<std::vector<Instruction>, kUnitCount> code;
  int last = -1;  // the unit of the last instruction
};

class MulticastPrograms : public CardFixture {
 protected:
  int64_t Below(int64_t limit) { return static_cast<int64_t>(random_() % limit); }
  int64_t Sticks(int64_t limit) { return Below(limit / 128) * 128; }
  // A place in the operands' part of LX, often the beginning of what a multicast brought.
  int64_t Place(int64_t bytes) {
    if (Below(2) == 0 && weights_ + bytes <= kOperands) return weights_;
    return Sticks(kOperands - bytes + 128);
  }

  static uint8_t TokenOf(int unit) { return static_cast<uint8_t>(1 + unit); }

  // Appends an instruction that starts when the core's last one has ended. An address < 0 is entry
  // -address - 1 of the table, plus `device_offset`.
  void Append(Core& core, Unit unit, Op op, uint8_t fn, const std::vector<int64_t>& operands,
              int64_t device_offset = 0) {
    const int number = static_cast<int>(unit);
    if (core.last >= 0) core.code[core.last].back().signal = TokenOf(number);
    std::vector<Instruction>& code = core.code[number];
    const auto scalar = [&](Op scalar_op, uint8_t a, uint8_t b, uint8_t c, int64_t imm) {
      code.push_back({scalar_op, 0, 0, 0, {a, b, c}, imm});
    };
    if (Below(4) == 0) {  // cores get out of step
      scalar(Op::kLi, 40, 0, 0, Below(400));
      scalar(Op::kLoop, 41, 40, 0, 0);
      scalar(Op::kNop, 0, 0, 0, 0);
      scalar(Op::kEnd, 0, 0, 0, 0);
    }
    Instruction in;
    in.op = op;
    in.fn = fn;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == 0) continue;  // register 0; some operands are not used
      const auto reg = static_cast<uint8_t>(10 + i);
      in.reg[i] = reg;
      if (operands[i] < 0) {
        scalar(Op::kTab, 42, 0, 0, -operands[i] - 1);
        scalar(Op::kLi, 43, 0, 0, device_offset);
        scalar(Op::kMadd, reg, 42, 43, 1);
      } else {
        scalar(Op::kLi, reg, 0, 0, operands[i]);
      }
    }
    // A step of its own: the interpreter takes a unit that stands before a barrier for arrived.
    if (core.last >= 0) code.push_back({Op::kNop, 0, TokenOf(number), 0, {}, 0});
    code.push_back(in);
    core.last = number;
  }

  // Rows that follow each other on both sides, so bursts of 4096 bytes and a rest.
  void Load(Core& core, int64_t lx, int64_t tensor, int64_t offset, int64_t bytes, int64_t group) {
    Append(core, Unit::kLoad, Op::kLoad, 0, {lx, -tensor - 1, bytes, 1, 0, 0, 1, 0, 0, group},
           offset);
  }
  void Store(Core& core, int64_t lx, int64_t tensor, int64_t offset, int64_t bytes) {
    Append(core, Unit::kStore, Op::kStore, 0, {lx, -tensor - 1, bytes, 1, 0, 0, 1, 0, 0}, offset);
  }
  void Matmul(Core& core) {
    const int64_t m = 1 + Below(5);
    const int64_t a_stride = m * 128, acc_stride = m * 256 + 256;
    Append(core, Unit::kPt, Op::kMatmul, 0,
           {kOperands + Below((kSums - 2 * acc_stride) / 128) * 128,
            Sticks(kOperands - 2 * a_stride), Below(4) == 0 ? Place(k_ * n_ * 2) : weights_, m, n_,
            k_, a_stride, k_ * 128, acc_stride, Below(2)});
  }
  void AppendAnything(Core& core, int number) {
    const int64_t bytes = 128 * (1 + Below(36));
    switch (Below(7)) {
      case 0:
        return Load(core, Place(bytes), Below(2) == 0 ? 0 : kWork + number,
                    Sticks(kOperands - bytes + 128), bytes, 0);
      case 1: {
        const int64_t at = Below(2) == 0 ? Place(bytes) : kOperands + Sticks(kSums - bytes);
        return Store(core, at, kWork + number, at, bytes);
      }
      case 2: {  // copies rows of a stick, with gaps, to elsewhere
        const int64_t rows = 1 + Below(12), from = Sticks(kOperands / 2 - 12 * 256);
        const int64_t to = from + kOperands / 2;
        const bool back = Below(2) == 0;
        return Append(core, Unit::kVector, Op::kVunary, static_cast<uint8_t>(UnaryFn::kCopy),
                      {back ? from : to, back ? to : from, 0, rows, 1, 0, 0, 0, 256,
                       Below(2) == 0 ? 128 : 256});
      }
      case 3:
        return Append(core, Unit::kVector, Op::kVfill, 0,
                      {Place(512), 0x3E00, 128, 1 + Below(3), 128});
      default:
        return Matmul(core);
    }
  }
  void MulticastWeights(std::vector<Core>& cores) {
    k_ = std::vector<int64_t>{32, 64, 96, 33, 100}[Below(5)];
    n_ = 64 + 64 * Below(2);
    const int64_t bytes = k_ * n_ * 2;
    weights_ = Below(3) == 0 ? Sticks(kOperands - bytes) : Below(2) * 4096;
    const int64_t offset = Sticks(kOperands - bytes);
    for (Core& core : cores) Load(core, weights_, 0, offset, bytes, kMask);
  }
  // Everybody sends to its neighbour at once, between two barriers.
  void Exchange(std::vector<Core>& cores) {
    const bool sums = Below(2) == 0;
    const int64_t zone = sums ? kOperands : 0, half = (sums ? kSums : kOperands) / 2;
    const int64_t bytes = 4 * (1 + Below(1500));
    const int64_t from = zone + Sticks(half - bytes), to = zone + half + Sticks(half - bytes);
    for (int i = 0; i < kCores; ++i) {
      Append(cores[i], Unit::kRing, Op::kBarrier, 0, {kMask, 1});
      Append(cores[i], Unit::kRing, Op::kSend, 0, {(i + 1) % kCores, to, from, bytes, 0});
      Append(cores[i], Unit::kRing, Op::kBarrier, 0, {kMask, 2});
    }
  }

  Program RandomProgram(bool fails) {
    std::vector<Core> cores(kCores);
    weights_ = 0;
    for (Core& core : cores) Load(core, 0, 0, 0, kLx, kMask);
    MulticastWeights(cores);
    const int64_t events = 8 + Below(6);
    const int64_t failure = Below(events);
    for (int64_t event = 0; event < events; ++event) {
      if (Below(3) == 0) MulticastWeights(cores);
      if (Below(8) == 0) Exchange(cores);
      for (int i = 0; i < kCores; ++i) {
        Matmul(cores[i]);
        for (int64_t more = Below(3); more > 0; --more) AppendAnything(cores[i], i);
      }
      if (fails && event == failure) Load(cores[Below(kCores)], 0, 0, 64, 128, 0);  // misaligned
    }
    for (int i = 0; i < kCores; ++i) Store(cores[i], 0, kFinal + i, 0, kLx);

    Program program;
    program.name = "multicasts";
    program.core_mask = kMask;
    program.lx_bytes = kLx;
    for (int i = 0; i < kCores; ++i) {
      for (int unit = 0; unit < kUnitCount; ++unit) {
        if (!cores[i].code[unit].empty())
          program.sections.push_back({static_cast<Unit>(unit), 1U << i, cores[i].code[unit]});
      }
    }
    return program;
  }

  // Numbers near one: codes in one part, floats behind.
  std::vector<uint8_t> Data() {
    std::vector<uint8_t> data(kLx);
    for (int64_t at = 0; at < kOperands; at += 2) {
      const auto code = static_cast<uint16_t>((random_() & 0x81FF) | (28 + random_() % 6) << 9);
      std::memcpy(&data[at], &code, sizeof code);
    }
    for (int64_t at = kOperands; at < kLx; at += 4) {
      const float value = static_cast<float>(Below(2001) - 1000) / 7;
      std::memcpy(&data[at], &value, sizeof value);
    }
    return data;
  }

  std::mt19937 random_{1402};
  int64_t weights_ = 0, k_ = 64, n_ = 64;  // of the last multicast
};

TEST_F(MulticastPrograms, LeaveTheBytesOfACardThatCopiesAtOnce) {
  Open();
  std::vector<flex::DeviceHandle> tensors;
  for (int64_t i = 0; i < kTensors; ++i) tensors.push_back(context_->Allocate(kLx));
  for (int round = 0; round < 60; ++round) {
    const bool fails = round % 5 == 4;
    Program program = RandomProgram(fails);
    for (const flex::DeviceHandle& tensor : tensors)
      program.address_table.push_back(flex::ToDeviceVirtual(tensor));
    compiler::harness::Memory memory;
    for (int64_t i = 0; i < kTensors; ++i) {
      const std::vector<uint8_t> data = Data();
      context_->DefaultStream().CopyToDevice(data.data(), tensors[i], kLx);
      memory.Add(program.address_table[i], kLx);
      std::memcpy(memory.At(program.address_table[i], kLx), data.data(), kLx);
      context_->DefaultStream().Synchronize();
    }
    const flex::DeviceHandle image = CardFixture::Load(program);
    context_->DefaultStream().Launch(image);
    if (fails) {
      EXPECT_NE(FailureOf([&] { context_->DefaultStream().Synchronize(); }), "no error");
      context_->Reset();
      context_->Free(image);
      continue;
    }
    context_->DefaultStream().Synchronize();
    compiler::harness::Interpreter(program, memory, static_cast<uint32_t>(round)).Run();
    for (int64_t i = kWork; i < kTensors; ++i) {
      const std::vector<uint8_t> result = Download<uint8_t>(tensors[i], kLx);
      const uint8_t* const expected = memory.At(program.address_table[i], kLx);
      for (int64_t byte = 0; byte < kLx; ++byte) {
        ASSERT_EQ(result[byte], expected[byte])
            << "round " << round << ", tensor " << i << ", byte " << byte;
      }
    }
    context_->Free(image);
  }
}

}  // namespace
}  // namespace spyre::test::multicast_programs_test
