// SPDX-License-Identifier: Apache-2.0
// Random programs of vector instructions on the card against the interpreter, which is written from
// the definitions alone: every function, flag and format, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "model/contract/dlf_bits.h"
#include "model/contract/op_table.h"
#include "tests/integration/card_fixture.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::test::vector_programs_test {
namespace {

constexpr int64_t kLx = 65536;
constexpr int64_t kHalf = kLx / 2;  // results go to one half, operands come from the other

class VectorProgramsTest : public CardFixture {
 protected:
  int64_t Below(int64_t limit) { return static_cast<int64_t>(random_() % limit); }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[Below(static_cast<int64_t>(choices.size()))];
  }
  int64_t Bits(float value) { return BitsOf(value); }

  // A value for an operand of a walk of at most 4 rows and 3 planes, which stays inside its half.
  int64_t Operand(const OpInfo& info, std::string_view name, int64_t dst_half) {
    const auto ends_in = [&](std::string_view tail) {
      return name.size() >= tail.size() && name.substr(name.size() - tail.size()) == tail;
    };
    const bool transpose = info.op == Op::kVtranspose;
    const int64_t reach = transpose ? 8192 : 16384;  // where an operand may begin
    if (name == "dst") return dst_half + Below(reach / 4) * 4;
    if (name == "a" || name == "b") return (kHalf - dst_half) + Below(reach / 4) * 4;
    if (name == "dst_stick" || name == "a_stick") return Pick({128, 256});
    if (name == "dst_block" || name == "a_block") return Pick({128, 8192});
    if (name == "dst_row") return Pick({256, 384});
    if (name == "dst_plane") return transpose ? 0 : 2048;
    if (ends_in("_row")) return Pick({0, 128, 256, 384});
    if (ends_in("_plane")) return transpose ? 0 : Pick({0, 1024, 2048});
    if (name == "pair") return Pick({128, 4096});
    if (name == "rows") return 1 + Below(4);
    if (name == "planes") return transpose ? 1 : 1 + Below(3);
    if (name == "blocks") return 1 + Below(2);
    if (name == "accumulate") return Below(2);
    if (name == "cols") return Below(200);
    if (name == "count") return Below(500);
    if (name == "divisor" || name == "scale" || name == "shift") {
      return Bits(static_cast<float>(Below(64)) / 16 - 2);
    }
    return 0;
  }

  Program RandomProgram() {
    static const std::vector<const OpInfo*> ops = [] {
      std::vector<const OpInfo*> all;
      for (const OpInfo& info : OpTable()) {
        const bool moves_only = info.op == Op::kVfill || info.op == Op::kVreloc;
        if (!info.scalar && info.unit == Unit::kVector && !moves_only) all.push_back(&info);
      }
      return all;
    }();
    Section vector{Unit::kVector, 1, {{Op::kNop, 0, 1, 0, {}, 0}}};
    int64_t dst_half = 0;
    for (int i = 0; i < 12; ++i) {
      const OpInfo& info = *ops[static_cast<size_t>(Below(static_cast<int64_t>(ops.size())))];
      Instruction in;
      in.op = info.op;
      do in.fn = static_cast<uint8_t>(random_());
      while (!IsKnownFn(info.fn_set, in.fn));
      dst_half = kHalf - dst_half;
      for (size_t operand = 0; operand < info.operands.size(); ++operand) {
        if (info.operands[operand] == "-") continue;
        in.reg[operand] = static_cast<uint8_t>(operand + 1);
        int64_t value = Operand(info, info.operands[operand], dst_half);
        const bool divides = info.op == Op::kVround && (in.fn & kRoundScale) == 0;
        if (info.operands[operand] == "divisor" && divides) value = Below(9);
        vector.code.push_back({Op::kLi, 0, 0, 0, {static_cast<uint8_t>(operand + 1)}, value});
      }
      vector.code.push_back(in);
    }
    vector.code.push_back({Op::kNop, 0, 0, 2, {}, 0});
    Program program = Assemble(R"(
.program vectors
.cores 0x1
.lx 65536
.section load 0x1
  tab r1, 0
  li r2, 65536
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section store 0x1
  tab r1, 1
  li r2, 65536
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t2
.table 2
)");
    program.sections.push_back(std::move(vector));
    return program;
  }

  // Ordinary numbers of one format or the other, now and then any bits.
  std::vector<uint8_t> Data() {
    std::vector<uint8_t> data(kLx);
    std::uniform_real_distribution<float> uniform(-6, 6);
    for (size_t stick = 0; stick < data.size(); stick += kStickBytes) {
      const bool wide = Below(2) == 0;
      for (size_t at = 0; at < kStickBytes; at += 4) {
        uint32_t word = static_cast<uint32_t>(random_());
        if (Below(50) != 0) {
          const float low = uniform(random_);
          word = wide ? BitsOf(low)
                      : DlfFromFloat(low) | uint32_t{DlfFromFloat(uniform(random_))} << 16;
        }
        std::memcpy(&data[stick + at], &word, sizeof word);
      }
    }
    return data;
  }

  std::mt19937 random_{2026};
};

// Sums of several NaNs keep the bits of one of them, and which one is not defined.
bool BothNan(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, size_t byte) {
  float x;
  float y;
  std::memcpy(&x, &a[byte / 4 * 4], sizeof x);
  std::memcpy(&y, &b[byte / 4 * 4], sizeof y);
  return std::isnan(x) && std::isnan(y);
}

TEST_F(VectorProgramsTest, EveryInstructionDoesWhatItsDefinitionSays) {
  Open();
  const flex::DeviceHandle source = context_->Allocate(kLx);
  const flex::DeviceHandle target = context_->Allocate(kLx);
  for (int round = 0; round < 150; ++round) {
    const std::vector<uint8_t> data = Data();
    Program program = RandomProgram();
    program.address_table = {flex::ToDeviceVirtual(source), flex::ToDeviceVirtual(target)};
    context_->DefaultStream().CopyToDevice(data.data(), source, kLx);
    const flex::DeviceHandle image = Load(program);
    context_->DefaultStream().Launch(image);
    const std::vector<uint8_t> result = Download<uint8_t>(target, kLx);

    compiler::harness::Memory memory;
    memory.Add(program.address_table[0], kLx);
    memory.Add(program.address_table[1], kLx);
    std::memcpy(memory.At(program.address_table[0], kLx), data.data(), kLx);
    compiler::harness::Interpreter(program, memory, 1).Run();
    const uint8_t* expected = memory.At(program.address_table[1], kLx);
    const std::vector<uint8_t> wanted(expected, expected + kLx);
    for (size_t byte = 0; byte < result.size(); ++byte) {
      ASSERT_TRUE(result[byte] == wanted[byte] || BothNan(result, wanted, byte))
          << "round " << round << ", LX byte " << byte << ": " << int{result[byte]} << ", not "
          << int{wanted[byte]} << "\n"
          << Disassemble(program);
    }
    context_->Free(image);
  }
}

}  // namespace
}  // namespace spyre::test::vector_programs_test
