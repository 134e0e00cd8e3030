// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/served_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "model/common/transfer.h"
#include "model/pcie/config_layout.h"

namespace spyre::cosim {
namespace {

using vfio_user::Command;

// One client must not move time so far that the others have none left: a pause is 1,000 s at most,
// and after 53 days there are no more.
constexpr uint64_t kLongestPausePs = 1'000'000'000'000'000;
constexpr uint64_t kLatestPs = 1ull << 62;

// The space of a region that is not empty.
model::HostAccess::Space SpaceOf(uint32_t region) {
  switch (region) {
    case 0:
      return model::HostAccess::Space::kBar0;
    case 2:
      return model::HostAccess::Space::kBar2;
    case 4:
      return model::HostAccess::Space::kBar4;
    default:
      return model::HostAccess::Space::kConfig;
  }
}

template <typename T>
bool Take(const ClientMessage& message, T& value) {
  if (message.payload.size() < sizeof(T)) return false;
  std::memcpy(&value, message.payload.data(), sizeof(T));
  return true;
}

template <typename T>
std::string Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

ServedFunction::ServedFunction(InProcessTransport& card, driver::FunctionId function, TimeMode mode,
                               Mailboxes& mail, SessionRecorder* recorder, ServeLog log)
    : site_{&card, function, function == 0 ? nullptr : &virtual_config_, &watch_, recorder},
      mode_(mode),
      log_(std::move(log)),
      neighbours_(card, function, mail) {}

void ServedFunction::Log(const std::string& text) const {
  log_(fmt::format("function {}: {}", function(), text));
}

void ServedFunction::Connect(Descriptor socket) {
  connection_ = std::make_unique<Connection>(std::move(socket));
}

void ServedFunction::Disconnect() {
  const std::string unknown = watch_.TakeUnknown();
  if (!unknown.empty())
    Log("the client has touched addresses that the specification does not have:" + unknown);
  Log("the client is gone: " + connection_->failure());
  if (client_ && client_->time_client && !client_->monitor && !takes_leave_)
    lost_ = *client_->time_client;
  takes_leave_ = false;
  neighbours_.Clear();
  if (client_ && !client_->monitor) {
    uint64_t delay_ps = 0;
    const uint32_t command =
        site_.card->bridge().Access(function(), model::HostAccess::Space::kConfig,
                                    model::config::kCommandStatus, false, 0, &delay_ps);
    Configure(model::config::kCommandStatus, command & ~model::config::kCommandBusMaster, 0x3);
    used_ = true;
  }
  if (site_.recorder != nullptr) {
    memory_.ForEach(
        [this](uint64_t address, uint64_t) { site_.recorder->Unmap(function(), address); });
  }
  // What the card has been promised comes, so that nothing of it waits for a client that is gone.
  posted_.clear();
  LetHeldGo();
  connection_.reset();
  client_.reset();
  memory_.Clear();
  lines_.Clear();
  access_.reset();
  pause_.reset();
  site_.card->bridge().ForgetInterrupts(function());
}

// As the host does it beside all clients: at once, and at no price.
void ServedFunction::Configure(uint32_t offset, uint32_t value, unsigned enables) {
  uint64_t delay_ps = 0;
  if (site_.recorder != nullptr) {
    site_.recorder->Write(function(), model::HostAccess::Space::kConfig, offset, value, enables);
  }
  site_.card->bridge().AccessBytes(function(), model::HostAccess::Space::kConfig, offset, true,
                                   reinterpret_cast<uint8_t*>(&value), sizeof(value), enables,
                                   &delay_ps);
}

// The low half of the register is Device Control; a status above it is not to be cleared. Where the
// card is lost, its own reset is what a function-level one of the physical function cannot be.
void ServedFunction::Reset() {
  LetHeldGo();
  if (function() == 0 && !site_.card->LossOfCard().empty()) {
    Log("the card is lost, and is reset as a whole");
    site_.card->HotReset();
  }
  Configure(model::config::kDeviceControl, model::config::kInitiateFlr, 0x3);
  virtual_config_.Reset();
  site_.card->bridge().ForgetInterrupts(function());
}

void ServedFunction::Serve() {
  if (!posted_.empty()) SettlePosted();
  while (connection_ != nullptr && connection_->open() && !waiting() &&
         !connection_->wants_to_write()) {
    std::optional<ClientMessage> message = connection_->Next();
    if (!message) break;
    Handle(std::move(*message));
  }
}

void ServedFunction::Handle(ClientMessage message) {
  if (!client_ || message.header.command == Command::kVersion) {
    Hello(message);
    return;
  }
  int error = 0;
  switch (message.header.command) {
    case Command::kDmaMap:
      error = MapMemory(message);
      break;
    case Command::kDmaUnmap:
      error = UnmapMemory(message);
      break;
    case Command::kGetInfo:
    case Command::kGetRegionInfo:
    case Command::kGetRegionIoFds:
    case Command::kGetIrqInfo:
      error = Describe(message);
      break;
    case Command::kSetIrqs:
      error = lines_.Set(message.payload, std::move(message.descriptors));
      if (error == 0) connection_->Reply(message.header, {});
      break;
    case Command::kRegionRead:
    case Command::kRegionWrite:
      error = AccessRegion(message);
      break;
    case Command::kReset:
      Reset();
      connection_->Reply(message.header, {});
      break;
    default:  // migration, and what is for the other direction
      error = EINVAL;
      break;
  }
  if (error == 0) return;
  Log(fmt::format("refused command {} of {} bytes with error {} ({})",
                  static_cast<int>(message.header.command), message.header.size, error,
                  std::strerror(error)));
  connection_->ReplyError(message.header, error);
}

void ServedFunction::Hello(const ClientMessage& message) {
  std::string why;
  if (message.header.command != Command::kVersion || client_) {
    why = client_ ? "its version has been said already"
                  : fmt::format("command {} before its version",
                                static_cast<int>(message.header.command));
  } else {
    client_ = ParseVersion(message.payload, why);
  }
  if (why.empty() && mode_ == TimeMode::kLockstep && !client_->time_client) {
    why = "it does not use the card's clock (capability spyre_time), which lockstep needs";
    client_.reset();
  }
  if (!why.empty()) {
    connection_->ReplyError(message.header, EINVAL);
    connection_->Fail(why);
    return;
  }
  if (used_ && !client_->monitor) Reset();
  Log(client_->time_client ? fmt::format("client '{}'", *client_->time_client) : "client");
  connection_->Reply(message.header, VersionReply(*client_, mode_));
}

int ServedFunction::MapMemory(ClientMessage& message) {
  vfio_user::DmaMap map;
  if (!Take(message, map) || map.argsz < sizeof(map)) return EINVAL;
  const int error = memory_.Map(map, std::move(message.descriptors));
  if (error != 0) return error;
  if (site_.recorder != nullptr && !site_.recorder->Map(function(), map.address, map.size)) {
    vfio_user::DmaUnmap same{sizeof(vfio_user::DmaUnmap), 0, map.address, map.size};
    std::vector<uint64_t> removed;
    memory_.Unmap(same, removed);
    return ENOMEM;
  }
  connection_->Reply(message.header, {});
  return 0;
}

int ServedFunction::UnmapMemory(const ClientMessage& message) {
  vfio_user::DmaUnmap unmap;
  if (!Take(message, unmap) || unmap.argsz < sizeof(unmap)) return EINVAL;
  // Accesses in flight end first. What was posted by messages is before the reply on the socket.
  LetHeldGo();
  std::vector<uint64_t> removed;
  const int error = memory_.Unmap(unmap, removed);
  if (error != 0) return error;
  if (site_.recorder != nullptr)
    for (const uint64_t address : removed) site_.recorder->Unmap(function(), address);
  connection_->Reply(message.header, Bytes(unmap));
  return 0;
}

int ServedFunction::Describe(const ClientMessage& message) {
  const auto answer = Info().Answer(message.header.command, message.payload);
  if (!answer) return EINVAL;
  connection_->Reply(message.header, *answer);
  return 0;
}

int ServedFunction::AccessRegion(const ClientMessage& message) {
  vfio_user::RegionAccess& a = region_access_;
  if (!Take(message, a)) return EINVAL;
  const bool write = message.header.command == Command::kRegionWrite;
  const uint64_t given = message.payload.size() - sizeof(a);
  if (a.region >= Info().regions() || a.count > kMaxTransferBytes || given != (write ? a.count : 0))
    return EINVAL;
  const uint64_t bytes = Info().RegionBytes(a.region);
  if (a.offset > bytes || a.count > bytes - a.offset) return EINVAL;
  // Whole registers, or a part of one: what a processor's single store can be.
  const bool is_whole = a.offset % 4 == 0 && a.count % 4 == 0;
  if (write && a.region == 0 && !is_whole && a.offset % 4 + a.count > 4) return EINVAL;
  std::string data = write ? message.payload.substr(sizeof(a)) : std::string(a.count, '\0');
  if (a.count == 0) {
    ReplyAccess(message.header, "");
    return 0;
  }
  if (a.region == vfio_user::kTimeRegion)
    return AccessTime(message, a.offset, write ? data : "", write ? 0 : a.count);
  waiting_for_ = message.header;
  access_ = std::make_unique<CardAccess>(SpaceOf(a.region), a.offset, write, std::move(data),
                                         *site_.card, model::NowPs());
  return 0;
}

void ServedFunction::ReplyAccess(const vfio_user::Header& header, const std::string& data,
                                 const std::string& behind_outcome) {
  const bool write = header.command == Command::kRegionWrite;
  std::string answer = Bytes(region_access_) + (write ? "" : data);
  if (client_->outcomes) {
    answer += Bytes(vfio_user::TimeOutcome{site_.card->NowPs(), wait_result_, 0});
    answer += behind_outcome;
  }
  connection_->Reply(header, answer);
}

int ServedFunction::AccessTime(const ClientMessage& message, uint64_t offset,
                               const std::string& data, uint64_t count) {
  if (!data.empty()) return WriteTime(message, offset, data);
  std::string answer;
  if (offset == vfio_user::kTimeNow && count == sizeof(uint64_t)) {
    answer = Bytes(site_.card->NowPs());
  } else if (offset == vfio_user::kTimeResult && count == sizeof(wait_result_)) {
    answer = Bytes(wait_result_);
  } else if (offset == vfio_user::kTimeDiagnose) {
    answer = site_.card->Diagnose().substr(0, count - 1);
    answer.resize(count, '\0');
  } else if (const auto of_neighbours = neighbours_.Read(offset, count)) {
    answer = *of_neighbours;
  } else {
    return EINVAL;
  }
  ReplyAccess(message.header, answer);
  return 0;
}

int ServedFunction::WriteTime(const ClientMessage& message, uint64_t offset,
                              const std::string& data) {
  if (offset == vfio_user::kTimeWait) return WaitFor(message, data);
  if (offset == vfio_user::kTimeReceive) return Receive(message, data);
  if (offset != vfio_user::kTimeAdvance) {
    if (offset == vfio_user::kTimeFarewell) {
      takes_leave_ = true;
    } else if (!neighbours_.Write(offset, data)) {
      return EINVAL;
    }
    ReplyAccess(message.header, "");
    return 0;
  }
  uint64_t ps = 0;
  if (data.size() != sizeof(ps)) return EINVAL;
  std::memcpy(&ps, data.data(), sizeof(ps));
  if (ps > kLongestPausePs || model::NowPs() > kLatestPs) return EINVAL;
  pause_ = Pause();
  pause_->begin_ps = model::NowPs();
  pause_->wake_ps = pause_->begin_ps + ps;
  waiting_for_ = message.header;
  return 0;
}

int ServedFunction::Receive(const ClientMessage& message, const std::string& data) {
  uint32_t number = 0;
  if (data.size() != sizeof(number)) return EINVAL;
  std::memcpy(&number, data.data(), sizeof(number));
  waiting_for_ = message.header;
  pause_ = Pause();
  pause_->begin_ps = model::NowPs();
  pause_->wake_ps = UINT64_MAX;
  pause_->sleeping = true;
  pause_->mail = number;
  TakeInterrupt();
  return 0;
}

int ServedFunction::WaitFor(const ClientMessage& message, const std::string& data) {
  vfio_user::TimeWait wait;
  if (data.size() != sizeof(wait)) return EINVAL;
  std::memcpy(&wait, data.data(), sizeof(wait));
  if (wait.vector >= kMsiVectors || wait.reserved != 0 || model::NowPs() > kLatestPs) return EINVAL;
  waiting_for_ = message.header;
  wait_result_ = static_cast<uint32_t>(driver::WaitResult::kDeadline);
  const uint64_t now = model::NowPs();
  const uint64_t deadline = std::max(now, std::min(wait.deadline_ps, now + kLongestPausePs));
  pause_ = Pause{now, deadline, true, wait.vector, deadline, true, {}};
  TakeInterrupt();
  return 0;
}

void ServedFunction::TakeInterrupt() {
  if (waits_for_interrupt() && pause_->mail) {
    if (!neighbours_.HasMail(*pause_->mail)) return;
    pause_->sleeping = false;
    pause_->wake_ps = model::NowPs();
    wait_result_ = static_cast<uint32_t>(driver::WaitResult::kInterrupt);
    return;
  }
  if (!waits_for_interrupt() || !site_.card->bridge().TakeInterrupt(function(), pause_->vector))
    return;
  pause_->sleeping = false;
  pause_->wake_ps = model::NowPs() + 1000 * site_.card->timing().interrupt_ns;
  wait_result_ = static_cast<uint32_t>(driver::WaitResult::kInterrupt);
}

void ServedFunction::EndSleep() {
  wait_result_ = static_cast<uint32_t>(driver::WaitResult::kStalled);
  EndPause();
}

void ServedFunction::EndPause() {
  if (site_.recorder != nullptr && pause_->wait) {
    site_.recorder->Wait(function(), pause_->vector, pause_->begin_ps, pause_->deadline_ps,
                         static_cast<driver::WaitResult>(wait_result_));
  } else if (site_.recorder != nullptr) {
    site_.recorder->Advance(pause_->begin_ps);
  }
  // Not before its turn: which message is first must not depend on who is faster.
  const bool mail = pause_->mail.has_value();
  if (mail) neighbours_.TakeMail(*pause_->mail);
  pause_.reset();
  ReplyAccess(waiting_for_, "", mail ? neighbours_.Received() : "");
}

void ServedFunction::Step() {
  if (access_ == nullptr) {
    EndPause();
    return;
  }
  if (access_->Step(site_)) {
    const bool idle = site_.card->idle();
    Log(fmt::format("the client has read {}{}", watch_.SpinText(model::NowPs()),
                    idle ? "; the card has nothing left to do, so this stays as it is\n" +
                               site_.card->Diagnose()
                         : ""));
  }
  if (!access_->done()) return;
  ReplyAccess(waiting_for_, access_->data());
  access_.reset();
}

}  // namespace spyre::cosim
