// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/hostile/intruder.h"

#include <contract/registers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "driver/pci.h"
#include "model/contract/crc32c.h"
#include "model/pcie/config_layout.h"
#include "tests/fuzz/hostile/hostile_programs.h"

namespace spyre::fuzz {

namespace pci = driver::pci;
namespace config = model::config;

Intruder::Intruder(cosim::InProcessTransport& transport, driver::FunctionId function, uint32_t seed,
                   std::vector<const Secret*> secrets,
                   std::vector<driver::IoAddress> host_addresses)
    : transport_(transport),
      function_(function),
      chaos_(seed),
      secrets_(std::move(secrets)),
      host_addresses_(std::move(host_addresses)),
      host_(transport, function, kHostBytes) {
  Revive();
}

// ---------------------------------------------------------------- what it can do to its function

uint32_t Intruder::Read(Space space, uint64_t offset, unsigned bytes) {
  uint32_t value = 0;
  uint64_t delay_ps = 0;
  const bool answered = transport_.bridge().AccessBytes(
      function_, space, offset, false, reinterpret_cast<uint8_t*>(&value), bytes, 0xF, &delay_ps);
  return answered ? value : driver::kNobodyAnswers;
}

void Intruder::Write(Space space, uint64_t offset, uint32_t value, unsigned bytes,
                     unsigned enables) {
  uint64_t delay_ps = 0;
  transport_.bridge().AccessBytes(function_, space, offset, true,
                                  reinterpret_cast<uint8_t*>(&value), bytes, enables, &delay_ps);
}

void Intruder::Pair(uint32_t low, uint64_t value) {
  Register(low, static_cast<uint32_t>(value));
  Register(low + 4, static_cast<uint32_t>(value >> 32));
}

void Intruder::Revive() {
  Write(Space::kConfig, config::kPowerControl, 0);
  Write(Space::kConfig, pci::kCommandStatus, pci::kCommandMemory | pci::kCommandBusMaster);
  Register(regs::QUEUE_CONTROL, 0);
  Register(regs::CONTROL, 1);
  tail_ = seen_ = 0;
  disturbed_ = false;
  Pair(regs::SQ_BASE_LO, host_.io_address() + kRingAt);
  Register(regs::SQ_ENTRIES, kEntries);
  Pair(regs::RQ_BASE_LO, host_.io_address() + kResponsesAt);
  Register(regs::RQ_ENTRIES, kEntries);
  Register(regs::QUEUE_CONTROL, 1);
}

void Intruder::Act() {
  struct Deed {
    uint64_t weight;
    const char* name;
    void (Intruder::*act)();
  };
  static constexpr Deed kDeeds[] = {
      {30, "register", &Intruder::TouchRegister}, {8, "bar", &Intruder::TouchBar},
      {10, "config", &Intruder::TouchConfig},     {4, "msi", &Intruder::TouchMsi},
      {18, "messages", &Intruder::SendMessages},  {4, "garbage", &Intruder::SendGarbage},
      {3, "rings", &Intruder::MoveRings},         {3, "program", &Intruder::LaunchProgram},
      {1, "endless", &Intruder::LaunchEndless},   {3, "lx", &Intruder::PeekLx},
      {2, "memory", &Intruder::ReadMemory},       {2, "reset", &Intruder::ResetFunction},
      {6, "revive", &Intruder::Revive},           {6, "consume", &Intruder::Consume}};
  constexpr uint64_t kSum = [] {
    uint64_t sum = 0;
    for (const Deed& deed : kDeeds) sum += deed.weight;
    return sum;
  }();
  // What it has begun gets some time, so that most of it is carried out.
  if (quiet_ > 0) {
    --quiet_;
    static constexpr void (Intruder::*kQuiet[])() = {&Intruder::TouchBar, &Intruder::ReadRegister,
                                                     &Intruder::SendMessages, &Intruder::Consume};
    (this->*kQuiet[chaos_.Below(std::size(kQuiet))])();
    ++deeds_["quiet"];
    return;
  }
  uint64_t at = chaos_.Below(kSum);
  const Deed* deed = kDeeds;
  for (; at >= deed->weight; ++deed) at -= deed->weight;
  ++deeds_[deed->name];
  (this->*deed->act)();
}

// Of its function and its rings, unless they are as a driver would have them.
void Intruder::EnsureAlive() {
  const uint32_t status = Read(Space::kBar0, regs::STATUS);
  const bool stopped = status == driver::kNobodyAnswers || (status & regs::STATUS_ERROR_MASK) != 0;
  if (stopped || disturbed_) {
    Revive();
  } else {
    Consume();
  }
}

void Intruder::ReadRegister() {
  const auto& spec = regs::kRegisters[chaos_.Below(std::size(regs::kRegisters))];
  LookAt(Read(Space::kBar0, spec.offset), "a register");
}

void Intruder::TouchRegister() {
  const auto& spec = regs::kRegisters[chaos_.Below(std::size(regs::kRegisters))];
  const auto bytes = static_cast<unsigned>(1u << chaos_.Below(3));
  const uint64_t offset = spec.offset + (chaos_.OneIn(4) ? chaos_.Below(8) : 0);
  if (chaos_.OneIn(2)) {
    LookAt(Read(Space::kBar0, offset, bytes), "a register");
    return;
  }
  // Most of the time its rings stay, so that the rest of it gets somewhere.
  const bool ring = spec.offset >= regs::SQ_BASE_LO && spec.offset <= regs::QUEUE_CONTROL;
  if (ring && !chaos_.OneIn(4)) return;
  disturbed_ |= ring;
  const auto value = static_cast<uint32_t>(chaos_.OneIn(3) ? chaos_.Word() : chaos_.Nasty());
  Write(Space::kBar0, offset, value, bytes,
        chaos_.OneIn(4) ? static_cast<unsigned>(chaos_.Below(16)) : 0xF);
}

void Intruder::TouchBar() {
  const Space space = chaos_.Pick<Space>({Space::kBar0, Space::kBar2, Space::kBar4});
  const uint64_t offset =
      chaos_.OneIn(2) ? chaos_.Nasty() : chaos_.Below(space == Space::kBar0 ? 0x400000 : 1 << 25);
  const auto bytes = static_cast<unsigned>(1 + chaos_.Below(4));
  if (chaos_.OneIn(2)) {
    LookAt(Read(space, offset, bytes), "a BAR");
  } else {
    Write(space, offset, static_cast<uint32_t>(chaos_.Word()), bytes);
  }
}

void Intruder::TouchConfig() {
  static const std::vector<uint32_t> kWorthIt = {config::kCommandStatus,
                                                 config::kBar0,
                                                 config::kBar0 + 8,
                                                 config::kPowerControl,
                                                 config::kMsi,
                                                 config::kMsiAddressLow,
                                                 config::kMsiAddressHigh,
                                                 config::kMsiData,
                                                 config::kMsiMask,
                                                 config::kMsiPending,
                                                 config::kDeviceControl,
                                                 config::kDeviceControl2,
                                                 config::kUncorrectableStatus,
                                                 config::kAerControl,
                                                 config::kSriovControl,
                                                 config::kNumVfs,
                                                 config::kVfBar0,
                                                 config::kSystemPageSize};
  const uint32_t offset =
      chaos_.OneIn(3) ? static_cast<uint32_t>(chaos_.Below(1024) * 4) : chaos_.Pick(kWorthIt);
  if (chaos_.OneIn(2)) {
    LookAt(Read(Space::kConfig, offset), "configuration space");
    return;
  }
  Write(Space::kConfig, offset, static_cast<uint32_t>(chaos_.Word()), 4,
        chaos_.OneIn(4) ? static_cast<unsigned>(chaos_.Below(16)) : 0xF);
  disturbed_ = true;
}

// Interrupts in the name of others, or as writes to their memory.
void Intruder::TouchMsi() {
  const uint64_t address = chaos_.Pick<uint64_t>(
      {driver::kMsiAddressBase | chaos_.Below(kFunctions + 1) << 12, SomeHostAddress()});
  Write(Space::kConfig, config::kMsiAddressLow, static_cast<uint32_t>(address));
  Write(Space::kConfig, config::kMsiAddressHigh, static_cast<uint32_t>(address >> 32));
  Write(Space::kConfig, config::kMsiData, static_cast<uint32_t>(chaos_.Word()));
  Write(Space::kConfig, config::kMsi,
        config::kMsiEnable | static_cast<uint32_t>(chaos_.Below(4))
                                 << config::kMsiMultipleEnableShift);
  Register(regs::INT_ENABLE, 7);
}

uint64_t Intruder::SomeHostAddress() {
  const uint64_t other = chaos_.Pick(host_addresses_);
  return chaos_.Pick<uint64_t>({host_.io_address() + kBufferAt + chaos_.Below(2 * kPlaceBytes),
                                host_.io_address(),
                                host_.io_address() + kHostBytes - chaos_.Below(512), other,
                                other + chaos_.Below(kPlaceBytes), other - chaos_.Below(8192),
                                driver::kMsiAddressBase + chaos_.Below(1 << 20), chaos_.Nasty()});
}

Message Intruder::MakeMessage() {
  Message message;
  message.opcode = static_cast<uint8_t>(chaos_.OneIn(20) ? chaos_.Below(256) : chaos_.Below(9));
  message.flags = static_cast<uint16_t>(chaos_.OneIn(4)    ? chaos_.Below(16)
                                        : chaos_.OneIn(20) ? chaos_.Word()
                                                           : 0);
  message.stream = static_cast<uint32_t>(chaos_.OneIn(10)  ? chaos_.Nasty()
                                         : chaos_.OneIn(2) ? chaos_.Below(4)
                                                           : ++stream_);
  message.host_address = SomeHostAddress();
  message.size_bytes = chaos_.OneIn(2) ? chaos_.Below(16384) : chaos_.Nasty();
  message.value = chaos_.OneIn(2) ? EventValue(0, chaos_.Below(4)) : chaos_.Nasty();
  message.correlation = chaos_.Word();
  const auto region = [&] {
    return static_cast<uint32_t>(chaos_.OneIn(6) ? chaos_.Nasty() : chaos_.Below(3));
  };
  message.device_region = region();
  // From its memory to that of others, below and above.
  const uint64_t own = PlaceOf(function_, 0);
  const uint64_t other = PlaceBase(chaos_.Below(kPlaces.size()));
  message.device_offset =
      chaos_.Pick<uint64_t>({chaos_.Below(kPlaceBytes / 128) * 128, kPlaceBytes - 128, other - own,
                             other, chaos_.Nasty(), chaos_.Nasty() & ~127ull});
  message.program_region = region();
  message.program_offset = message.device_offset;
  message.program_bytes = chaos_.OneIn(2) ? 4096 : chaos_.Nasty();
  if (message.opcode == static_cast<uint8_t>(Opcode::COMPUTE) && chaos_.OneIn(2))
    message.device_offset = 0;
  return message;
}

void Intruder::Put(Message message) {
  message.sequence = ++tail_;
  Seal(message);
  std::memcpy(host_.data() + kRingAt + (tail_ - 1) % kEntries * sizeof(message), &message,
              sizeof(message));
}

void Intruder::Ring() { Register(regs::SQ_TAIL, tail_); }

void Intruder::SendMessages() {
  EnsureAlive();
  for (uint64_t i = chaos_.Below(4); i-- > 0;) Put(MakeMessage());
  if (!chaos_.OneIn(8)) Ring();
}

// Entries of which one byte is wrong, half of them sealed nevertheless.
void Intruder::SendGarbage() {
  disturbed_ = true;
  Message message = MakeMessage();
  message.sequence = ++tail_;
  Seal(message);
  auto* bytes = reinterpret_cast<uint8_t*>(&message);
  bytes[chaos_.Below(sizeof(message))] ^= static_cast<uint8_t>(1 + chaos_.Below(255));
  if (chaos_.OneIn(2)) {
    const uint32_t crc = Crc32c(bytes, sizeof(message) - 4);
    std::memcpy(bytes + sizeof(message) - 4, &crc, 4);
  }
  std::memcpy(host_.data() + kRingAt + (tail_ - 1) % kEntries * sizeof(message), bytes,
              sizeof(message));
  Register(regs::SQ_TAIL, chaos_.OneIn(3) ? static_cast<uint32_t>(chaos_.Nasty()) : tail_);
}

void Intruder::MoveRings() {
  disturbed_ = true;
  Register(regs::QUEUE_CONTROL, 0);
  if (chaos_.OneIn(2)) Pair(regs::SQ_BASE_LO, SomeHostAddress() & ~127ull);
  if (chaos_.OneIn(2)) Pair(regs::RQ_BASE_LO, SomeHostAddress() & ~127ull);
  if (chaos_.OneIn(4)) Register(regs::SQ_ENTRIES, 1u << chaos_.Below(18));
  if (chaos_.OneIn(4)) Register(regs::RQ_ENTRIES, 1u << chaos_.Below(18));
  Register(regs::QUEUE_CONTROL, 1);
  Put(MakeMessage());
  Ring();
}

void Intruder::Launch(const std::vector<uint8_t>& image) {
  if (image.size() > kProgramBytes) return;
  quiet_ = 4 + chaos_.Below(28);
  const uint32_t stream = ++stream_;  // none of those that have failed
  const uint64_t at = kBufferAt + 2 * kPlaceBytes;
  std::memcpy(host_.data() + at, image.data(), image.size());
  Message copy;
  copy.opcode = static_cast<uint8_t>(Opcode::DMA_IN);
  copy.host_address = host_.io_address() + at;
  copy.device_region = 1;
  copy.size_bytes = image.size();
  copy.stream = stream;
  Put(copy);
  Message launch;
  launch.stream = stream;
  launch.opcode = static_cast<uint8_t>(Opcode::COMPUTE);
  if (chaos_.OneIn(8)) launch.flags = kFlagPrepare;
  launch.program_region = 1;
  launch.program_bytes = kProgramBytes;
  Put(launch);
  Ring();
}

void Intruder::LaunchProgram() {
  EnsureAlive();
  std::vector<uint8_t> image = Encode(maker_.Make(chaos_));
  if (chaos_.OneIn(3)) Mutate(chaos_, image);
  Launch(image);
}

// Programs that do not end by themselves, and hold what they can.
void Intruder::LaunchEndless() {
  EnsureAlive();
  Launch(Encode(Assemble(chaos_.Pick(EndlessPrograms()))));
}

// What is in LX of some cores, stored to its memory.
void Intruder::PeekLx() {
  EnsureAlive();
  const uint64_t lx = chaos_.Below((kLxUsableBytes - kPlaceBytes / 4) / 128) * 128;
  const auto first = static_cast<uint32_t>(chaos_.OneIn(2) ? 0 : chaos_.Below(28));
  Launch(Encode(PeekProgram(first, chaos_.OneIn(2) ? 65536 : lx)));
  ReadMemory();
}

void Intruder::ReadMemory() {
  quiet_ = std::max<uint64_t>(quiet_, 16);
  for (uint32_t region = 0; region < 3; ++region) {
    Message copy;
    copy.opcode = static_cast<uint8_t>(Opcode::DMA_OUT);
    copy.host_address = host_.io_address() + kBufferAt + (region % 2) * kPlaceBytes;
    copy.device_region = region;
    copy.size_bytes = kPlaceBytes;
    copy.stream = stream_;
    Put(copy);
  }
  Ring();
}

void Intruder::ResetFunction() {
  disturbed_ = true;
  if (chaos_.OneIn(3)) {
    Register(regs::CONTROL, 1);
  } else {
    Write(Space::kConfig, config::kDeviceControl, config::kInitiateFlr);
  }
  if (chaos_.OneIn(2)) Revive();
}

void Intruder::Consume() {
  const uint32_t posted = Read(Space::kBar0, regs::RQ_TAIL);
  for (; seen_ != posted && posted - seen_ <= kEntries; ++seen_) {
    Response response;
    std::memcpy(&response, host_.data() + kResponsesAt + seen_ % kEntries * sizeof(response),
                sizeof(response));
    if (Check(response) == Status::OK) ++outcomes_[static_cast<Status>(response.status)];
  }
  seen_ = posted;
  Register(regs::RQ_HEAD, posted);
  Look(host_.data(), kHostBytes, "its host memory");
}

// ---------------------------------------------------------------- what it finds

void Intruder::Inspect() {
  Revive();
  transport_.Advance(20'000'000);
  ReadMemory();
  transport_.Advance(200'000'000);
  Look(host_.data(), kHostBytes, "its host memory");
  for (const auto& spec : regs::kRegisters)
    LookAt(Read(Space::kBar0, spec.offset), "the registers");
  for (uint32_t offset = 0; offset < model::kConfigBytes; offset += 4)
    LookAt(Read(Space::kConfig, offset), "configuration space");
}

void Intruder::Look(const uint8_t* data, size_t bytes, const char* where) {
  for (const Secret* secret : secrets_) {
    if (secret->IsIn(data, bytes)) {
      found_ =
          fmt::format("function {} has found a secret of another function in {}", function_, where);
    }
  }
}

void Intruder::LookAt(uint32_t value, const char* where) {
  for (const Secret* secret : secrets_) {
    if (secret->Shows(value)) {
      found_ = fmt::format("function {} has found {:#x} of another function in {}", function_,
                           value, where);
    }
  }
}

}  // namespace spyre::fuzz
