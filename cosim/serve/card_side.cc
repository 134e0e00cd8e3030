// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/card_side.h"

namespace spyre::cosim {

CardSide::CardSide(InProcessTransport& card) : card_(card) { card_.bridge().UseHost(this); }

CardSide::~CardSide() { card_.bridge().UseHost(nullptr); }

bool CardSide::Allows(driver::FunctionId function, driver::IoAddress address, uint64_t bytes,
                      bool write) {
  return functions_[function]->Allows(address, bytes, write);
}

HostSide::Answer CardSide::Read(driver::FunctionId function, driver::IoAddress address,
                                uint8_t* data, uint64_t bytes,
                                std::shared_ptr<model::LateAnswer>* late) {
  return functions_[function]->Read(address, data, bytes, late);
}

bool CardSide::Write(driver::FunctionId function, driver::IoAddress address, const uint8_t* data,
                     uint64_t bytes) {
  return functions_[function]->Write(address, data, bytes);
}

void CardSide::Interrupt(driver::FunctionId function, unsigned vector) {
  functions_[function]->Raise(vector);
}

}  // namespace spyre::cosim
