// SPDX-License-Identifier: Apache-2.0
// Several virtual functions of one card, each with rings that are driven by hand, for tests of what
// they do to each other. Function n has region 0, kTenantBytes of device memory, zero at first.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "bringup/ladder/raw_queue.h"
#include "driver/host_buffer.h"
#include "model/contract/control_block.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test {

class Tenants : public CardFixture {
 protected:
  static constexpr uint64_t kTenantBytes = 64 << 20;
  static constexpr uint64_t kProgramBytes = 16384;
  static constexpr uint32_t kRing = 256;

  void OpenTenants(unsigned count) {
    config_.num_vfs = std::max<uint64_t>(config_.num_vfs, count);
    transport_ =
        std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, &*recorder_);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    Manager().EnableVirtualFunctions(static_cast<int>(count));
    for (unsigned vf = 1; vf <= count; ++vf) {
      Manager().AssignRegion(static_cast<driver::FunctionId>(vf), 0, vf * kTenantBytes,
                             kTenantBytes);
      tenants_.emplace_back(*transport_, vf);
    }
  }
  driver::PhysicalFunction Manager() { return driver::PhysicalFunction(*admin_); }
  bringup::RawQueue& Queue(unsigned vf) { return tenants_[vf - 1].queue; }

  // Each puts one operation into the ring and returns its sequence number; Ring tells the card.
  uint64_t Put(unsigned vf, Message message) {
    message.sequence = Queue(vf).submitted() + 1;
    message.flags |= kFlagInterrupt;
    Queue(vf).Put(message);
    return message.sequence;
  }
  uint64_t PutCopy(unsigned vf, Opcode opcode, uint64_t offset, uint64_t bytes,
                   uint32_t stream = 0) {
    Tenant& tenant = tenants_[vf - 1];
    tenant.buffers.push_back(std::make_unique<driver::HostBuffer>(
        *transport_, static_cast<driver::FunctionId>(vf), bytes));
    Message message = Queue(vf).Make<Message>(opcode, stream);
    message.host_address = tenant.buffers.back()->io_address();
    message.device_offset = offset;
    message.size_bytes = bytes;
    return Put(vf, message);
  }
  uint64_t PutLaunch(unsigned vf, uint64_t offset, uint32_t stream = 0, uint16_t flags = 0) {
    Message message = Queue(vf).Make<Message>(Opcode::COMPUTE, stream);
    message.flags = flags;
    message.program_offset = offset;
    message.program_bytes = kProgramBytes;
    return Put(vf, message);
  }
  uint8_t* LastBuffer(unsigned vf) { return tenants_[vf - 1].buffers.back()->data(); }  // of a copy
  void Ring(unsigned vf) { Queue(vf).Ring(); }
  // Lets the card work for `ps`, and takes what every function has got.
  void Work(uint64_t ps) {
    transport_->Advance(ps);
    for (unsigned vf = 1; vf <= tenants_.size(); ++vf)
      for (const Response& response : Queue(vf).Take())
        tenants_[vf - 1].responses[response.sequence] = response;
  }
  // The response, which must have come.
  const Response& Got(unsigned vf, uint64_t sequence) {
    static const Response kNone{};
    const auto& responses = tenants_[vf - 1].responses;
    const auto found = responses.find(sequence);
    EXPECT_NE(found, responses.end()) << "VF " << vf << ", operation " << sequence;
    return found != responses.end() ? found->second : kNone;
  }
  bool Has(unsigned vf, uint64_t sequence) const {
    return tenants_[vf - 1].responses.count(sequence) != 0;
  }
  Status StatusOf(unsigned vf, uint64_t sequence) {
    return static_cast<Status>(Got(vf, sequence).status);
  }
  // The image of `text` at `offset` of the function's region, with these addresses in its table.
  void LoadAs(unsigned vf, const std::string& text, uint64_t offset,
              const std::vector<uint64_t>& table = {}) {
    Program program = Assemble(text);
    if (!table.empty()) program.address_table = table;
    std::vector<uint8_t> image = Encode(program);
    image.resize(kProgramBytes);
    WriteAs(vf, offset, image);
  }
  void WriteAs(unsigned vf, uint64_t offset, const std::vector<uint8_t>& bytes) {
    const uint64_t sequence = PutCopy(vf, Opcode::DMA_IN, offset, bytes.size(), 1000);
    std::memcpy(tenants_[vf - 1].buffers.back()->data(), bytes.data(), bytes.size());
    Ring(vf);
    Work(50'000'000);
    EXPECT_EQ(StatusOf(vf, sequence), Status::OK);
  }
  std::vector<uint8_t> ReadAs(unsigned vf, uint64_t offset, uint64_t bytes) {
    const uint64_t sequence = PutCopy(vf, Opcode::DMA_OUT, offset, bytes, 1001);
    Ring(vf);
    Work(50'000'000);
    EXPECT_EQ(StatusOf(vf, sequence), Status::OK);
    const auto* const data = tenants_[vf - 1].buffers.back()->data();
    return {data, data + bytes};
  }
  static uint64_t TimeOf(const Response& response) {
    return response.finished_ps - response.started_ps;
  }

 private:
  struct Tenant {
    Tenant(driver::Transport& transport, unsigned vf)
        : device(transport, static_cast<driver::FunctionId>(vf)),
          queue(transport, static_cast<driver::FunctionId>(vf), kRing, kRing) {}
    driver::Device device;
    bringup::RawQueue queue;
    std::vector<std::unique_ptr<driver::HostBuffer>> buffers;
    std::map<uint64_t, Response> responses;
  };
  std::deque<Tenant> tenants_;
};

}  // namespace spyre::test
