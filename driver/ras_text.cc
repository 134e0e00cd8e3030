// SPDX-License-Identifier: Apache-2.0
// A record of the error log as a line for people.
#include <fmt/format.h>

#include "driver/physical_function.h"

namespace spyre::driver {
namespace {

template <class E, size_t n>
std::string NameIn(const EnumName<E> (&names)[n], E value) {
  for (const EnumName<E>& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return std::to_string(static_cast<uint32_t>(value));
}

// The two words of detail, as RasCode says for each code.
std::string Place(const RasRecord& record) {
  const auto [first, second] = record.detail;
  switch (record.code) {
    case RasCode::MESSAGE_REFUSED:
      return fmt::format("status {}, sequence {}", first, second);
    case RasCode::ADMIN_REFUSED:
      return fmt::format("status {}, command {}", first, second);
    case RasCode::SELF_TEST_FAILED:
      return fmt::format("step {}, found {:#x}", first, second);
    case RasCode::MEMORY_CORRECTED:
    case RasCode::MEMORY_UNCORRECTED:
    case RasCode::MEMORY_POISONED:
      return fmt::format("channel {}, bank {}, row {}", first >> 8, first & 0xFF, second);
    case RasCode::LX_PARITY:
      return fmt::format("core {}, LX byte {:#x}", first, second);
    case RasCode::RING_RETRY:
      return fmt::format("link {}, {} times", first, second);
    case RasCode::RING_DEAD:
      return fmt::format("link {}, core {}", first, second);
    case RasCode::PCIE_RETRAIN:
      return fmt::format("{} us", first);
    case RasCode::THERMAL_THROTTLE:
      return fmt::format("{:.1f} degrees C, clock at {} %", first * 0.1, second);
    case RasCode::POWER_LIMIT:
      return fmt::format("{:.1f} W, clock at {} %", first * 1e-3, second);
    case RasCode::POWER_BRAKE:
      return fmt::format("clock at {} %", second);
    default:
      return "";
  }
}

}  // namespace

std::string Text(const RasRecord& record) {
  const std::string place = Place(record);
  return fmt::format("{:.3f} us {} {} function {}{}{}", static_cast<double>(record.time_ps) * 1e-6,
                     NameIn(kRasSeverityNames, record.severity), NameIn(kRasCodeNames, record.code),
                     record.function, place.empty() ? "" : ": ", place);
}

}  // namespace spyre::driver
