// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/card_access.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "model/common/transfer.h"
#include "model/pcie/config_layout.h"

namespace spyre::cosim {
namespace {

using Space = model::HostAccess::Space;

constexpr uint64_t kWordBytes = 4;
constexpr unsigned kAllBytes = 0xF;

}  // namespace

CardAccess::CardAccess(Space space, uint64_t offset, bool is_write, std::string data,
                       const InProcessTransport& card, uint64_t now_ps)
    : space_(space),
      offset_(offset),
      is_write_(is_write),
      data_(std::move(data)),
      start_ps_(1000 *
                (is_write ? card.timing().register_write_ns : card.timing().register_read_ns)),
      wake_ps_(now_ps + start_ps_) {}

bool CardAccess::Look(const AccessSite& site, uint64_t address, uint32_t value) const {
  if (space_ != Space::kBar0) {
    site.watch->Else();
    return false;
  }
  const bool physical = site.virtual_config == nullptr;
  if (!is_write_) return site.watch->Read(address, value, model::NowPs(), physical);
  site.watch->Write(address, physical);
  return false;
}

// Reads and everything of registers and configuration space are whole words; memory is written by
// the bytes that are meant.
void CardAccess::Issue(const AccessSite& site) {
  const uint64_t address = offset_ + done_;
  const uint64_t lead = address % kWordBytes;
  const uint64_t bytes = std::min(kWordBytes - lead, data_.size() - done_);
  const bool words = !is_write_ || space_ == Space::kConfig || space_ == Space::kBar0;
  const auto enables = static_cast<unsigned>(((1u << bytes) - 1) << lead);
  std::array<uint8_t, kWordBytes> word{};
  if (is_write_) {
    std::memcpy(word.data() + lead, data_.data() + done_, bytes);
    std::memcpy(&word_, word.data(), kWordBytes);
    if (site.recorder != nullptr)
      site.recorder->Write(site.function, space_, address - lead, word_, enables);
  }
  uint64_t delay_ps = 0;
  const bool answered = site.card->bridge().AccessBytes(
      site.function, space_, words ? address - lead : address, is_write_,
      word.data() + (words ? 0 : lead), static_cast<unsigned>(words ? kWordBytes : bytes),
      is_write_ && words ? enables : kAllBytes, &delay_ps);
  if (!is_write_) {
    if (!answered) word.fill(0xFF);  // as on a bus
    std::memcpy(&raw_, word.data(), kWordBytes);
    word_ = raw_;
  }
  if (space_ == Space::kConfig && site.virtual_config != nullptr && answered)
    ApplyVirtualConfig(*site.virtual_config, static_cast<uint32_t>(address - lead), enables);
  if (is_write_) {
    done_ += bytes;  // posted
    wake_ps_ += start_ps_;
  } else {
    step_bytes_ = bytes;
    wake_ps_ += delay_ps;
  }
}

void CardAccess::ApplyVirtualConfig(VirtualConfig& config, uint32_t at, unsigned enables) {
  if (!is_write_) {
    word_ = config.Read(at, word_);
    return;
  }
  uint32_t mask = 0;
  for (unsigned i = 0; i < kWordBytes; ++i)
    if ((enables >> i & 1) != 0) mask |= 0xFFu << (8 * i);
  const bool reset =
      at == model::config::kDeviceControl && (word_ & mask & model::config::kInitiateFlr) != 0;
  if (reset) config.Reset();
  if (!reset) config.Write(at, word_, mask);
}

bool CardAccess::Step(const AccessSite& site) {
  const uint64_t address = (offset_ + done_) / kWordBytes * kWordBytes;
  if (step_bytes_ == 0) {
    Issue(site);
    return is_write_ && Look(site, address, 0);
  }
  if (site.recorder != nullptr) site.recorder->Read(site.function, space_, address, raw_);
  const uint32_t seen = word_ >> (8 * ((offset_ + done_) % kWordBytes));
  std::memcpy(data_.data() + done_, &seen, step_bytes_);
  const bool spins = Look(site, address, word_);
  done_ += step_bytes_;
  step_bytes_ = 0;
  wake_ps_ += start_ps_;
  return spins;
}

}  // namespace spyre::cosim
