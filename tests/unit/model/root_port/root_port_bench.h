// SPDX-License-Identifier: Apache-2.0
// A PCIe endpoint with memory and one register a function behind it, and a root port between it and
// a bus that writes down what reaches it. The bench is the processor, and a DMA engine of the card.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/common/split_socket.h"
#include "model/memory/device_memory.h"
#include "model/pcie/config_layout.h"
#include "model/root_port/root_port.h"

namespace spyre::model {

class RootPortBench : public sc_core::sc_module, private FunctionResetInterface {
 public:
  static constexpr uint64_t kEcam = 0xE000'0000;
  static constexpr uint64_t kBar0 = 0x40'0000'0000, kBar2 = 0x50'0000'0000, kBar4 = 0x60'0000'0000,
                            kVfBar0 = 0x70'0000'0000;

  // Registers that keep what is written, byte by byte.
  struct Registers : BarTarget {
    std::map<uint32_t, uint32_t> values;
    std::vector<uint32_t> accesses;  // offsets, in order
    uint32_t ReadBar0(uint32_t offset) override {
      accesses.push_back(offset);
      return values[offset];
    }
    void WriteBar0(uint32_t offset, uint32_t value, unsigned byte_enables,
                   const sc_core::sc_time& /*arrival*/) override {
      accesses.push_back(offset);
      for (unsigned i = 0; i < 4; ++i) {
        const uint32_t mask = 0xFFu << (8 * i);
        if ((byte_enables >> i & 1) != 0)
          values[offset] = (values[offset] & ~mask) | (value & mask);
      }
    }
  };
  struct Arrival {
    bool write;
    uint64_t address, ps;
    std::vector<uint8_t> data;
  };

  RootPortBench() : sc_module("bench") {
    config_.num_vfs = 3;
    endpoint = std::make_unique<PcieEndpoint>("endpoint", config_, nullptr);
    memory = std::make_unique<DeviceMemory>("memory", config_, functional, nullptr);
    port = std::make_unique<RootPort<>>("port", *endpoint, RootPortConfig{kEcam});
    endpoint->window.bind(memory->socket);
    endpoint->function_reset.bind(*this);
    for (unsigned i = 0; i < 4; ++i) endpoint->SetBarTarget(i, &registers[i]);
    processor_.bind(port->from_bus);
    processor_.register_invalidate_direct_mem_ptr(this, &RootPortBench::Revoked);
    port->to_bus.bind(bus_);
    bus_.register_b_transport(this, &RootPortBench::OnBus);
    engine_.bind(endpoint->dma);
    core.bind(memory->socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }

  // As the processor; `enables`: a byte enable for each byte, or none.
  void Fill(tlm::tlm_generic_payload& payload, tlm::tlm_command command, uint64_t address,
            void* data, unsigned bytes) {
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<uint8_t*>(data));
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    if (!enables.empty()) {
      payload.set_byte_enable_ptr(enables.data());
      payload.set_byte_enable_length(static_cast<unsigned>(enables.size()));
    }
  }
  tlm::tlm_response_status Access(tlm::tlm_command command, uint64_t address, void* data,
                                  unsigned bytes) {
    tlm::tlm_generic_payload payload;
    Fill(payload, command, address, data, bytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    processor_->b_transport(payload, delay);
    return payload.get_response_status();
  }
  uint64_t Read(uint64_t address, unsigned bytes) {
    uint64_t value = 0;
    EXPECT_EQ(Access(tlm::TLM_READ_COMMAND, address, &value, bytes), tlm::TLM_OK_RESPONSE)
        << std::hex << address;
    return value;
  }
  void Write(uint64_t address, uint64_t value, unsigned bytes) {
    EXPECT_EQ(Access(tlm::TLM_WRITE_COMMAND, address, &value, bytes), tlm::TLM_OK_RESPONSE)
        << std::hex << address;
  }
  unsigned Debug(tlm::tlm_command command, uint64_t address, void* data, unsigned bytes) {
    tlm::tlm_generic_payload payload;
    Fill(payload, command, address, data, bytes);
    return processor_->transport_dbg(payload);
  }
  bool Direct(uint64_t address, tlm::tlm_dmi& direct) {
    tlm::tlm_generic_payload payload;
    Fill(payload, tlm::TLM_READ_COMMAND, address, nullptr, 0);
    return processor_->get_direct_mem_ptr(payload, direct);
  }
  // BARs get their places, and answer.
  void Enable() {
    Write(kEcam + config::kBar0, kBar0, 8);
    Write(kEcam + config::kBar0 + 8, kBar2, 8);
    Write(kEcam + config::kBar0 + 16, kBar4, 8);
    Write(kEcam + config::kCommandStatus, config::kCommandMemory | config::kCommandBusMaster, 2);
  }

  // As an engine of the card.
  tlm::tlm_response_status Dma(tlm::tlm_command command, uint64_t address, void* data,
                               unsigned bytes, bool move_data = true) {
    transfer_.info.move_data = move_data;
    auto& payload = transfer_.Prepare(command, address, static_cast<uint8_t*>(data), bytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    engine_->b_transport(payload, delay);
    return payload.get_response_status();
  }

  std::vector<uint8_t> enables;
  std::unique_ptr<PcieEndpoint> endpoint;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<RootPort<>> port;
  FunctionalQueue functional;
  std::array<Registers, 4> registers;
  SplitSocket core{"core"};
  int revoked = 0;
  std::vector<Arrival> arrivals;
  std::map<uint64_t, uint8_t> host;  // by address
  tlm::tlm_response_status bus_status = tlm::TLM_OK_RESPONSE;

 private:
  void ResetFunction(unsigned /*function*/) override {}
  void ResetCard() override {}
  void Revoked(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) { ++revoked; }
  void OnBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    EXPECT_EQ(payload.get_extension<Transfer>(), nullptr) << "the bus knows no extensions";
    const uint64_t address = payload.get_address();
    uint8_t* const data = payload.get_data_ptr();
    arrivals.push_back({payload.is_write(),
                        address,
                        NowPs() + delay.value(),
                        {data, data + payload.get_data_length()}});
    for (uint64_t i = 0; i < payload.get_data_length(); ++i) {
      if (payload.is_write()) {
        host[address + i] = data[i];
      } else {
        data[i] = host[address + i];
      }
    }
    payload.set_response_status(bus_status);
  }

  CardConfig config_;
  tlm_utils::simple_initiator_socket<RootPortBench> processor_{"processor"};
  tlm_utils::simple_target_socket<RootPortBench> bus_{"bus"};
  tlm_utils::simple_initiator_socket<RootPortBench, kSocketBits, TransferProtocol> engine_{
      "engine"};
  TransferPayload transfer_;
};

}  // namespace spyre::model
