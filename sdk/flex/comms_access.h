// SPDX-License-Identifier: Apache-2.0
// What libspyre_comms.so needs of the card that libflex.so has opened. Any thread.
#pragma once

#include <cstddef>
#include <flex/flex.hpp>
#include <functional>

#include "runtime/flex/device_handle.h"
#include "runtime/flex/runtime_context.h"
#include "sdk/card/program_card.h"

namespace flex::comms {

spyre::flex::RuntimeContext& CardContext();
spyre::sdk::RankMail* Mail();  // null: the card is alone
size_t CardNumber();
bool IsOpen();  // false at the end of the program, when nothing can be freed any more

// Memory in one piece; BadInput, naming `what`, if it is not.
struct Place {
  spyre::flex::DeviceHandle handle;
  uint64_t bytes = 0;
};
Place PlaceOf(const CompositeAddress* address, const char* what);

// Runs `call`; if the card fails in it, it is made usable again, and the error goes on.
void Guarded(const std::function<void()>& call);

}  // namespace flex::comms
