// SPDX-License-Identifier: Apache-2.0
// A card without SystemC: registers, rings and DMA executed functionally, so that driver and
// runtime can be tested alone. Programs are not run: a COMPUTE is recorded and given to
// `on_compute`.
//
// Order: that of the ring, but an EVENT_WAIT that is not satisfied holds its stream and lets the
// others pass; behind a barrier or fence that is held by that, everything waits.
//
// Time: every operation takes op_ps, one after the other; it moves in Advance and WaitInterrupt.
// What a test can break is public. Device memory is sparse.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "driver/transport.h"
#include "model/contract/control_block.h"
#include "model/contract/memory_map.h"
#include "tests/unit/driver/fake_config_space.h"
#include "tests/unit/driver/fake_entry.h"
#include "tests/unit/driver/fake_host.h"
#include "tests/unit/driver/fake_order.h"

namespace spyre::test {

class FakeCard : public driver::Transport {
 public:
  // ---- what the card is
  uint64_t memory_mib = 1024;
  std::array<uint64_t, kRegions> region_bytes{1 << 20, 1 << 20, 0, 0, 0, 0, 0, 1 << 20};
  bool pipelined = false;
  uint64_t op_ps = 1'000'000;
  std::optional<std::mt19937> shuffle;  // pipelined: of the operations that may start, any is next
  size_t map_table_entries = 1024;

  // ---- what goes wrong
  std::map<uint64_t, Status> fail;          // sequence -> status of its response
  std::set<uint64_t> corrupt;               // sequences whose response is damaged on its way
  std::set<uint64_t> lose;                  // sequences that are never answered
  std::set<uint64_t> repeat_previous;       // sequences answered with the number before
  std::optional<uint64_t> hold_until_next;  // this sequence is answered after the one that follows
  bool lose_interrupts = false;
  bool gone = false;  // reads answer all ones, nothing works

  // ---- what happened
  struct Executed {
    driver::FunctionId function;
    ControlBlock block;  // translated to physical addresses
  };
  std::vector<Executed> executed;
  std::function<Status(const Executed&)> on_compute;
  std::map<std::pair<uint32_t, bool>, int> accesses;        // {BAR0 offset, write} -> count
  std::map<uint64_t, std::pair<uint64_t, uint8_t>> mapped;  // PF mapping table
  size_t host_mappings() const { return host_.mappings(); }
  int resets = 0;
  std::vector<std::array<uint64_t, 4>> assigned;  // {vf, region, base, length}

  FakeConfigSpace& config(driver::FunctionId function) { return FunctionOf(function).config; }

