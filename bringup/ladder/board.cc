// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/board.h"

#include "base/error.h"
#include "driver/function_registers.h"
#include "driver/pci.h"

namespace spyre::bringup {
namespace {

constexpr uint64_t kResetPs = 100'000'000'000;  // PCIe base specification: 100 ms after a reset
constexpr uint32_t kMagic = 0x52595053;         // "SPYR"

struct TheOneBoard {
  std::function<std::unique_ptr<Board>()> open;
  std::unique_ptr<Board> board;
  TestNotes notes;
};

TheOneBoard& One() {
  static TheOneBoard one;
  return one;
}

}  // namespace

Board::Board(Backend backend, int level, uint64_t seed)
    : backend_(std::move(backend)), level_(level), seed_(seed), fresh_(backend_.fresh) {}

const Capabilities& Board::capabilities() {
  if (!capabilities_) capabilities_ = ReadCapabilities();
  return *capabilities_;
}

std::optional<Limits> Board::LimitsOf(const std::string& measurement) {
  if (!backend_.expected || !backend_.expected->limits) return std::nullopt;
  try {
    if (!limits_) limits_ = backend_.expected->limits(capabilities().cores);
  } catch (const Error&) {
    return std::nullopt;  // a card that does not say what it has
  }
  const auto found = limits_->find(measurement);
  return found == limits_->end() ? std::nullopt : std::optional<Limits>(found->second);
}

Capabilities Board::ReadCapabilities() {
  driver::Transport& card = transport();
  const uint32_t command = card.ConfigRead(0, driver::pci::kCommandStatus) & 0xFFFF;
  card.ConfigWrite(0, driver::pci::kCommandStatus, command | driver::pci::kCommandMemory);
  driver::FunctionRegisters registers(driver::Bar0{&card, 0});
  const uint32_t magic = registers.ReadMagic();
  if (magic != kMagic) {
    throw DeviceFault("MAGIC reads 0x{:08x}, not 0x{:08x}: what the card has cannot be read", magic,
                      kMagic)
        .Subject("register MAGIC")
        .Value(magic);
  }
  Capabilities found;
  const uint32_t value = registers.ReadCapabilities();
  found.cores = static_cast<int>(driver::FunctionRegisters::CapabilitiesCores(value));
  found.pipelined = driver::FunctionRegisters::CapabilitiesPipelined(value) != 0;
  found.memory_bytes = static_cast<uint64_t>(registers.ReadMemoryMib()) << 20;
  const auto sriov = driver::FindExtendedCapability(card, 0, driver::pci::kExtendedSriov);
  if (sriov) {
    found.virtual_functions =
        static_cast<int>(card.ConfigRead(0, *sriov + driver::pci::kSriovInitialTotal) >> 16);
  }
  card.ConfigWrite(0, driver::pci::kCommandStatus, command);
  return found;
}

void Board::Reset() {
  if (fresh_) {
    fresh_ = false;
    return;
  }
  lost_ = true;
  driver::Transport& card = transport();
  if (backend_.system_owns_config) card.EnableVirtualFunctions(0);  // else the reset does it
  card.Reset(0);
  card.Advance(kResetPs);
  driver::RequirePresent(0, card.ConfigRead(0, driver::pci::kVendorDevice),
                         "resetting it before a test");
  lost_ = false;
}

std::vector<HealthFinding> Board::TakeHealth() {
  const bool was_reset = std::exchange(card_reset_, false);
  if (lost_) return {};
  const auto& expected = backend_.expected;
  const std::optional<Health> now = ReadHealth(transport(), expected ? expected->channels : 0);
  const std::optional<Health> before = std::exchange(health_, now ? now : health_);
  if (!now || !before) return {};
  return CompareHealth(*before, *now, was_reset, expected ? expected->health : HealthLimits());
}

void UseBoard(std::function<std::unique_ptr<Board>()> open) { One().open = std::move(open); }

Board& TheBoard() {
  TheOneBoard& one = One();
  if (!one.board) {
    if (!one.open)
      throw InternalError("UseBoard must say how the board is opened before a test runs");
    one.board = one.open();
  }
  return *one.board;
}

void CloseBoard() { One().board.reset(); }

TestNotes& CurrentNotes() { return One().notes; }

}  // namespace spyre::bringup
