// SPDX-License-Identifier: Apache-2.0
// The clients of one card, as the card sees them: its memory accesses and interrupts go to the
// served function that they are of. Kernel thread.
#pragma once

#include <memory>
#include <vector>

#include "cosim/host/host_side.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/served_function.h"

namespace spyre::cosim {

class CardSide final : public HostSide {
 public:
  // card: must outlive this; its memory accesses go to clients from now on.
  explicit CardSide(InProcessTransport& card);
  ~CardSide() override;
  CardSide(const CardSide&) = delete;
  CardSide& operator=(const CardSide&) = delete;

  // The next function of the card, 0 first; it must outlive the card's work.
  void Add(ServedFunction* function) { functions_.push_back(function); }

 private:
  bool Allows(driver::FunctionId function, driver::IoAddress address, uint64_t bytes,
              bool write) override;
  Answer Read(driver::FunctionId function, driver::IoAddress address, uint8_t* data, uint64_t bytes,
              std::shared_ptr<model::LateAnswer>* late) override;
  bool Write(driver::FunctionId function, driver::IoAddress address, const uint8_t* data,
             uint64_t bytes) override;
  void Interrupt(driver::FunctionId function, unsigned vector) override;

  InProcessTransport& card_;
  std::vector<ServedFunction*> functions_;
};

}  // namespace spyre::cosim
