// SPDX-License-Identifier: Apache-2.0
#include "cosim/gdb/gdb_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr const char* kNoAck = "QStartNoAckMode";

sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

}  // namespace

GdbServer::GdbServer(uint16_t port) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (listener_ < 0 || setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(listener_, Generic(address), size) != 0 || listen(listener_, 1) != 0 ||
      getsockname(listener_, Generic(address), &size) != 0) {
    const std::string reason = std::strerror(errno);
    CloseAll();
    throw BadInput("--gdb {}: cannot listen on 127.0.0.1: {}; 0 takes any free port", port, reason);
  }
  port_ = ntohs(address.sin_port);
}

GdbServer::~GdbServer() {
  if (awaits_stop_) Send(fmt::format("W{:02x}", exit_status_));
  CloseAll();
}

void GdbServer::CloseAll() {
  StopWatching();
  if (connection_ >= 0) close(connection_);
  if (listener_ >= 0) close(listener_);
  connection_ = listener_ = -1;
  awaits_stop_ = false;
}

void GdbServer::Accept() {
  std::fprintf(stderr, "gdb: waiting on port %u\n", port_);
  do {
    connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  } while (connection_ < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (connection_ < 0) throw BadInput("--gdb {}: cannot accept: {}", port_, std::strerror(errno));
  const int on = 1;
  setsockopt(connection_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  StartWatching();
}

void GdbServer::WatchInput(std::function<void()> input) {
  StopWatching();
  input_ = std::move(input);
  StartWatching();
}

void GdbServer::StartWatching() {
  if (!input_ || connection_ < 0) return;
  watcher_end_ = eventfd(0, EFD_CLOEXEC);
  if (watcher_end_ < 0)
    throw BadInput("--gdb {}: no event descriptor: {}", port_, std::strerror(errno));
  ending_ = armed_ = false;
  watcher_ = std::thread([this] { Watch(); });
}

void GdbServer::StopWatching() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(watch_mutex_);
    ending_ = true;
  }
  watch_changed_.notify_one();
  const uint64_t one = 1;
  while (write(watcher_end_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  watcher_.join();
  close(watcher_end_);
  watcher_end_ = -1;
}

void GdbServer::Watch() {
  std::unique_lock lock(watch_mutex_);
  for (;;) {
    watch_changed_.wait(lock, [this] { return armed_ || ending_; });
    if (ending_) return;
    lock.unlock();
    pollfd inputs[] = {{connection_, POLLIN, 0}, {watcher_end_, POLLIN, 0}};
    const int ready = poll(inputs, std::size(inputs), -1);
    lock.lock();
    if (ending_) return;
    if (ready <= 0) continue;  // a signal
    armed_ = false;
    input_();
  }
}

void GdbServer::Arm() {
  {
    const std::lock_guard lock(watch_mutex_);
    if (armed_) return;
    armed_ = true;
  }
  watch_changed_.notify_one();
}

bool GdbServer::Receive(bool wait) {
  uint8_t bytes[kGdbPacketBytes];
  ssize_t count;
  do {
    count = recv(connection_, bytes, sizeof(bytes), wait ? 0 : MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return !wait && (errno == EAGAIN || errno == EWOULDBLOCK);
  for (ssize_t i = 0; i < count; ++i) {
    const GdbPacketReader::Event event = reader_.Push(bytes[i]);
    if (event != GdbPacketReader::Event::kNone) items_.push_back({event, reader_.payload()});
  }
  return count > 0;
}

void GdbServer::SendRaw(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = send(connection_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the next Receive finds the connection gone
    done += static_cast<size_t>(count);
  }
}

void GdbServer::Send(const std::string& payload) {
  last_packet_ = GdbPacket(payload);
  SendRaw(last_packet_);
}

std::optional<model::Debugger::Resume> GdbServer::Serve(const Item& item,
                                                        model::DebugTarget& target) {
  using Event = GdbPacketReader::Event;
  if (item.event == Event::kResend) SendRaw(last_packet_);
  if (item.event == Event::kBroken) {
    if (acknowledge_)
      SendRaw("-");
    else
      Send("E16");
  }
  if (item.event != Event::kPacket) return std::nullopt;
  if (acknowledge_) SendRaw("+");
  if (item.payload == kNoAck) {
    Send("OK");
    acknowledge_ = false;
    return std::nullopt;
  }
  const GdbCommands::Reply reply = commands_.Handle(item.payload, target);
  if (reply.text) Send(*reply.text);
  return reply.resume;
}

model::Debugger::Resume GdbServer::Detach(model::DebugTarget& target) {
  commands_.ClearBreakpoints(target);
  CloseAll();
  detached_ = true;
  return Resume::kDetach;
}

model::Debugger::Resume GdbServer::Stopped(model::DebugTarget& target, Stop why) {
  if (detached_) return Resume::kDetach;
  if (connection_ < 0) Accept();
  const std::string& stop = commands_.Stopped(target, why);
  if (awaits_stop_) Send(stop);
  awaits_stop_ = false;
  while (true) {
    while (items_.empty()) {
      if (!Receive(true)) return Detach(target);
    }
    const Item item = std::move(items_.front());
    items_.pop_front();
    const std::optional<Resume> resume = Serve(item, target);
    if (!resume) continue;
    if (*resume == Resume::kDetach) return Detach(target);
    awaits_stop_ = true;
    Arm();
    return *resume;
  }
}

bool GdbServer::WantsStop() {
  if (connection_ < 0) return false;
  if (!Receive(false)) return true;  // Stopped finds it gone, and detaches
  for (auto item = items_.begin(); item != items_.end(); ++item) {
    if (item->event != GdbPacketReader::Event::kInterrupt) continue;
    items_.erase(item);
    return true;
  }
  Arm();
  return false;
}

}  // namespace spyre::cosim
