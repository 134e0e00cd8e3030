// SPDX-License-Identifier: Apache-2.0
#include "driver/vfio_user_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "driver/pci.h"
#include "driver/vfio_user_link.h"

namespace spyre::driver {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Half of it, for what a clock of another processor may be off.
constexpr std::chrono::milliseconds kKnown{vfio_user::kAwakeMs / 2};

// The addresses that the transport in one process gives, so that times are the same.
constexpr IoAddress kFirstIoAddress = 0x1'0000'0000;
constexpr uint64_t kPage = 4096;
constexpr uint32_t kDiagnosisBytes = 0xFC0;  // the region's rest

constexpr std::string_view kPrefix = "spyre.";
constexpr std::string_view kSuffix = ".sock";

FunctionId FunctionOf(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  FunctionId function = 0;
  if (name.size() > kPrefix.size() + kSuffix.size() && name.rfind(kPrefix, 0) == 0 &&
      name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0) {
    const char* const end = name.data() + name.size() - kSuffix.size();
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, function);
    if (error == std::errc() && stop == end) return function;
  }
  throw BadInput(
      "vfio-user: {} is neither a directory nor the name of a socket spyre.F.sock, F the number of "
      "a function",
      path);
}

template <typename T>
T ValueOf(const std::optional<std::string>& bytes, T otherwise) {
  if (!bytes) return otherwise;
  T value;
  std::memcpy(&value, bytes->data(), sizeof(value));
  return value;
}

WaitResult ResultOf(const VfioUserLink& link) {
  return static_cast<WaitResult>(link.outcome().wait_result);
}

uint32_t BarRegion(int bar) {
  if (bar != 0 && bar != 2 && bar != 4)
    throw BadInput("transport: the card has BARs 0, 2 and 4, not {}", bar);
  return static_cast<uint32_t>(bar);
}

}  // namespace

VfioUserTransport::VfioUserTransport(const std::string& path, Role role)
    : VfioUserTransport(path, role, Program()) {}

VfioUserTransport::VfioUserTransport(const std::string& path, const Program& program)
    : VfioUserTransport(path, Role::kDriver, program) {}

VfioUserTransport::VfioUserTransport(const std::string& path, Role role, const Program& program)
    : role_(role), programs_(program.programs), next_address_(kFirstIoAddress) {
  static std::atomic<int> clients{0};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    directory_ = path;
  } else {
    function_ = FunctionOf(path);
    directory_ = fs::path(path).parent_path().string();
    if (directory_.empty()) directory_ = ".";
  }
  name_ = fmt::format("{}.{}", getpid(), clients++);
  if (!program.name.empty()) name_ = fmt::format("{} (process {})", program.name, getpid());
  Link(function_);
}

VfioUserTransport::~VfioUserTransport() = default;

VfioUserLink& VfioUserTransport::Link(FunctionId function) const {
  std::unique_ptr<VfioUserLink>& link = links_[function];
  if (link == nullptr) {
    link = std::make_unique<VfioUserLink>(
        fmt::format("{}/{}{}{}", directory_, kPrefix, function, kSuffix), name_,
        role_ == Role::kMonitor, programs_);
  }
  return *link;
}

const std::string& VfioUserTransport::time_mode() const {
  return links_.at(function_)->time_mode();
}

// What the server refuses is outside of a region: it reads as unanswered, as on a bus.
uint32_t VfioUserTransport::ReadWord(FunctionId function, uint32_t region, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ValueOf(Read(function, region, offset, sizeof(uint32_t)), kNobodyAnswers);
}

// These two know the card's time afterwards.
std::optional<std::string> VfioUserTransport::Read(FunctionId function, uint32_t region,
                                                   uint64_t offset, uint32_t count) {
  now_ps_.reset();
  VfioUserLink& link = Link(function);
  std::optional<std::string> data = link.Read(region, offset, count);
  if (data) Took(link);
  return data;
}

bool VfioUserTransport::Write(FunctionId function, uint32_t region, uint64_t offset,
                              std::string_view data) {
  now_ps_.reset();
  VfioUserLink& link = Link(function);
  if (!link.Write(region, offset, data)) return false;
  Took(link);
  return true;
}

void VfioUserTransport::Took(const VfioUserLink& link) {
  if (link.time_mode() != "lockstep") return;
  now_ps_ = link.outcome().now_ps;
  known_since_ = Clock::now();
}

void VfioUserTransport::WriteWord(FunctionId function, uint32_t region, uint64_t offset,
                                  uint32_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Write(function, region, offset, vfio_user::BytesOf(value));
}

uint32_t VfioUserTransport::ConfigRead(FunctionId function, uint32_t offset) {
  return ReadWord(function, vfio_user::kConfigRegion, offset);
}

void VfioUserTransport::ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) {
  WriteWord(function, vfio_user::kConfigRegion, offset, value);
}

uint32_t VfioUserTransport::Read32(FunctionId function, int bar, uint64_t offset) {
  return ReadWord(function, BarRegion(bar), offset);
}

void VfioUserTransport::Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) {
  WriteWord(function, BarRegion(bar), offset, value);
}

