// SPDX-License-Identifier: Apache-2.0
#include "driver/vfio_user_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"

namespace spyre::driver {
namespace {

using vfio_user::BytesOf;
using vfio_user::Command;
using vfio_user::Header;

constexpr uint32_t kMaxMessageBytes =
    sizeof(Header) + sizeof(vfio_user::DmaAccess) + vfio_user::kDefaultTransferBytes;
constexpr size_t kMostNotes = 64 << 10;
// Of calls, the next is mostly made within this time.
constexpr std::chrono::microseconds kCrowd{500};

void AddMessage(Header header, std::string_view payload, std::string& messages) {
  header.size = static_cast<uint32_t>(sizeof(header) + payload.size());
  messages += BytesOf(header);
  messages += payload;
}

// False: nothing has come in that time; -1: there is no limit. The end of the connection is input.
bool WaitForInput(int socket, int patience_ms) {
  pollfd waiting{socket, POLLIN, 0};
  int result = -1;
  do {
    result = poll(&waiting, 1, patience_ms);
  } while (result < 0 && errno == EINTR);
  return result != 0;
}

}  // namespace

VfioUserLink::VfioUserLink(const std::string& path, const std::string& client, bool monitor,
                           unsigned clients)
    : path_(path) {
  Connect();
  thread_ = std::thread([this] { Listen(); });
  try {
    Hello(client, monitor, clients);
  } catch (...) {
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
    throw;
  }
}

VfioUserLink::~VfioUserLink() {
  shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void VfioUserLink::Connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path)) {
    throw BadInput("vfio-user: the name of the socket {} is too long; at most {} characters", path_,
                   sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, path_.data(), path_.size());
  socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int result = -1;
  do {
    result = connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    throw BadInput("vfio-user: no server offers a card at {}: {}; start `spyre-cosim serve`", path_,
                   std::strerror(errno))
        .Subject(path_);
  }
}

void VfioUserLink::Hello(const std::string& client, bool monitor, unsigned clients) {
  nlohmann::json capabilities = {{"capabilities",
                                  {{"max_data_xfer_size", vfio_user::kDefaultTransferBytes},
                                   {"spyre_time", {{"client", client}, {"outcomes", true}}}}}};
  if (clients > 1) capabilities["capabilities"]["spyre_time"]["clients"] = clients;
  if (monitor) capabilities["capabilities"]["spyre_time"]["monitor"] = true;
  std::string payload(BytesOf(vfio_user::Version{}));
  payload += DumpJson(capabilities);
  payload.push_back('\0');
  std::optional<std::string> reply;
  try {
    reply = Call(Command::kVersion, payload);
  } catch (const Error&) {
    // Said below: to this client, there is no card yet.
  }
  if (reply && reply->size() > sizeof(vfio_user::Version) && reply->back() == '\0') {
    const auto json = SortedJsonIfAny(std::string_view(*reply).substr(
        sizeof(vfio_user::Version), reply->size() - sizeof(vfio_user::Version) - 1));
    const auto mode = nlohmann::json::json_pointer("/capabilities/spyre_time/mode");
    const auto outcomes = nlohmann::json::json_pointer("/capabilities/spyre_time/outcomes");
    if (json.is_object() && json.contains(mode) && json[mode].is_string() &&
        json.contains(outcomes) && json[outcomes] == true)
      time_mode_ = json[mode].get<std::string>();
  }
  if (time_mode_.empty()) {
    throw BadInput(
        "vfio-user: {} does not take this client, or serves no clock (spyre_time); its server must "
        "be `spyre-cosim serve` of this version, and a function has one client at a time",
        path_)
        .Subject(path_);
  }
  const std::lock_guard<std::mutex> lock(receive_mutex_);
  time_waits_for_us_ = time_mode_ == "lockstep";
}

