// SPDX-License-Identifier: Apache-2.0
// The TLM extension of payloads between root complex and endpoint: which function, which space.
#pragma once

#include <cstdint>
#include <tlm>

namespace spyre::model {

struct HostAccess : tlm::tlm_extension<HostAccess> {
  enum class Space { kConfig, kBar0, kBar2, kBar4 };
  uint16_t function = 0;
  Space space = Space::kBar0;

  tlm::tlm_extension_base* clone() const override { return new HostAccess(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const HostAccess&>(other);
  }
};

}  // namespace spyre::model