IoAddress VfioUserTransport::MapHost(FunctionId function, void* host, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (host == nullptr || size == 0)
    throw BadInput("transport: cannot map {} bytes at a null or empty range", size);
  const IoAddress address = next_address_;
  if (!Link(function).Map(address, static_cast<uint8_t*>(host), size)) {
    throw BadInput("transport: the server of function {} cannot map more memory; unmap some",
                   function);
  }
  next_address_ += (size + kPage - 1) / kPage * kPage + kPage;  // a hole: an overrun faults
  return address;
}

void VfioUserTransport::UnmapHost(FunctionId function, IoAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!Link(function).Unmap(address)) {
    throw BadInput("transport: unmap of IO address {:#x}, which function {} has not mapped",
                   address, function);
  }
}

IoAddress VfioUserTransport::PeerWindow() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ValueOf<IoAddress>(
      Link(function_).Read(vfio_user::kTimeRegion, vfio_user::kTimePeers, sizeof(IoAddress)), 0);
}

IoAddress VfioUserTransport::MapPeer(FunctionId function, unsigned peer, uint64_t offset,
                                     uint64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  VfioUserLink& link = Link(function);
  const vfio_user::PeerMapping mapping{peer, 0, offset, size};
  if (!link.Write(vfio_user::kTimeRegion, vfio_user::kTimePeers, vfio_user::BytesOf(mapping))) {
    throw BadInput(
        "transport: the server of {} has no card {} beside this one, or it has no {:#x} bytes at "
        "{:#x} of its memory window",
        directory_, peer, size, offset)
        .Subject(fmt::format("card {}", peer));
  }
  return ValueOf<IoAddress>(
      link.Read(vfio_user::kTimeRegion, vfio_user::kTimeMapped, sizeof(IoAddress)), 0);
}

void VfioUserTransport::UnmapPeer(FunctionId function, IoAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const vfio_user::PeerMapping mapping{0, 1, address, 0};
  if (!Link(function).Write(vfio_user::kTimeRegion, vfio_user::kTimePeers,
                            vfio_user::BytesOf(mapping)))
    throw BadInput("transport: unmap of IO address {:#x}, where no other card is", address);
}

void VfioUserTransport::Post(uint32_t from, uint32_t to, std::string_view message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const vfio_user::MailAddress address{from, to};
  if (!Link(function_).Write(vfio_user::kTimeRegion, vfio_user::kTimePost,
                             std::string(vfio_user::BytesOf(address)).append(message))) {
    throw BadInput("transport: the server does not take a message of {} bytes from {} to {}",
                   message.size(), from, to);
  }
}

std::optional<VfioUserTransport::Mail> VfioUserTransport::Receive(uint32_t to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!Write(function_, vfio_user::kTimeRegion, vfio_user::kTimeReceive, vfio_user::BytesOf(to)))
    throw BadInput("transport: the server has no messages");
  const VfioUserLink& link = Link(function_);
  constexpr size_t kHead = 2 * sizeof(uint32_t);
  const std::string& message = link.behind_outcome();
  if (ResultOf(link) != WaitResult::kInterrupt || message.size() < kHead) return std::nullopt;
  Mail mail;
  std::memcpy(&mail.from, message.data() + sizeof(uint32_t), sizeof(mail.from));
  mail.text = message.substr(kHead);
  return mail;
}

void VfioUserTransport::NameCompute(uint64_t correlation, std::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text(vfio_user::BytesOf(correlation));
  text += name.substr(0, vfio_user::kMaxMessageBytes);
  Link(function_).Note(vfio_user::kTimeRegion, vfio_user::kTimeName, text);
}

void VfioUserTransport::Trace(const vfio_user::HostSlice& slice, std::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text(vfio_user::BytesOf(slice));
  text += name.substr(0, vfio_user::kMaxMessageBytes);
  Link(function_).Note(vfio_user::kTimeRegion, vfio_user::kTimeSlice, text);
}

void VfioUserTransport::TakeLeave() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    for (const auto& [function, link] : links_) {
      link->Write(vfio_user::kTimeRegion, vfio_user::kTimeFarewell,
                  vfio_user::BytesOf(uint32_t{0}));
    }
  } catch (const Error&) {
    return;  // the server has gone first
  }
}

WaitResult VfioUserTransport::WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const vfio_user::TimeWait wait{deadline_ps, static_cast<uint32_t>(vector), 0};
  if (!Write(function, vfio_user::kTimeRegion, vfio_user::kTimeWait, vfio_user::BytesOf(wait)))
    throw BadInput("transport: function {} has no interrupt vector {}", function, vector);
  return ResultOf(Link(function));
}

uint64_t VfioUserTransport::NowPs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (now_ps_ && Clock::now() - known_since_ < kKnown) return *now_ps_;
  return ValueOf<uint64_t>(
      Read(function_, vfio_user::kTimeRegion, vfio_user::kTimeNow, sizeof(uint64_t)), 0);
}

void VfioUserTransport::Advance(uint64_t host_ps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (host_ps == 0) return;
  Write(function_, vfio_user::kTimeRegion, vfio_user::kTimeAdvance, vfio_user::BytesOf(host_ps));
}

std::string VfioUserTransport::Diagnose() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto text =
      Link(function_).Read(vfio_user::kTimeRegion, vfio_user::kTimeDiagnose, kDiagnosisBytes);
  return text ? text->substr(0, text->find('\0')) : "";
}

}  // namespace spyre::driver