bool VfioUserLink::ReceiveBytes(void* data, size_t bytes) const {
  auto* to = static_cast<uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(socket_.get(), to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool VfioUserLink::Send(const Header& header, std::string_view payload, std::string message) {
  AddMessage(header, payload, message);
  const std::lock_guard<std::mutex> lock(send_mutex_);
  size_t sent = 0;
  while (sent < message.size()) {
    const ssize_t n =
        send(socket_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

// Whatever a server sends that is not of the protocol ends the connection, as if it had gone.
void VfioUserLink::ReceiveOne() {
  Message message;
  lost_ = !ReceiveBytes(&message.header, sizeof(message.header)) ||
          message.header.size < sizeof(Header) || message.header.size > kMaxMessageBytes;
  if (lost_) return;
  message.payload.resize(message.header.size - sizeof(Header));
  lost_ = !ReceiveBytes(message.payload.data(), message.payload.size());
  if (lost_) return;
  if ((message.header.flags & vfio_user::kTypeMask) == vfio_user::kReply) {
    reply_ = std::move(message);
    received_.notify_all();
  } else {
    Answer(message);
  }
}

// In lockstep calls come in crowds, and each listens for itself: this thread looks again a moment
// later. Where time passes by itself, what the card wants of host memory may be due before that,
// while the program calls another function.
void VfioUserLink::Listen() {
  uint64_t calls = 0;
  for (;;) {
    WaitForInput(socket_.get(), -1);
    {
      const std::lock_guard<std::mutex> lock(receive_mutex_);
      if (!lost_ && WaitForInput(socket_.get(), 0)) ReceiveOne();
      if (lost_) {
        received_.notify_all();
        return;
      }
      if (std::exchange(calls, calls_) == calls_ || !time_waits_for_us_) continue;
    }
    std::this_thread::sleep_for(kCrowd);
  }
}

void VfioUserLink::Answer(const Message& message) {
  Header header;
  header.id = message.header.id;
  header.command = message.header.command;
  header.flags = vfio_user::kReply;
  vfio_user::DmaAccess access;
  const bool write = message.header.command == Command::kDmaWrite;
  std::string reply;
  if (message.payload.size() >= sizeof(access)) {
    std::memcpy(&access, message.payload.data(), sizeof(access));
    const std::lock_guard<std::mutex> lock(mappings_mutex_);
    const auto above = mappings_.upper_bound(access.address);
    const auto found = above == mappings_.begin() ? mappings_.end() : std::prev(above);
    const uint64_t offset = found == mappings_.end() ? 0 : access.address - found->first;
    if (found != mappings_.end() && offset <= found->second.size &&
        access.count <= found->second.size - offset &&
        access.count <= vfio_user::kDefaultTransferBytes) {
      uint8_t* const host = found->second.host + offset;
      if (write && message.payload.size() == sizeof(access) + access.count) {
        std::memcpy(host, message.payload.data() + sizeof(access), access.count);
        reply = std::string(BytesOf(access)).substr(0, 12);  // a count of 4 bytes
      } else if (message.header.command == Command::kDmaRead) {
        reply = BytesOf(access);
        reply.append(reinterpret_cast<const char*>(host), access.count);
      }
    }
  }
  if (reply.empty()) {
    header.flags |= vfio_user::kError;
    header.error = EFAULT;
  }
  Send(header, reply);
}

std::optional<std::string> VfioUserLink::Call(Command command, std::string_view payload) {
  Header header;
  header.command = command;
  header.id = next_id_++;
  {
    const std::lock_guard<std::mutex> lock(receive_mutex_);
    ++calls_;
    reply_.reset();
  }
  // If that fails, nothing is received either.
  Send(header, payload, std::exchange(notes_, ""));
  std::unique_lock<std::mutex> lock(receive_mutex_);
  const auto answered = [&] { return reply_ && reply_->header.id == header.id; };
  if (!time_waits_for_us_) received_.wait(lock, [&] { return lost_ || answered(); });
  while (!answered() && !lost_) ReceiveOne();
  if (!answered()) {
    throw DeviceFault("the card at {} is gone: its server has ended or closed the connection",
                      path_)
        .Subject(path_);
  }
  if ((reply_->header.flags & vfio_user::kError) != 0) return std::nullopt;
  return std::move(reply_->payload);
}

// The data of the answer.
std::optional<std::string> VfioUserLink::Access(Command command, std::string_view payload,
                                                size_t data_bytes) {
  constexpr size_t kHead = sizeof(vfio_user::RegionAccess);
  const std::optional<std::string> reply = Call(command, payload);
  if (!reply || reply->size() < kHead + data_bytes + sizeof(outcome_)) return std::nullopt;
  std::memcpy(&outcome_, reply->data() + kHead + data_bytes, sizeof(outcome_));
  behind_outcome_ = reply->substr(kHead + data_bytes + sizeof(outcome_));
  return reply->substr(kHead, data_bytes);
}

std::optional<std::string> VfioUserLink::Read(uint32_t region, uint64_t offset, uint32_t count) {
  const vfio_user::RegionAccess access{offset, region, count};
  return Access(Command::kRegionRead, BytesOf(access), count);
}

bool VfioUserLink::Write(uint32_t region, uint64_t offset, std::string_view data) {
  const vfio_user::RegionAccess access{offset, region, static_cast<uint32_t>(data.size())};
  return Access(Command::kRegionWrite, std::string(BytesOf(access)).append(data), 0).has_value();
}

void VfioUserLink::Note(uint32_t region, uint64_t offset, std::string_view data) {
  const vfio_user::RegionAccess access{offset, region, static_cast<uint32_t>(data.size())};
  Header header;
  header.command = Command::kRegionWrite;
  header.flags = vfio_user::kNoReply;
  AddMessage(header, std::string(BytesOf(access)).append(data), notes_);
  if (notes_.size() < kMostNotes) return;
  // Any call takes them along.
  Read(vfio_user::kTimeRegion, vfio_user::kTimeNow, sizeof(uint64_t));
}

bool VfioUserLink::Map(IoAddress address, uint8_t* host, size_t size) {
  {
    const std::lock_guard<std::mutex> lock(mappings_mutex_);
    mappings_[address] = {host, size};
  }
  const vfio_user::DmaMap map{sizeof(map), vfio_user::kDmaReadable | vfio_user::kDmaWritable, 0,
                              address, size};
  return Call(Command::kDmaMap, BytesOf(map)).has_value();
}

bool VfioUserLink::Unmap(IoAddress address) {
  vfio_user::DmaUnmap unmap{sizeof(unmap), 0, address, 0};
  {
    const std::lock_guard<std::mutex> lock(mappings_mutex_);
    const auto found = mappings_.find(address);
    if (found == mappings_.end()) return false;
    unmap.size = found->second.size;
  }
  // The memory is the caller's again when this returns, whether the server is there or not.
  try {
    Call(Command::kDmaUnmap, BytesOf(unmap));
  } catch (const Error&) {
    const std::lock_guard<std::mutex> lock(mappings_mutex_);
    mappings_.erase(address);
    throw;
  }
  const std::lock_guard<std::mutex> lock(mappings_mutex_);
  mappings_.erase(address);
  return true;
}

}  // namespace spyre::driver
