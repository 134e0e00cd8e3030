// SPDX-License-Identifier: Apache-2.0
// Random work for a card with a PF and two VFs: entries good and bad, rings of every size,
// doorbells in the middle, broken ring registers, resets. The log says everything that software can
// see but times: responses, registers, host and device memory. One per process; owns the transport.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bringup/ladder/raw_queue.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/physical_function.h"
#include "model/contract/program.h"
#include "model/contract/stick_layout.h"

namespace spyre::test {

using bringup::RawQueue;

constexpr uint32_t kStreams = 6;
constexpr uint64_t kStreamBytes = 1 << 16;  // memory of one stream, host and device
constexpr uint64_t kProgram = 1 << 20;      // of the PF
constexpr uint64_t kRegionBytes = 4ull << 30;

constexpr const char* kFailingKernel = R"(
.program overflow
.cores 0x3
.lx 128
.section load 0x3
  li r1, 2097152
  li r2, 128
  li r3, 1
  load r1, r1, r2, r3, r0, r0, r3, r0, r0, r0
)";
constexpr const char* kEmptyKernel = R"(
.program empty
.cores 0xF
.section vector 0xF
  nop
)";
constexpr const char* kLoneKernel = R"(
.program lone
.cores 0x1
.section vector 0x1
  nop
)";

// One function, its queue and its host memory.
struct Party {
  driver::FunctionId function;
  std::unique_ptr<driver::Device> device;
  std::vector<uint8_t> host = std::vector<uint8_t>(kStreams * kStreamBytes);
  driver::IoAddress io = 0;
  std::unique_ptr<RawQueue> queue;
};

class RandomHost {
 public:
  RandomHost(const model::CardConfig& config, uint32_t seed)
      : random_(seed),
        transport_(config, cosim::HostTiming{}, nullptr),
        pipelined_(!config.serial()) {
    for (driver::FunctionId function = 0; function <= 2; ++function) {
      Party& party = parties_[function];
      party.function = function;
      party.device = std::make_unique<driver::Device>(transport_, function);
      party.io = transport_.MapHost(function, party.host.data(), party.host.size());
      for (uint8_t& byte : party.host) byte = static_cast<uint8_t>(random_());
      if (function == 0) {
        driver::PhysicalFunction physical(*party.device);
        physical.MapRange(0, 2 << 20, kPermissionRead | kPermissionWrite | kPermissionExecute);
        physical.EnableVirtualFunctions(2);
        physical.AssignRegion(1, 0, kRegionBytes, 1 << 20);
        physical.AssignRegion(2, 1, 2 * kRegionBytes, 1 << 20);
      }
    }
    LoadPrograms();
  }

  // Random work on all functions, in rounds; each round begins with a reset.
  std::string RunRounds(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (Party& party : parties_) {
        party.queue.reset();
        party.queue =
            std::make_unique<RawQueue>(transport_, party.function, 2u << Below(6), 2u << Below(6));
      }
      for (int burst = 0; burst < 4; ++burst) {
        for (Party& party : parties_) Burst(party);
        Settle(round);
      }
      if (OneIn(3)) BreakOneRing(round);
      if (OneIn(3)) ResetInTheMiddle();
    }
    return log_.str();
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  void LoadPrograms() {
    uint64_t at = kProgram;
    for (const char* text : {kEmptyKernel, kFailingKernel, kLoneKernel}) {
      std::vector<uint8_t> image = Encode(Assemble(text));
      image.resize(4096);
      std::copy(image.begin(), image.end(), image_.begin());
      RawQueue queue(transport_, 0);
      auto block = queue.Make<ControlBlock>(Opcode::DMA_IN);
      block.host_address = transport_.MapHost(0, image_.data(), image_.size());
      block.device_address = at;
      block.size_bytes = 4096;
      queue.Put(block);
      queue.Ring();
      EXPECT_EQ(queue.Settle().at(1), Status::OK);
      transport_.UnmapHost(0, block.host_address);
      at += 4096;
    }
  }

