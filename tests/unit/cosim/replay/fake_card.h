// SPDX-License-Identifier: Apache-2.0
// A card of a few lines for tests of recording and replay: it answers ring entries after a fixed
// time, and can be made to differ in everything that a replay compares. Several may live in one
// process, unlike the simulated card.
#pragma once

#include <contract/registers.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cosim/host/host_mappings.h"
#include "cosim/host/observable_transport.h"
#include "model/contract/control_block.h"

namespace spyre::test {

struct FakeCardOptions {
  uint64_t latency_ps = 1'000'000;  // of an operation
  uint64_t admin_ps = 1'000'000;    // until ADMIN_STATUS is answered
  uint32_t cores = 32;
  uint8_t pattern = 0x5A;            // what a DMA_OUT writes ...
  uint64_t wrong_byte = UINT64_MAX;  // ... but for one byte
  Status status = Status::OK;        // of every response
  uint64_t lost_interrupt = 0;       // sequence whose interrupt is lost
  uint64_t lost_response = 0;        // sequence that is never answered
  uint64_t doubled_response = 0;     // sequence that is answered twice
  bool reversed = false;             // answers what one doorbell brought from the last to the first
};

class FakeCard : public cosim::ObservableTransport {
 public:
  explicit FakeCard(const FakeCardOptions& options = {}) : options_(options) {}

  uint32_t ConfigRead(driver::FunctionId, uint32_t offset) override {
    Run(kAccessPs);
    return offset;
  }
  void ConfigWrite(driver::FunctionId, uint32_t, uint32_t) override { Run(kAccessPs); }
  uint32_t Read32(driver::FunctionId, int, uint64_t offset) override {
    Run(kAccessPs);
    if (offset == regs::CAPABILITIES) return options_.cores;
    if (offset == regs::ADMIN_STATUS) return admin_busy_ ? kAdminBusy : 0;
    if (offset == regs::RQ_TAIL) return answered_;
    return registers_[offset];
  }
  void Write32(driver::FunctionId function, int, uint64_t offset, uint32_t value) override {
    Run(kAccessPs);
    if (offset == regs::CONTROL) {
      registers_.clear();
      answered_ = 0;
    }
    if (offset == regs::SQ_TAIL) Submit(function, registers_[offset], value);
    if (offset == regs::ADMIN_COMMAND) {
      admin_busy_ = true;
      events_.emplace(now_ps_ + options_.admin_ps, [this] { admin_busy_ = false; });
    }
    registers_[offset] = value;
  }
  driver::IoAddress MapHost(driver::FunctionId function, void* host, size_t size) override {
    const driver::IoAddress address = next_address_;
    mappings_.Add(function, address, static_cast<uint8_t*>(host), size);
    next_address_ += (size + 4095) / 4096 * 4096 + 4096;
    return address;
  }
  void MapHostAt(driver::FunctionId function, driver::IoAddress address, void* host,
                 size_t size) override {
    mappings_.Add(function, address, static_cast<uint8_t*>(host), size);
  }

  void UnmapHost(driver::FunctionId function, driver::IoAddress address) override {
    mappings_.Remove(function, address);
  }
  driver::WaitResult WaitInterrupt(driver::FunctionId function, int vector,
                                   uint64_t deadline_ps) override {
    for (;;) {
      if (interrupts_.erase({function, vector}) != 0) return driver::WaitResult::kInterrupt;
      if (now_ps_ >= deadline_ps) return driver::WaitResult::kDeadline;
      if (events_.empty()) return driver::WaitResult::kStalled;
      Run(std::min(deadline_ps, events_.begin()->first) - now_ps_);
    }
  }
  uint64_t NowPs() override { return now_ps_; }
  void Advance(uint64_t host_ps) override { Run(host_ps); }
  std::string Diagnose() override { return "the fake card waits"; }
  void ObserveHostWrites(cosim::HostWriteObserver observer) override {
    observer_ = std::move(observer);
  }

 private:
  static constexpr uint64_t kAccessPs = 1000;

  void Run(uint64_t ps) {
    const uint64_t until = now_ps_ + ps;
    while (!events_.empty() && events_.begin()->first <= until) {
      const auto event = events_.begin();
      now_ps_ = std::max(now_ps_, event->first);
      const std::function<void()> action = event->second;
      events_.erase(event);
      action();
    }
    now_ps_ = until;
  }

  void Submit(driver::FunctionId function, uint32_t begin, uint32_t end) {
    uint64_t at = now_ps_;
    for (uint32_t i = begin; i != end; ++i) {
      at += options_.latency_ps;
      const uint32_t entry = options_.reversed ? end - 1 - (i - begin) : i;
      events_.emplace(at, [this, function, entry] { Execute(function, entry); });
    }
  }

  void Execute(driver::FunctionId function, uint32_t index) {
    const uint32_t slot = index % registers_[regs::SQ_ENTRIES];
    ControlBlock block;
    std::memcpy(&block,
                mappings_.Find(function, registers_[regs::SQ_BASE_LO] + slot * 128, sizeof block),
                sizeof block);
    if (block.sequence == options_.lost_response) return;
    if (static_cast<Opcode>(block.opcode) == Opcode::DMA_OUT) {
      std::string data(block.size_bytes, static_cast<char>(options_.pattern));
      if (options_.wrong_byte < data.size()) data[options_.wrong_byte] ^= 1;
      Write(function, block.host_address, data.data(), data.size());
    }
    Answer(function, block);
    if (block.sequence == options_.doubled_response) Answer(function, block);
  }

  void Answer(driver::FunctionId function, const ControlBlock& block) {
    Response response{};
    response.opcode = block.opcode;
    response.sequence = block.sequence;
    response.status = static_cast<uint16_t>(options_.status);
    response.posted_ps = now_ps_;
    Seal(response);
    const uint32_t slot = answered_++ % registers_[regs::RQ_ENTRIES];
    Write(function, registers_[regs::RQ_BASE_LO] + slot * 128, &response, sizeof response);
    if (block.sequence != options_.lost_interrupt) interrupts_.insert({function, 0});
  }

  void Write(driver::FunctionId function, uint64_t address, const void* data, size_t bytes) {
    std::memcpy(mappings_.Find(function, address, bytes), data, bytes);
    if (observer_) observer_(function, address, bytes);
  }

  const FakeCardOptions options_;
  uint64_t now_ps_ = 0;
  bool admin_busy_ = false;
  uint32_t answered_ = 0;
  driver::IoAddress next_address_ = 0x10000;
  std::map<uint64_t, uint32_t> registers_;
  std::multimap<uint64_t, std::function<void()>> events_;
  std::set<std::pair<driver::FunctionId, int>> interrupts_;
  cosim::HostMappings mappings_;
  cosim::HostWriteObserver observer_;
};

}  // namespace spyre::test
