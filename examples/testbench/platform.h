// SPDX-License-Identifier: Apache-2.0
// Somebody else's platform: a bus, memory, and an interrupt register, in the TLM-2.0 base protocol
// with 64-bit sockets. It knows nothing of the card.
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <cstring>
#include <systemc>
#include <vector>

namespace platform {

inline constexpr uint64_t kMemoryBytes = 1 << 20;
inline constexpr uint64_t kInterrupts = 0xFEE0'0000;
inline constexpr uint64_t kInterruptBytes = 0x10'0000;

class Memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Memory, 64> socket{"socket"};
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kMemoryBytes);

  explicit Memory(const sc_core::sc_module_name& name) : sc_module(name) {
    socket.register_b_transport(this, &Memory::Access);
  }

 private:
  void Access(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    uint8_t* const own = &bytes[payload.get_address()];
    uint8_t* const data = payload.get_data_ptr();
    if (payload.is_write()) {
      std::memcpy(own, data, payload.get_data_length());
    } else {
      std::memcpy(data, own, payload.get_data_length());
    }
    delay += sc_core::sc_time(20, sc_core::SC_NS);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

// Whatever is written here is an interrupt.
class InterruptController : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<InterruptController, 64> socket{"socket"};
  sc_core::sc_event raised;

  explicit InterruptController(const sc_core::sc_module_name& name) : sc_module(name) {
    socket.register_b_transport(this, &InterruptController::Access);
  }

 private:
  void Access(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    raised.notify(delay);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

// Memory below kMemoryBytes, interrupts, and PCIe everywhere else. Targets bind in this order.
class Bus : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<Bus, 64> from{"from"};
  tlm_utils::multi_passthrough_initiator_socket<Bus, 64> to{"to"};

  explicit Bus(const sc_core::sc_module_name& name) : sc_module(name) {
    from.register_b_transport(this, &Bus::Route);
  }

 private:
  void Route(int /*id*/, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const uint64_t address = payload.get_address();
    int target = 2;
    if (address < kMemoryBytes && payload.get_data_length() <= kMemoryBytes - address) target = 0;
    if (address >= kInterrupts && address - kInterrupts < kInterruptBytes) target = 1;
    to[target]->b_transport(payload, delay);
  }
};

}  // namespace platform
