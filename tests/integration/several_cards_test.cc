// SPDX-License-Identifier: Apache-2.0
// Two cards in a simulation of somebody else: each has a fault port of its own, and a card that is
// lost stops neither the other nor the simulation.
#include <gtest/gtest.h>

#include "model/card/card.h"
#include "model/root_port/root_port.h"
#include "tests/paths.h"

namespace spyre::model::several_cards_test {
namespace {

// A card with nothing but a processor and memory that answers nothing.
struct Slot : sc_core::sc_module {
  Slot(const sc_core::sc_module_name& name, const CardConfig& config)
      : sc_module(name), card("card", config, nullptr), port("port", card.endpoint()) {
    processor.bind(port.from_bus);
    port.to_bus.bind(memory);
    memory.register_b_transport(this, &Slot::Refuse);
    card.fault.bind(lost);
  }
  uint32_t Identity() {
    uint32_t value = 0;
    tlm::tlm_generic_payload payload;
    payload.set_read();
    payload.set_address(RootPortConfig{}.ecam_base);
    payload.set_data_ptr(reinterpret_cast<uint8_t*>(&value));
    payload.set_data_length(sizeof(value));
    payload.set_streaming_width(sizeof(value));
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    processor->b_transport(payload, delay);
    return value;
  }
  void Refuse(tlm::tlm_generic_payload& payload, sc_core::sc_time& /*delay*/) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  Card card;
  RootPort<> port;
  tlm_utils::simple_initiator_socket<Slot> processor{"processor"};
  tlm_utils::simple_target_socket<Slot> memory{"memory"};
  sc_core::sc_signal<bool> lost{"lost"};
};

TEST(SeveralCardsInOneSimulation, ALostCardShowsItAtItsPortAndTheOtherWorksOn) {
  CardConfig broken;
  broken.management.fidelity = ManagementFidelity::kRtl;
  broken.management.firmware = SPYRE_BUILD_DIR "/tests/firmware/never_ready.elf";
  broken.management.boot_deadline_us = 500;
  Slot good("good", CardConfig{}), bad("bad", broken);
  sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
  EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(1, sc_core::SC_MS)) << "nobody paused it";
  EXPECT_TRUE(bad.lost.read()) << "firmware that is not ready in time is a lost card";
  EXPECT_NE(bad.card.management().fault(), "");
  EXPECT_FALSE(good.lost.read()) << good.card.management().fault();
  EXPECT_EQ(good.Identity(), 0x06a71014u);
}

}  // namespace
}  // namespace spyre::model::several_cards_test
