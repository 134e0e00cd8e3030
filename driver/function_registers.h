// SPDX-License-Identifier: Apache-2.0
// The registers of one function, by name: the generated accessors over a Transport's BAR0.
//
// Copyable; as thread-safe as the transport. Each read is a bus round trip, each write is posted.
#pragma once

#include <contract/register_access.h>

#include "driver/transport.h"

namespace spyre::driver {

struct Bar0 {
  Transport* transport;
  FunctionId function;

  uint32_t Read(uint32_t offset) const { return transport->Read32(function, 0, offset); }
  void Write(uint32_t offset, uint32_t value) const {
    transport->Write32(function, 0, offset, value);
  }
};
using FunctionRegisters = RegisterAccess<Bar0>;

}  // namespace spyre::driver