  void ReadMemory(uint64_t address, void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) static_cast<uint8_t*>(data)[i] = Byte(address + i);
  }
  void WriteMemory(uint64_t address, const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) Byte(address + i) = static_cast<const uint8_t*>(data)[i];
  }

  // ---- Transport
  uint32_t ConfigRead(driver::FunctionId function, uint32_t offset) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (gone || (function > 0 && function > FunctionOf(0).config.enabled_vfs())) return 0xFFFFFFFF;
    return FunctionOf(function).config.Read(offset);
  }
  void ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!FunctionOf(function).config.Write(offset, value)) return;
    ++resets;
    if (function == 0) mapped.clear();
    FunctionOf(function) = Function(function == 0);
  }

  uint32_t Read32(driver::FunctionId function, int bar, uint64_t offset) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Function& f = FunctionOf(function);
    if (gone || !f.config.memory_enabled()) return 0xFFFFFFFF;
    if (bar == 2) {
      uint32_t value = 0;
      ReadMemory(Register64(f, regs::WINDOW_BASE_LO) + offset, &value, sizeof(value));
      return value;
    }
    ++accesses[{static_cast<uint32_t>(offset), false}];
    return ReadRegister(f, function, static_cast<uint32_t>(offset));
  }
  void Write32(driver::FunctionId function, int bar, uint64_t offset, uint32_t value) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Function& f = FunctionOf(function);
    if (gone || !f.config.memory_enabled()) return;
    if (bar == 2) {
      WriteMemory(Register64(f, regs::WINDOW_BASE_LO) + offset, &value, sizeof(value));
      return;
    }
    ++accesses[{static_cast<uint32_t>(offset), true}];
    WriteRegister(f, static_cast<uint32_t>(offset), value);
  }

  driver::IoAddress MapHost(driver::FunctionId, void* host, size_t size) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return host_.Map(host, size);
  }
  void UnmapHost(driver::FunctionId, driver::IoAddress address) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    host_.Unmap(address);
  }

  driver::WaitResult WaitInterrupt(driver::FunctionId function, int vector,
                                   uint64_t deadline_ps) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Function& f = FunctionOf(function);
    for (;;) {
      if (f.pending_vectors.erase(vector) != 0) return driver::WaitResult::kInterrupt;
      const auto next = NextFinish();
      if (!next) return driver::WaitResult::kStalled;
      if (*next > deadline_ps) {
        now_ps_ = std::max(now_ps_, deadline_ps);
        return driver::WaitResult::kDeadline;
      }
      now_ps_ = std::max(now_ps_, *next);
      ExecuteOne();
    }
  }
  uint64_t NowPs() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_ps_;
  }
  void Advance(uint64_t host_ps) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    now_ps_ += host_ps;
    for (auto next = NextFinish(); next && *next <= now_ps_; next = NextFinish()) ExecuteOne();
  }
  std::string Diagnose() override { return "fake card: nothing is waiting"; }

 private:
  struct Function {
    explicit Function(bool physical = true) : config(physical) {
      for (const regs::RegisterInfo& info : regs::kRegisters) registers[info.offset] = info.reset;
    }
    FakeConfigSpace config;
    std::map<uint32_t, uint32_t> registers;
    uint32_t fetched = 0;
    uint32_t posted = 0;
    uint64_t doorbell_ps = 0;
    std::set<int> pending_vectors;
    FakeOrder order;
    std::optional<Response> held;
  };

  Function& FunctionOf(driver::FunctionId function) {
    return functions_.try_emplace(function, function == 0).first->second;
  }
  uint8_t& Byte(uint64_t address) {
    auto& page = pages_[address >> 12];
    if (page.empty()) page.resize(4096);
    return page[address & 4095];
  }
  static uint64_t Register64(Function& f, uint32_t low) {
    return f.registers[low] | static_cast<uint64_t>(f.registers[low + 4]) << 32;
  }

  uint32_t ReadRegister(Function& f, driver::FunctionId function, uint32_t offset) {
    switch (offset) {
      case regs::FUNCTION:
        return function;
      case regs::CAPABILITIES:
        return 32u | (function == 0 ? 0u : 8u) << 8 | (pipelined ? 1u : 0u) << 16;
      case regs::MEMORY_MIB:
        return static_cast<uint32_t>(memory_mib);
      case regs::SQ_HEAD:
        return f.fetched;
      case regs::RQ_TAIL:
        return f.posted;
      case regs::TIME_LO:
        f.registers[regs::TIME_HI] = static_cast<uint32_t>(now_ps_ >> 32);
        return static_cast<uint32_t>(now_ps_);
      case regs::REGION_LENGTH_LO:
        return static_cast<uint32_t>(RegionBytes(f, function));
      case regs::REGION_LENGTH_HI:
        return static_cast<uint32_t>(RegionBytes(f, function) >> 32);
      default:
        return f.registers[offset];
    }
  }
  uint64_t RegionBytes(Function& f, driver::FunctionId function) {
    return function == 0 ? 0 : region_bytes[f.registers[regs::REGION_SELECT] % kRegions];
  }

  void WriteRegister(Function& f, uint32_t offset, uint32_t value) {
    if (offset == regs::INT_STATUS) {
      f.registers[offset] &= ~value;
      return;
    }
    f.registers[offset] = value;
    if (offset == regs::SQ_TAIL) f.doorbell_ps = now_ps_;
    if (offset == regs::MAP_COMMAND) f.registers[regs::MAP_STATUS] = MapCommand(f, value);
    if (offset == regs::ADMIN_COMMAND) {
      const uint32_t vf = f.registers[regs::ADMIN_VF];
      const uint32_t region = f.registers[regs::ADMIN_REGION];
      const bool known = vf >= 1 && vf <= 255 && region < kRegions;
      f.registers[regs::ADMIN_STATUS] = known ? 0 : 1;
      if (known) {
        assigned.push_back(
            {vf, region, Register64(f, regs::ADMIN_BASE_LO), Register64(f, regs::ADMIN_LENGTH_LO)});
      }
    }
  }

  uint32_t MapCommand(Function& f, uint32_t command) {
    const uint64_t base = Register64(f, regs::MAP_BASE_LO);
    const uint64_t length = Register64(f, regs::MAP_LENGTH_LO);
    if (command == 3) return mapped.clear(), 0;
    if (command == 2) return mapped.erase(base) == 1 ? 0 : 3;
    if (!IsStickAligned(base | length) || base + length > memory_mib << 20) return 2;
    for (const auto& [start, entry] : mapped) {
      if (start < base + length && base < start + entry.first) return 1;
    }
    if (mapped.size() == map_table_entries) return 4;
    mapped[base] = {length, static_cast<uint8_t>(f.registers[regs::MAP_PERMISSION])};
    return 0;
  }

  HeldEntry Decode(driver::FunctionId function, Function& f) {
    HeldEntry entry;
    const uint64_t slot = f.fetched % f.registers[regs::SQ_ENTRIES];
    entry.number = f.fetched + 1;
    const uint8_t* bytes = host_.Bytes(Register64(f, regs::SQ_BASE_LO) + slot * 128, 128);
    entry.status = TranslateEntry(region_bytes, function, bytes, &entry.block);
    if (entry.status == Status::OK && entry.block.sequence != entry.number)
      entry.status = Status::BAD_SEQUENCE;
    return entry;
  }
  // Entries that cannot start become held; the first that can stays in the ring.
  bool Runnable(driver::FunctionId function, Function& f) {
    const auto& r = f.registers;
    if ((r.at(regs::QUEUE_CONTROL) & 1) == 0 || !f.config.bus_master() ||
        f.posted - r.at(regs::RQ_HEAD) >= r.at(regs::RQ_ENTRIES))
      return false;
    auto& held = f.order.held;
    while (shuffle && f.fetched != r.at(regs::SQ_TAIL) && held.size() < kHeldOperations) {
      held.push_back(Decode(function, f));
      ++f.fetched;
    }
    while (f.order.Next() == held.size()) {
      if (f.fetched == r.at(regs::SQ_TAIL) || held.size() == kHeldOperations) return false;
      held.push_back(Decode(function, f));
      if (f.order.Next() < held.size()) {
        held.pop_back();
        return true;
      }
      ++f.fetched;
    }
    return true;
  }
  std::optional<uint64_t> NextFinish() {
    std::optional<uint64_t> earliest;
    for (auto& [id, f] : functions_) {
      if (!Runnable(id, f)) continue;
      const uint64_t finish = std::max(busy_until_, f.doorbell_ps) + op_ps;
      if (!earliest || finish < *earliest) earliest = finish;
    }
    return earliest;
  }

  void ExecuteOne() {
    for (auto& [id, f] : functions_) {
      if (!Runnable(id, f)) continue;
      const uint64_t start = std::max(busy_until_, f.doorbell_ps);
      busy_until_ = start + op_ps;
      auto& held = f.order.held;
      if (f.order.Next() == held.size()) {
        held.push_back(Decode(id, f));
        ++f.fetched;
      }
      const size_t chosen = shuffle ? f.order.Any(*shuffle) : f.order.Next();
      const auto next = held.begin() + static_cast<std::ptrdiff_t>(chosen);
      const HeldEntry entry = *next;
      held.erase(next);
      const ControlBlock& block = entry.block;
      Status status = entry.status;
      Response response;
      response.sequence = entry.number;
      if (status == Status::OK && f.order.failed_streams.count(block.stream) != 0) {
        status = Status::ABORTED;
        if (entry.opcode() == Opcode::EVENT_SIGNAL) f.order.Poison(block.value);
      } else if (status == Status::OK) {
        const auto failure = fail.find(block.sequence);
        status =
            failure != fail.end() ? failure->second : Execute({id, block}, &response.fault_address);
      }
      if (status != Status::OK) f.order.failed_streams.insert(block.stream);
      response.opcode = block.opcode;
      response.status = static_cast<uint16_t>(status);
      response.fault_core = kNoCore;
      response.stream = block.stream;
      response.queued_ps = response.fetched_ps = f.doorbell_ps;
      response.started_ps = start;
      response.finished_ps = response.posted_ps = busy_until_;
      response.correlation = block.correlation;
      if (repeat_previous.count(response.sequence) != 0) --response.sequence;
      if (lose.count(response.sequence) != 0) return;
      if (hold_until_next == response.sequence) {
        f.held = response;
        return;
      }
      Post(f, response, (block.flags & kFlagInterrupt) != 0);
      if (f.held) Post(f, *std::exchange(f.held, std::nullopt), true);
      return;
    }
  }

  void Post(Function& f, Response response, bool interrupt) {
    const uint32_t entries = f.registers[regs::RQ_ENTRIES];
    response.phase = f.posted / entries % 2 == 0 ? 1 : 0;
    Seal(response);
    if (corrupt.count(response.sequence) != 0) response.finished_ps ^= 1;
    StoreResponse(host_.Bytes(Register64(f, regs::RQ_BASE_LO) + f.posted % entries * 128, 128),
                  response);
    ++f.posted;
    if (!interrupt || (f.registers[regs::INT_ENABLE] & 1) == 0) return;
    f.registers[regs::INT_STATUS] |= 1;
    if (f.config.msi_enabled() && !lose_interrupts) f.pending_vectors.insert(0);
  }

  bool IsMapped(uint64_t address, uint64_t size) const {
    return AnyFits(mapped, [&](const auto& entry) {
      return address >= entry.first && address + size <= entry.first + entry.second.first;
    });
  }

  Status ExecuteImmediate(const Executed& operation, uint64_t* fault_address) {
    executed.push_back(operation);
    const auto opcode = static_cast<Opcode>(operation.block.opcode);
    const uint64_t event = operation.block.value;
    FakeOrder& order = FunctionOf(operation.function).order;
    if (opcode == Opcode::EVENT_SIGNAL) order.Signal(event);
    if (opcode != Opcode::EVENT_WAIT || order.Reached(event)) return Status::OK;
    *fault_address = event;
    return Status::EVENT_FAILED;
  }
  Status Execute(const Executed& operation, uint64_t* fault_address) {
    const ControlBlock& block = operation.block;
    const auto opcode = static_cast<Opcode>(block.opcode);
    const bool compute = opcode == Opcode::COMPUTE;
    const bool dma =
        opcode == Opcode::DMA_IN || opcode == Opcode::DMA_OUT || opcode == Opcode::DMA_FILL;
    if (!compute && !dma) return ExecuteImmediate(operation, fault_address);
    const uint64_t address = compute ? block.program_base : block.device_address;
    const uint64_t size = compute ? block.program_bytes : block.size_bytes;
    *fault_address = address;
    if (operation.function == 0 && !IsMapped(address, size)) return Status::PAGE_FAULT;
    executed.push_back(operation);
    if (compute) return on_compute ? on_compute(operation) : Status::OK;
    if (opcode == Opcode::DMA_FILL) {
      for (uint64_t i = 0; i < size; i += 8) WriteMemory(address + i, &block.value, 8);
      return Status::OK;
    }
    uint8_t* host = host_.Bytes(block.host_address, size);
    if (host == nullptr) return Status::HOST_FAULT;
    if (block.flags & kFlagTimingOnly) return Status::OK;
    if (opcode == Opcode::DMA_IN) {
      WriteMemory(address, host, size);
    } else {
      ReadMemory(address, host, size);
    }
    return Status::OK;
  }

  std::mutex mutex_;
  std::map<driver::FunctionId, Function> functions_;
  std::map<uint64_t, std::vector<uint8_t>> pages_;
  FakeHost host_;
  uint64_t now_ps_ = 0;
  uint64_t busy_until_ = 0;
};

}  // namespace spyre::test