  // As many entries as the ring has room for, with one doorbell or several.
  void Burst(Party& party) {
    RawQueue& queue = *party.queue;
    const uint32_t room =
        queue.submission_entries() - (queue.submitted() - queue.registers().ReadSqHead());
    const auto count = static_cast<uint32_t>(Below(std::min(room, 48u) + 1));
    for (uint32_t i = 0; i < count; ++i) {
      if (party.function == 0) {
        Put(queue, MakeControlBlock(party));
      } else {
        Put(queue, MakeMessage(party));
      }
      if (OneIn(4)) queue.Ring();
    }
    queue.Ring();
  }
  template <typename Entry>
  Entry Common(const Party& party) {
    Entry entry{};
    const uint64_t kind = Below(16);
    entry.opcode = static_cast<uint8_t>(kind < 9 ? kind : kind < 12 ? 3 : kind < 15 ? 6 : 7);
    entry.flags = static_cast<uint16_t>(OneIn(4) ? Below(4) : 0);
    if (OneIn(3)) entry.flags |= kFlagPrepare;
    entry.stream = static_cast<uint32_t>(Below(kStreams));
    entry.host_address = OneIn(30) ? 0x10 : party.io + entry.stream * kStreamBytes + Below(4096);
    entry.size_bytes = Below(8192);
    entry.value = IsEvent(entry.opcode) ? Event(entry) : Below(10);
    entry.correlation = random_();
    return entry;
  }
  static bool IsEvent(uint8_t opcode) {
    return opcode == static_cast<uint8_t>(Opcode::EVENT_SIGNAL) ||
           opcode == static_cast<uint8_t>(Opcode::EVENT_WAIT);
  }
  // Where streams overtake each other, a slot has one stream that signals it: whether a wait fails
  // must not depend on times.
  template <typename Entry>
  uint64_t Event(const Entry& entry) {
    const bool signal = entry.opcode == static_cast<uint8_t>(Opcode::EVENT_SIGNAL);
    const auto slot = pipelined_ && signal ? entry.stream : static_cast<uint32_t>(Below(kStreams));
    return EventValue(slot, Below(signal ? 24 : 8));
  }
  ControlBlock MakeControlBlock(const Party& party) {
    auto block = Common<ControlBlock>(party);
    block.device_address = block.stream * kStreamBytes + Below(64) * kStickBytes;
    if (OneIn(30)) block.device_address += 64;
    if (OneIn(30)) block.device_address += 8ull << 20;
    if (block.opcode == static_cast<uint8_t>(Opcode::COMPUTE)) {
      block.program_base = kProgram + (OneIn(2) ? Below(4) * 4096 : 0);
      block.program_bytes = 4096;
      block.device_address = OneIn(20) ? 4096 : 0;
      block.segment_table = OneIn(20) ? 64 : 0;
    }
    if (OneIn(40)) block.function = 1;
    return block;
  }
  Message MakeMessage(const Party& party) {
    auto message = Common<Message>(party);
    message.device_region = OneIn(20) ? static_cast<uint32_t>(Below(10)) : party.function - 1u;
    message.device_offset = message.stream * kStreamBytes + Below(64) * kStickBytes;
    if (OneIn(30)) message.device_offset += 64;
    if (message.opcode == static_cast<uint8_t>(Opcode::COMPUTE)) {
      message.program_region = message.device_region;
      message.program_bytes = 4096;  // of data: not a program
      message.device_offset = 0;
    }
    return message;
  }
  // As it is meant, or damaged.
  template <typename Entry>
  void Put(RawQueue& queue, Entry entry) {
    switch (Below(150)) {
      case 0:
        entry.sequence = random_();
        break;
      case 1:
        entry.sequence = queue.submitted() + 1u;
        Seal(entry);
        entry.value ^= 1;
        break;
      case 2:
        entry.opcode = static_cast<uint8_t>(9 + Below(247));
        return queue.Put(entry);
      case 3:
        entry.flags = static_cast<uint16_t>(16u << Below(12));
        return queue.Put(entry);
      case 4: {
        auto bytes = reinterpret_cast<uint8_t*>(&entry);
        bytes[88 + Below(36)] = 1;  // reserved
        return queue.Put(entry);
      }
      case 5:
        entry.reserved0 = 1;
        return queue.Put(entry);
      case 6:
        entry.sequence = queue.submitted() + 1u;
        Seal(entry);
        entry.version = 9;
        return queue.PutRaw(entry);
      default:
        return queue.Put(entry);
    }
    if (entry.magic == 0) Seal(entry);
    queue.PutRaw(entry);
  }

