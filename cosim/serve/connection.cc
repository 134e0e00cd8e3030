// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

using Clock = std::chrono::steady_clock;
using vfio_user::Command;
using vfio_user::Header;

// A write's data come behind its head; no other command is longer.
constexpr uint32_t kMaxMessageBytes =
    sizeof(Header) + sizeof(vfio_user::RegionAccess) + kMaxTransferBytes;
// How long a client may take to answer a DMA command.
constexpr std::chrono::seconds kCommandPatience{10};
// How long everybody waits for a client that has been as prompt before: a slice of simulation takes
// as long.
constexpr std::chrono::milliseconds kPrompt{2};
constexpr size_t kMaxQuestions = 32768;

}  // namespace

pid_t Connection::process() const {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  return getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

void Connection::Fail(const std::string& why) {
  if (!failure_.empty()) return;
  failure_ = why;
  for (const auto& [id, question] : std::exchange(questions_, {})) question.answer(std::nullopt);
}

bool Connection::ReadBytes(uint8_t* data, size_t bytes, size_t& have) {
  while (have < bytes && open()) {
    iovec part{data + have, bytes - have};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    for (cmsghdr* c = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; c != nullptr;
         c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        incoming_.descriptors.emplace_back(descriptor);
      }
    }
    if (got == 0) {
      Fail("the client has closed the connection");
    } else if (got < 0) {
      Fail(fmt::format("the connection is lost: {}", std::strerror(errno)));
    } else if ((message.msg_flags & MSG_CTRUNC) != 0 ||
               incoming_.descriptors.size() > kMaxDescriptors) {
      Fail(fmt::format("a message has more than {} file descriptors", kMaxDescriptors));
    } else {
      have += static_cast<size_t>(got);
    }
  }
  return open();
}

// After a wrong header the place of the next one is not known: it is answered, and the connection
// ends.
bool Connection::CheckHeader() {
  const Header& header = incoming_.header;
  const uint32_t type = header.flags & vfio_user::kTypeMask;
  std::string wrong;
  if (header.size < sizeof(Header) || header.size > kMaxMessageBytes) {
    wrong = fmt::format("a message of {} bytes; allowed are {} to {}", header.size, sizeof(Header),
                        kMaxMessageBytes);
  } else if (type > vfio_user::kReply) {
    wrong = fmt::format("a message of type {}; 0 is a command, 1 a reply", type);
  } else if (type == vfio_user::kReply && questions_.count(header.id) == 0) {
    wrong = fmt::format("a reply with id {}, to nothing that was asked", header.id);
  }
  if (wrong.empty()) return true;
  ReplyError(header, EINVAL);
  Fail(wrong);
  return false;
}

Connection::Step Connection::ReadMessage() {
  auto* const head = reinterpret_cast<uint8_t*>(&incoming_.header);
  if (header_bytes_ < sizeof(Header)) {
    if (!ReadBytes(head, sizeof(Header), header_bytes_) || !CheckHeader()) return Step::kWait;
    incoming_.payload.resize(incoming_.header.size - sizeof(Header));
  }
  auto* const payload = reinterpret_cast<uint8_t*>(incoming_.payload.data());
  if (!ReadBytes(payload, incoming_.payload.size(), payload_bytes_)) return Step::kWait;
  Deliver();
  return Step::kWhole;
}

void Connection::Deliver() {
  ClientMessage message = std::exchange(incoming_, ClientMessage());
  header_bytes_ = payload_bytes_ = 0;
  const Header& header = message.header;
  if ((header.flags & vfio_user::kTypeMask) != vfio_user::kReply) {
    commands_.push_back(std::move(message));
    return;
  }
  const Question question = std::move(questions_.extract(header.id).mapped());
  prompt_ = Clock::now() - question.asked < kPrompt;
  const bool good = (header.flags & vfio_user::kError) == 0 && header.command == question.command;
  question.answer(good ? std::optional(std::move(message.payload)) : std::nullopt);
}

void Connection::Receive() {
  while (open() && wants_to_read() && ReadMessage() == Step::kWhole) {
  }
}

std::optional<ClientMessage> Connection::Next() {
  if (commands_.empty()) return std::nullopt;
  ClientMessage message = std::move(commands_.front());
  commands_.pop_front();
  return message;
}

void Connection::Send(const Header& header, std::string_view payload) {
  if (!open()) return;
  unsent_.append(reinterpret_cast<const char*>(&header), sizeof(header));
  unsent_.append(payload);
  Flush();
}

void Connection::Flush() {
  size_t sent = 0;
  while (open() && sent < unsent_.size()) {
    const ssize_t n =
        send(fd(), unsent_.data() + sent, unsent_.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0) {
      Fail(fmt::format("the connection is lost: {}", std::strerror(errno)));
    } else {
      sent += static_cast<size_t>(n);
    }
  }
  unsent_.erase(0, sent);
}

void Connection::Reply(const Header& command, std::string_view payload) {
  if ((command.flags & vfio_user::kNoReply) != 0) return;
  Header header;
  header.id = command.id;
  header.command = command.command;
  header.size = static_cast<uint32_t>(sizeof(Header) + payload.size());
  header.flags = vfio_user::kReply;
  Send(header, payload);
}

void Connection::ReplyError(const Header& command, int error) {
  if ((command.flags & vfio_user::kNoReply) != 0) return;
  Header header;
  header.id = command.id;
  header.command = command.command;
  header.size = sizeof(Header);
  header.flags = vfio_user::kReply | vfio_user::kError;
  header.error = static_cast<uint32_t>(error);
  Send(header, {});
}

void Connection::Ask(Command command, std::string_view payload, Answer answer) {
  if (questions_.size() >= kMaxQuestions) Fail("the client owes answers to too many DMA commands");
  if (!open()) {
    answer(std::nullopt);
    return;
  }
  while (questions_.count(next_id_) != 0) ++next_id_;
  Header header;
  header.id = next_id_++;
  header.command = command;
  header.size = static_cast<uint32_t>(sizeof(Header) + payload.size());
  questions_[header.id] = {command, Clock::now(), std::move(answer)};
  Send(header, payload);
}

void Connection::CheckPatience() {
  const Clock::time_point latest = Clock::now() - kCommandPatience;
  if (AnyFits(questions_,
              [latest](const auto& question) { return question.second.asked <= latest; }))
    Fail("the client does not answer a DMA command");
}

void Connection::AwaitPrompt(const bool& come) {
  if (prompt_) Await(come, kPrompt);
  if (!come) prompt_ = false;
}

void Connection::AwaitWhole(const bool& come) {
  Await(come, kCommandPatience);
  if (!come) Fail("the client does not answer a DMA command");
}

void Connection::Await(const bool& come, std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  while (open() && !come && commands_.size() < kMaxCommands) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return;
    pollfd poller{fd(), static_cast<short>(POLLIN | (wants_to_write() ? POLLOUT : 0)), 0};
    if (poll(&poller, 1, static_cast<int>(left.count())) <= 0) continue;
    if ((poller.revents & POLLOUT) != 0) Flush();
    ReadMessage();
  }
}

}  // namespace spyre::cosim
