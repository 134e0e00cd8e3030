// SPDX-License-Identifier: Apache-2.0
// What other cards behind the same switch do in the endpoint's memory window.
#include "model/pcie/endpoint.h"

namespace spyre::model {

bool PcieEndpoint::PeerAccess(uint64_t address, bool write, uint8_t* data, uint64_t bytes,
                              bool move_data) {
  HostAccess access;
  access.space = HostAccess::Space::kMemory;
  const std::optional<Place> place = Decode(access, address);
  tlm::tlm_generic_payload payload;
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(static_cast<unsigned>(bytes));
  payload.set_streaming_width(static_cast<unsigned>(bytes));
  bool done = place && place->space == HostAccess::Space::kBar2 && place->offset < kBar2Bytes &&
              bytes <= kBar2Bytes - place->offset;
  if (done && move_data) {
    RevokeDirect();
    payload.set_address(window_base_ + place->offset);
    sc_core::sc_time none = sc_core::SC_ZERO_TIME;
    window->b_transport(payload, none);
    done = payload.is_response_ok();
    payload.set_address(address);
  }
  if (!done && link_up_) LogUnsupported(access, payload);
  return done;
}

}  // namespace spyre::model
