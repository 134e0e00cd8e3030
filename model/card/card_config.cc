#include "model/card/card_config.h"

#include "model/card/clock.h"
#include "model/contract/error.h"
#include "model/contract/memory_map.h"
#include "model/memory/check_memory.h"

namespace spyre::model {

void CheckCard(const CardConfig& config) {
  const auto check_clock = [](const char* key, uint64_t mhz) {
    if (Clock::Representable(mhz)) return;
    throw BadInput("{} = {} MHz is no clock that picoseconds can count; give 1 to 10000", key, mhz);
  };
  check_clock("card.clock.core_mhz", config.clock.core_mhz);
  check_clock("card.clock.ring_mhz", config.clock.ring_mhz);
  CheckMemory(config.memory);
  if (config.core.lx_reserved_bytes + kLxReservedBytes > config.core.lx_bytes) {
    throw BadInput(
        "card.core.lx_reserved_bytes = {} leaves less than {} of card.core.lx_bytes = {}; make it "
        "smaller",
        config.core.lx_reserved_bytes, kLxReservedBytes, config.core.lx_bytes);
  }
  for (const uint64_t bytes : {config.pcie.max_payload_bytes, config.pcie.max_read_request_bytes}) {
    if ((bytes & (bytes - 1)) != 0) {
      throw BadInput(
          "card.pcie.max_payload_bytes and max_read_request_bytes are powers of two; {} is not",
          bytes);
    }
  }
}

}  // namespace spyre::model
