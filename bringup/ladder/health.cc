// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/health.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/joined.h"
#include "driver/function_registers.h"
#include "driver/pci.h"

namespace spyre::bringup {
namespace {

constexpr uint32_t kRegisterMagic = 0x52595053;  // "SPYR"

// PCI Express base specification, Advanced Error Reporting.
constexpr uint16_t kAdvancedErrors = 0x0001;
constexpr uint32_t kUncorrectableStatus = 0x04, kCorrectableStatus = 0x10;
struct LinkError {
  uint32_t bit;
  const char* text;
};
constexpr LinkError kUncorrectable[] = {
    {4, "a data link protocol error"}, {5, "surprise down"},        {12, "a poisoned packet"},
    {13, "a flow control error"},      {17, "a receiver overflow"}, {18, "a malformed packet"}};
constexpr LinkError kCorrectable[] = {{0, "a receiver error"},
                                      {6, "a bad packet"},
                                      {7, "a bad data link packet"},
                                      {8, "the replay number rolled over"},
                                      {12, "a replay timer ran out"}};

template <size_t n>
std::vector<std::string> TextsOf(const LinkError (&errors)[n], uint32_t bits) {
  std::vector<std::string> texts;
  for (const LinkError& error : errors)
    if ((bits >> error.bit & 1) != 0) texts.emplace_back(error.text);
  return texts;
}

std::string Words(uint64_t count) {
  return fmt::format("{} word{} of device memory", count, count == 1 ? "" : "s");
}

// A count that is smaller than before has begun again.
uint64_t Since(uint64_t before, uint64_t now) { return now < before ? now : now - before; }

}  // namespace

std::optional<Health> ReadHealth(driver::Transport& card, unsigned channels) {
  namespace pci = driver::pci;
  try {
    const uint32_t command = card.ConfigRead(0, pci::kCommandStatus);
    if (command == driver::kNobodyAnswers) return std::nullopt;
    card.ConfigWrite(0, pci::kCommandStatus, (command & 0xFFFF) | pci::kCommandMemory);
    std::optional<Health> health;
    if (driver::FunctionRegisters(driver::Bar0{&card, 0}).ReadMagic() == kRegisterMagic) {
      health.emplace();
      health->errors = driver::ReadErrors(card, channels);
      const driver::SensorReading sensors = driver::ReadSensors(card);
      health->throttled_ps = sensors.throttled_ps;
      health->percent = sensors.percent;
      health->power = sensors.limited_by_power;
      health->temperature = sensors.limited_by_temperature;
      health->outside = sensors.limited_from_outside;
      health->heartbeat = driver::FunctionRegisters(driver::Bar0{&card, 0}).ReadMgmtHeartbeat();
      health->operations = driver::ReadCardCounters(card).operations;
      if (const auto aer = driver::FindExtendedCapability(card, 0, kAdvancedErrors)) {
        health->uncorrectable = card.ConfigRead(0, *aer + kUncorrectableStatus);
        health->correctable = card.ConfigRead(0, *aer + kCorrectableStatus);
      }
    }
    card.ConfigWrite(0, pci::kCommandStatus, command & 0xFFFF);
    return health;
  } catch (const Error&) {
    return std::nullopt;  // the test that runs next says what is wrong
  }
}

std::vector<HealthFinding> CompareHealth(const Health& before, const Health& now, bool was_reset,
                                         const HealthLimits& limits) {
  std::vector<HealthFinding> findings;
  const auto add = [&](bool is_failure, std::string text) {
    findings.push_back({is_failure, std::move(text)});
  };
  const auto channels = [&](uint32_t driver::ErrorReading::Channel::*count) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < now.errors.channels.size(); ++i) {
      const uint64_t more =
          Since(i < before.errors.channels.size() ? before.errors.channels[i].*count : 0,
                now.errors.channels[i].*count);
      if (more > 0) texts.push_back(fmt::format("channel {}: {}", i, more));
    }
    return texts.empty() ? std::string() : " (" + Joined(texts, ", ") + ")";
  };
  const uint64_t corrected = Since(before.errors.corrected, now.errors.corrected);
  if (corrected > limits.corrected_words) {
    add(false, Words(corrected) + " had to be corrected" +
                   channels(&driver::ErrorReading::Channel::corrected));
  }
  const uint64_t uncorrected = Since(before.errors.uncorrected, now.errors.uncorrected);
  if (uncorrected > 0) {
    add(true, Words(uncorrected) + " could not be corrected" +
                  channels(&driver::ErrorReading::Channel::uncorrected));
  }
  const uint64_t parity = Since(before.errors.lx_parity, now.errors.lx_parity);
  if (parity > 0) add(true, fmt::format("LX was read with wrong parity {} times", parity));
  const uint64_t retries = Since(before.errors.ring_retries, now.errors.ring_retries);
  if (retries > limits.ring_retries)
    add(false, fmt::format("links of the ring sent {} transfers again", retries));
  const uint64_t dead = Since(before.errors.ring_dead, now.errors.ring_dead);
  if (dead > 0) add(true, fmt::format("{} transfers met a link of the ring that is dead", dead));
  const uint64_t trainings = Since(before.errors.pcie_retrains, now.errors.pcie_retrains);
  if (trainings > limits.link_trainings)
    add(false, fmt::format("the PCIe link has trained again {} times", trainings));
  const uint32_t correctable = now.correctable & ~before.correctable;
  for (const std::string& text : TextsOf(kCorrectable, correctable))
    add(false, "the PCIe link has met " + text);
  const uint32_t uncorrectable = now.uncorrectable & ~before.uncorrectable;
  for (const std::string& text : TextsOf(kUncorrectable, uncorrectable))
    add(false, "the PCIe link has met " + text);
  if (now.throttled_ps > before.throttled_ps) {
    std::vector<std::string> reasons;
    if (now.power) reasons.emplace_back("the power limit");
    if (now.temperature) reasons.emplace_back("the temperature limit");
    if (now.outside) reasons.emplace_back("a signal from outside, as of the slot");
    add(false,
        fmt::format("the cores were slower than they can be for {:.3f} ms; now they run at {} %{}",
                    static_cast<double>(now.throttled_ps - before.throttled_ps) * 1e-9, now.percent,
                    reasons.empty() ? "" : ": " + Joined(reasons, ", ")));
  }
  if (!was_reset && (now.operations < before.operations || now.heartbeat < before.heartbeat))
    add(true, "the card has begun again, and not by this test: a reset, or its link was down");
  return findings;
}

}  // namespace spyre::bringup