  // Until nothing moves any more: takes responses, and writes down what there is to see.
  void Settle(int round) {
    std::array<std::vector<Response>, 3> taken;
    for (bool more = true; more;) {
      transport_.Advance(300'000'000);
      more = false;
      for (Party& party : parties_) {
        const std::vector<Response> now = party.queue->Take();
        auto& all = taken[party.function];
        all.insert(all.end(), now.begin(), now.end());
        more |= !now.empty();
      }
    }
    for (Party& party : parties_) {
      auto& all = taken[party.function];
      if (pipelined_) {
        std::stable_sort(all.begin(), all.end(), [](const Response& a, const Response& b) {
          return std::make_pair(a.stream, a.sequence) < std::make_pair(b.stream, b.sequence);
        });
      }
      for (const Response& r : all) {
        log_ << fmt::format(
            "round {} function {} sequence {} opcode {} stream {}: status {} fault {:#x} core "
            "{:#x} "
            "read {} written {} macs {} correlation {:#x}{}\n",
            round, party.function, r.sequence, r.opcode, r.stream, r.status, r.fault_address,
            r.fault_core, r.device_bytes_read, r.device_bytes_written, r.macs, r.correlation,
            pipelined_ ? "" : fmt::format(" phase {}", r.phase));
      }
      auto& registers = party.queue->registers();
      log_ << fmt::format("function {} head {} tail {} error {} status {} causes {}\n",
                          party.function, registers.ReadSqHead(), registers.ReadRqTail(),
                          registers.ReadErrorCode(), registers.ReadStatus(),
                          registers.ReadIntStatus());
      log_ << fmt::format("host {:08x}\n", Crc32c(party.host.data(), party.host.size()));
    }
    std::vector<uint8_t> device(kStreams * kStreamBytes);
    for (const uint64_t base : {uint64_t{0}, kRegionBytes, 2 * kRegionBytes}) {
      tlm::tlm_generic_payload payload;
      payload.set_command(tlm::TLM_READ_COMMAND);
      payload.set_address(base);
      payload.set_data_ptr(device.data());
      payload.set_data_length(static_cast<unsigned>(device.size()));
      EXPECT_EQ(transport_.card().endpoint().window->transport_dbg(payload), device.size());
      log_ << fmt::format("device {:#x}: {:08x}\n", base, Crc32c(device.data(), device.size()));
    }
  }

  // Software's mistakes with the ring registers: the queue stops, with the same reason.
  void BreakOneRing(int round) {
    Party& party = parties_[Below(3)];
    auto& registers = party.queue->registers();
    const uint32_t tail = party.queue->submitted();
    switch (Below(6)) {
      case 0:
        registers.WriteSqEntries(static_cast<uint32_t>(3 + Below(100) * 2));
        break;
      case 1:
        registers.WriteRqEntries(1);
        break;
      case 2:
        registers.WriteSqBase(0x40);
        break;
      case 3:
        registers.WriteSqBase(0x80);  // nothing there
        break;
      case 4:
        registers.WriteRqBase(0x80);
        break;
      default:
        registers.WriteRqHead(party.queue->answered() + 70000);
        break;
    }
    registers.WriteSqTail(tail + (OneIn(4) ? 70000 : 1));
    transport_.Advance(300'000'000);
    log_ << fmt::format("round {} broken ring of {}: error {} head {} tail {} control {}\n", round,
                        party.function, registers.ReadErrorCode(), registers.ReadSqHead(),
                        registers.ReadRqTail(), registers.ReadQueueControl());
    // Clearing the error and starting again shows what is left of the doorbells.
    registers.WriteErrorCode(0xFFFFFFFF);
    registers.WriteQueueControl(1);
    transport_.Advance(300'000'000);
    log_ << fmt::format("then error {} head {}\n", registers.ReadErrorCode(),
                        registers.ReadSqHead());
  }

  // What was done by then depends on the picosecond: the memory is made the same again.
  void ResetInTheMiddle() {
    for (Party& party : parties_) {
      party.queue.reset();
      party.queue = std::make_unique<RawQueue>(transport_, party.function, 64, 64);
      Burst(party);
    }
    transport_.Advance(Below(20'000'000));
    for (Party& party : parties_) party.queue->Start();
    for (Party& party : parties_) {
      std::fill(party.host.begin(), party.host.end(), uint8_t{0x5A});
      RawQueue& queue = *party.queue;
      if (party.function == 0) {
        auto fill = queue.Make<ControlBlock>(Opcode::DMA_FILL);
        fill.size_bytes = kStreams * kStreamBytes;
        queue.Put(fill);
      } else {
        auto fill = queue.Make<Message>(Opcode::DMA_FILL);
        fill.device_region = party.function - 1u;
        fill.size_bytes = kStreams * kStreamBytes;
        queue.Put(fill);
      }
      queue.Ring();
    }
    Settle(-1);
    for (Party& party : parties_) std::fill(party.host.begin(), party.host.end(), uint8_t{0x5A});
  }

  std::mt19937_64 random_;
  cosim::InProcessTransport transport_;
  std::array<Party, 3> parties_;
  std::array<uint8_t, 4096> image_{};
  std::ostringstream log_;
  // Operations of different streams overtake: responses are compared stream by stream.
  const bool pipelined_;
};

}  // namespace spyre::test
