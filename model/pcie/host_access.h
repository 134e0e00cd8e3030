// SPDX-License-Identifier: Apache-2.0
// The TLM extension of payloads between root complex and endpoint: which function, which space.
#pragma once

#include <cstdint>
#include <tlm>

namespace spyre::model {

struct HostAccess : tlm::tlm_extension<HostAccess> {
  // kConfig, kBar0, kBar2, kBar4: the payload's address is an offset in that space of `function`.
  // kMemory: it is an address on the PCIe bus, and the endpoint finds the BAR that holds it.
  enum class Space { kConfig, kBar0, kBar2, kBar4, kMemory };
  uint16_t function = 0;
  Space space = Space::kBar0;
  bool poisoned = false;  // of a write: its data are marked as damaged

  tlm::tlm_extension_base* clone() const override { return new HostAccess(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const HostAccess&>(other);
  }
};

// The protocol of the socket between root complex and endpoint: the calls of the TLM-2.0 base
// protocol with payloads that carry a HostAccess. A type of its own, so that a socket of the base
// protocol does not bind; model/root_port stands between the two.
struct HostAccessProtocol {
  using tlm_payload_type = tlm::tlm_generic_payload;
  using tlm_phase_type = tlm::tlm_phase;
};

}  // namespace spyre::model
