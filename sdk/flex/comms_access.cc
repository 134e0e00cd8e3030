// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/comms_access.h"

#include "sdk/flex/platform.h"

namespace flex::comms {

using spyre::sdk::Platform;

spyre::flex::RuntimeContext& CardContext() { return Platform::Get().context(); }
spyre::sdk::RankMail* Mail() { return Platform::Get().mail(); }
size_t CardNumber() { return Platform::Get().card_number(); }
bool IsOpen() { return Platform::Opened() != nullptr; }

Place PlaceOf(const CompositeAddress* address, const char* what) {
  const Chunk& chunk = Platform::ChunkOf(address, what);
  return {Platform::Get().HandleOf(chunk), chunk.size};
}

void Guarded(const std::function<void()>& call) { Platform::Get().Guarded(call); }

}  // namespace flex::comms
