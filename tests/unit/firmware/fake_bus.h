// SPDX-License-Identifier: Apache-2.0
// The firmware as a host library, on a card that is only its registers.
#pragma once

#include <array>

#include "firmware/firmware.h"
#include "tests/unit/firmware/fake_card.h"

namespace spyre::firmware {

class FakeBus final : public FakeCard {
 public:
  explicit FakeBus(const Card& card = {}) : FakeCard(card) { Start(); }

  void Boot() override { Start(); }
  void Service() override { fw_service(firmware()); }

 private:
  void Start() {
    const fw_bus bus{this, [](void* self, uint32_t at) { return Self(self).Read(at); },
                     [](void* self, uint32_t at, uint32_t value) { Self(self).Write(at, value); }};
    fw_boot(firmware(), &bus);
  }
  static FakeBus& Self(void* self) { return *static_cast<FakeBus*>(self); }
  fw* firmware() { return reinterpret_cast<fw*>(state_.data()); }

  std::array<uint64_t, FW_STATE_BYTES / sizeof(uint64_t)> state_{};
};

}  // namespace spyre::firmware
