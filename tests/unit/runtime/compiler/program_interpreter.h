// SPDX-License-Identifier: Apache-2.0
// Runs a program on nothing but memory, one instruction of one unit at a time, in an order that a
// seed decides: a program that lacks a token gives other numbers, or reads what nobody wrote, for
// some seed. No time, no contention. Written from program.h alone, element by element, so that it
// shares nothing with the card. Throws std::runtime_error where a program is wrong.
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "model/contract/formats.h"
#include "model/contract/program.h"
#include "runtime/compiler/kernels/kernel.h"
#include "tests/unit/runtime/compiler/instruction_values.h"

namespace spyre::compiler::harness {

// Device memory: named ranges; nothing else may be touched.
class Memory {
 public:
  void Add(uint64_t base, uint64_t bytes) {
    ranges_.push_back({base, std::vector<uint8_t>(bytes)});
  }
  uint8_t* At(uint64_t address, uint64_t bytes) {
    for (Range& range : ranges_) {
      if (address >= range.base && address + bytes <= range.base + range.data.size()) {
        return range.data.data() + (address - range.base);
      }
    }
    Fail("device address 0x{:x}, {} bytes: no tensor is there", address, bytes);
  }

 private:
  struct Range {
    uint64_t base;
    std::vector<uint8_t> data;
  };
  std::vector<Range> ranges_;
};

class Interpreter {
 public:
  Interpreter(const Program& program, Memory& memory, uint32_t seed)
      : program_(program), memory_(memory), random_(seed) {}

  void Run();

  uint64_t bytes_loaded() const { return bytes_loaded_; }

  // LX of a core as a run has left it, for a run that goes on with it.
  struct LxState {
    std::vector<uint8_t> bytes;
    std::vector<uint8_t> written;  // a mark for each byte
  };
  LxState TakeLx(int core) { return {std::move(cores_[core].lx), std::move(cores_[core].written)}; }
  void GiveLx(int core, LxState lx);

 private:
  static constexpr uint8_t kUnwritten = 0, kWritten = 1;
  struct Loop {
    size_t body;
    uint8_t index;
    int64_t left;
  };
  struct UnitState {
    int core = 0;
    const Section* section = nullptr;
    size_t pc = 0;
    std::array<int64_t, kRegisters> reg{};
    std::vector<Loop> loops;
    int barriers = 0;  // passed
  };
  struct Core {
    std::vector<uint8_t> lx;
    std::vector<uint8_t> written;  // kUnwritten or kWritten for each byte: quicker than bits
    std::array<int, kTokens> tokens{};
    std::vector<std::array<int64_t, 12>> multicasts;  // operands of the loads that have a group
  };

  bool Ready(const UnitState& unit) const;

  // Every core of the mask is there, or has gone on from it.
  bool AllAtBarrier(const UnitState& unit) const;

  [[noreturn]] void Deadlock() const;

  // Members of a multicast wait for each other: their loads must meet, in order, with equal boxes.
  void CheckMulticasts();

  // ------------------------------------------------------------- LX
  uint8_t* Write(int core, int64_t address, int64_t bytes);
  const uint8_t* Read(int core, int64_t address, int64_t bytes);
  int64_t ReadNumber(int core, int64_t address, int64_t bound);  // of 32 bits
  void Check(int core, int64_t address, int64_t bytes) const;
  uint16_t ReadCode(int core, int64_t address);
  float ReadDlf(int core, int64_t address) { return DlfToFloat(ReadCode(core, address)); }
  float ReadFloat(int core, int64_t address);
  void WriteCode(int core, int64_t address, uint16_t code);
  // Element `lane` of a stick, which the flags of fn say to be fp32 or SEN169.
  float ReadLane(uint8_t fn, int core, int64_t stick, int64_t lane);
  // All lanes of a stick before anything is written; or its first one, in every lane.
  using Lanes = std::array<float, 64>;
  static int64_t LanesOf(uint8_t fn) { return (fn & kFp32Sticks) != 0 ? 32 : 64; }
  Lanes ReadLanes(uint8_t fn, int core, int64_t stick, bool first_only);
  void WriteLane(uint8_t fn, int core, int64_t stick, int64_t lane, double value);
  void WriteFloat(int core, int64_t address, float value);

  // ------------------------------------------------------------- sequencer
  void Step(UnitState& u);

  void Execute(UnitState& u, const Instruction& in);

  // kVconvert of one narrow stick: element by element, as the public element orders have it.
  void Convert(int core, ConvertFn fn, const std::array<int64_t, 12>& o, int64_t dst, int64_t a);

  // Elements that move unrounded.
  void MoveLane(uint8_t flags, int core, int64_t dst, int64_t src, int64_t lane, int64_t from);

  // kVbinary of one stick.
  void Binary(int core, uint8_t flags, int64_t dst, int64_t a_stick, int64_t b_stick);

  void Move(bool load, int core, const std::array<int64_t, 12>& o, int64_t p, int64_t r);

  void Matmul(int core, const std::array<int64_t, 12>& o);

  const Program& program_;
  Memory& memory_;
  std::mt19937 random_;
  std::array<Core, kMaxCores> cores_;
  std::vector<std::unique_ptr<UnitState>> units_;
  uint64_t bytes_loaded_ = 0;
};

// The compute programs of a kernel, in order, as they come back from their images.
std::vector<Program> ProgramsOf(const Kernel& kernel);
// Runs them one after the other; each finds LX as the one before has left it.
void RunInOrder(const std::vector<Program>& programs, Memory& memory, uint32_t seed);

}  // namespace spyre::compiler::harness
