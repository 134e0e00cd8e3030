// SPDX-License-Identifier: Apache-2.0
// The card's reset input in a simulation of somebody else's, where a signal drives it.
#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "model/card/card.h"
#include "model/root_port/root_port.h"

namespace spyre::model::perst_test {
namespace {

constexpr uint64_t kEcam = 0xE000'0000, kBar0 = 0x40'0000'0000;

class Machine : public sc_core::sc_module {
 public:
  explicit Machine(const sc_core::sc_module_name& name) : sc_module(name) {
    processor_.bind(port_.from_bus);
    port_.to_bus.bind(memory_);
    card_.perst.bind(perst);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  // All ones, if nobody answers.
  uint32_t Read(uint64_t address) {
    uint32_t value = UINT32_MAX;
    Access(tlm::TLM_READ_COMMAND, address, &value);
    return value;
  }
  void Write(uint64_t address, uint32_t value) { Access(tlm::TLM_WRITE_COMMAND, address, &value); }
  static void Wait(double us) { sc_core::sc_start(us, sc_core::SC_US); }

  sc_core::sc_signal<bool> perst{"perst", true};

 private:
  void Access(tlm::tlm_command command, uint64_t address, uint32_t* value) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(reinterpret_cast<uint8_t*>(value));
    payload.set_data_length(sizeof(*value));
    payload.set_streaming_width(sizeof(*value));
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    processor_->b_transport(payload, delay);
    Wait(10);
  }

  Card card_{"card", CardConfig{}, nullptr};
  RootPort<> port_{"port", card_.endpoint(), RootPortConfig{kEcam}};
  tlm_utils::simple_initiator_socket<Machine> processor_{"processor"};
  tlm_utils::simple_target_socket<Machine> memory_{"memory"};
};

TEST(Perst, ACardInResetAnswersNothingAndComesUpAsAfterPowerOn) {
  Machine machine("machine");
  EXPECT_EQ(machine.Read(kEcam), UINT32_MAX) << "held in reset from the beginning";
  machine.perst.write(false);
  Machine::Wait(1000);
  EXPECT_EQ(machine.Read(kEcam), 0x06A71014u);
  machine.Write(kEcam + 0x14, static_cast<uint32_t>(kBar0 >> 32));
  machine.Write(kEcam + 0x04, 2);
  EXPECT_EQ(machine.Read(kBar0), 0x52595053u);
  EXPECT_EQ(machine.Read(kBar0 + 0x14), 1u) << "ready";
  machine.Write(kBar0 + 0x20, 0xCAFE);
  EXPECT_EQ(machine.Read(kBar0 + 0x20), 0xCAFEu);
  machine.perst.write(true);
  Machine::Wait(1);
  EXPECT_EQ(machine.Read(kEcam), UINT32_MAX);
  EXPECT_EQ(machine.Read(kBar0), UINT32_MAX);
  machine.perst.write(false);
  Machine::Wait(1000);
  EXPECT_EQ(machine.Read(kEcam + 0x14), 0u);
  EXPECT_EQ(machine.Read(kEcam + 0x104), 0u) << "no error is logged of what never arrived";
  machine.Write(kEcam + 0x14, static_cast<uint32_t>(kBar0 >> 32));
  machine.Write(kEcam + 0x04, 2);
  EXPECT_EQ(machine.Read(kBar0 + 0x20), 0u) << "the scratch register";
  EXPECT_EQ(machine.Read(kBar0 + 0x14), 1u) << "ready again";
}

}  // namespace
}  // namespace spyre::model::perst_test
