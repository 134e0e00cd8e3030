// SPDX-License-Identifier: Apache-2.0
// The firmware's image on the RTL of its controller, on a card that is only its registers.
#pragma once

#include <string>
#include <vector>

#include "base/ranges.h"
#include "firmware/firmware_image.h"
#include "model/common/elf_image.h"
#include "model/rtl/rtl_blocks.h"
#include "tests/unit/firmware/fake_card.h"

namespace spyre::firmware {

class RtlFirmware final : public FakeCard, private model::ControllerBus {
 public:
  explicit RtlFirmware(const Card& card)
      : FakeCard(card), image_(model::ParseElf(FirmwareImage(), "management.elf")) {
    Start();
  }

  void Boot() override { Start(); }
  void Service() override {
    controller_.SetExternalInterrupt(true);
    Sleep();
  }
  // Goes on at `pc` until it sleeps.
  void JumpTo(uint32_t pc) {
    controller_.SetPc(pc);
    Sleep();
  }
  uint32_t symbol(const std::string& name) const { return image_.symbols.at(name); }
  // Bytes below the top of the stack that were ever written with something.
  uint32_t StackUsed() const {
    std::vector<uint32_t> words(symbol("__stack_bytes") / sizeof(uint32_t));
    const size_t bytes = words.size() * sizeof(uint32_t);
    if (!controller_.ReadMemory(symbol("__stack_top") - static_cast<uint32_t>(bytes), words.data(),
                                bytes))
      return UINT32_MAX;
    const auto lowest = FindIf(words, [](uint32_t word) { return word; });
    return static_cast<uint32_t>((words.end() - lowest) * sizeof(uint32_t));
  }
  uint64_t cycles() const { return controller_.cycles(); }
  // It did not fall asleep in time: it hangs or has trapped.
  bool lost() const { return lost_; }

 private:
  // Ten times what the longest request takes.
  static constexpr uint64_t kPatience = 100'000;
  static constexpr uint64_t kBootPatience = 10'000'000;

  void Start() {
    controller_.Load(image_);
    lost_ = controller_.Run(kBootPatience) != model::RtlController::Stop::kAsleep;
  }
  void Sleep() {
    model::RtlController::Stop stop = controller_.Run(kPatience);
    if (stop == model::RtlController::Stop::kBus) {
      controller_.SetExternalInterrupt(false);
      stop = controller_.Run(kPatience);
    }
    lost_ = lost_ || stop != model::RtlController::Stop::kAsleep;
  }

  uint32_t Read(uint32_t address) override { return FakeCard::Read(address); }
  void Write(uint32_t address, uint32_t value) override {
    FakeCard::Write(address, value);
    if (pending() == 0 && IsAnswer(address)) controller_.StopAfterAccess();
  }
  static bool IsAnswer(uint32_t address) {
    return address == regs::MC_MESSAGE_DONE || address == regs::MC_REQUEST_DONE ||
           address == regs::MC_RESET_DONE || address == regs::MC_LETTER_DONE;
  }

  const model::ElfImage image_;
  const std::unique_ptr<model::RtlController> block_ = model::MakeRtlController(*this);
  model::RtlController& controller_ = *block_;
  bool lost_ = false;
};

}  // namespace spyre::firmware
