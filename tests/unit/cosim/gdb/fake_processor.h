// SPDX-License-Identifier: Apache-2.0
// A processor without instructions for tests of debuggers: pc walks in steps of four through a
// window of memory and starts again at its end.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "model/control/debug_target.h"

namespace spyre::test {

class FakeProcessor : public model::DebugTarget {
 public:
  static constexpr uint32_t kBase = 0x80000000;
  static constexpr uint32_t kBytes = 0x1000;

  FakeProcessor() : memory(kBytes) { csrs[0x342] = 2; }

  bool ReadRegister(unsigned number, uint32_t* value) override {
    if (number <= kPc) *value = registers[number];
    if (number <= kPc) return true;
    const auto csr = csrs.find(number - kCsr);
    if (number < kCsr || csr == csrs.end()) return false;
    *value = csr->second;
    return true;
  }
  bool WriteRegister(unsigned number, uint32_t value) override {
    if (number == 0 || number > kPc) return false;
    registers[number] = value;
    return true;
  }
  bool ReadMemory(uint32_t address, void* data, size_t bytes) override {
    if (!Inside(address, bytes)) return false;
    if (bytes != 0) std::memcpy(data, memory.data() + (address - kBase), bytes);
    return true;
  }
  bool WriteMemory(uint32_t address, const void* data, size_t bytes) override {
    if (!Inside(address, bytes)) return false;
    if (bytes != 0) std::memcpy(memory.data() + (address - kBase), data, bytes);
    return true;
  }
  void SetBreakpoint(uint32_t address) override { breakpoints.insert(address); }
  void ClearBreakpoint(uint32_t address) override { breakpoints.erase(address); }

  // From reset to a detach, or until `steps` instructions have been executed.
  void Run(model::Debugger& debugger, uint64_t steps) {
    using Resume = model::Debugger::Resume;
    using Stop = model::Debugger::Stop;
    Resume resume = debugger.Stopped(*this, Stop::kReset);
    for (uint64_t i = 0; i < steps && resume != Resume::kDetach; ++i) {
      uint32_t& pc = registers[kPc];
      pc = pc + 4 < kBase + kBytes ? pc + 4 : kBase;
      if (resume == Resume::kStep) {
        resume = debugger.Stopped(*this, Stop::kStep);
      } else if (pc == trap_at) {
        resume = debugger.Stopped(*this, Stop::kTrap);
      } else if (breakpoints.count(pc) != 0) {
        resume = debugger.Stopped(*this, Stop::kBreakpoint);
      } else if (debugger.WantsStop()) {
        resume = debugger.Stopped(*this, Stop::kInterrupt);
      }
    }
  }

  uint32_t registers[kPc + 1] = {};
  std::map<unsigned, uint32_t> csrs;
  std::vector<uint8_t> memory;
  std::set<uint32_t> breakpoints;
  uint32_t trap_at = 0;

 private:
  static bool Inside(uint32_t address, size_t bytes) {
    return address >= kBase && bytes <= kBytes && address - kBase <= kBytes - bytes;
  }
};

}  // namespace spyre::test
