// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/ranges.h"

namespace spyre::cosim {
namespace {

constexpr int kLongestPollMs = 200;  // a signal between two looks waits no longer

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    throw BadInput("--vfio-user: the name of the socket {} is too long; at most {} characters",
                   path, sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Descriptor MakeSocket() {
  Descriptor result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!result) throw BadInput("--vfio-user: cannot make a socket: {}", std::strerror(errno));
  return result;
}

// A socket that somebody listens at is in use; others are what an earlier server has left.
void RemoveLeftover(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode))
    throw BadInput("--vfio-user: {} is there and is not a socket; name another directory", path);
  const sockaddr_un address = AddressOf(path);
  const Descriptor probe = MakeSocket();
  const int result =
      connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (result == 0 || errno == EAGAIN) {
    throw BadInput("--vfio-user: {} is served already; stop that server, or name another directory",
                   path);
  }
  unlink(path.c_str());
}

}  // namespace

Server::Server(const std::vector<InProcessTransport*>& cards, unsigned functions,
               const ServeOptions& options)
    : cards_(cards), options_(options), schedule_(cards, options.time) {
  schedule_.AskForInput([this] { return HasInput(); });
  try {
    for (size_t card = 0; card < cards_.size(); ++card) {
      for (unsigned function = 0; function < functions; ++function) Listen(card, function);
    }
  } catch (...) {
    for (const Listener& listener : listeners_) unlink(listener.path.c_str());
    throw;
  }
  for (size_t card = 0; card < cards_.size(); ++card) {
    sides_.push_back(std::make_unique<CardSide>(*cards_[card]));
    for (unsigned function = 0; function < functions; ++function)
      sides_.back()->Add(functions_[card * functions + function].get());
  }
  if (options_.recorder == nullptr) return;
  options_.recorder->BeginSession(
      [this](driver::FunctionId function, driver::IoAddress address, uint8_t* data,
             uint64_t bytes) { return functions_[function]->Peek(address, data, bytes); });
}

Server::~Server() {
  sides_.clear();
  for (const Listener& listener : listeners_) unlink(listener.path.c_str());
}

std::string Server::PathOf(size_t card, unsigned function) const {
  return cards_.size() == 1
             ? fmt::format("{}/spyre.{}.sock", options_.directory, function)
             : fmt::format("{}/card{}/spyre.{}.sock", options_.directory, card, function);
}

void Server::MakeDirectory(const std::string& directory) const {
  std::error_code error;
  if (std::filesystem::create_directories(directory, error))
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  if (error || !std::filesystem::is_directory(directory, error))
    throw BadInput("--vfio-user: cannot make the directory {}", directory);
}

void Server::Listen(size_t card, unsigned function) {
  const std::string path = PathOf(card, function);
  MakeDirectory(options_.directory);
  MakeDirectory(std::filesystem::path(path).parent_path().string());
  const sockaddr_un address = AddressOf(path);
  RemoveLeftover(path);
  Descriptor listener = MakeSocket();
  const mode_t mask = umask(0177);  // the socket is its owner's from the first moment
  const int bound =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(mask);
  if (bound != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    throw BadInput("--vfio-user: cannot listen at {}: {}", path, std::strerror(errno));
  }
  listeners_.push_back({path, std::move(listener)});
  ServeLog log = options_.log;
  if (cards_.size() > 1) {
    log = [this, card](const std::string& line) {
      options_.log(fmt::format("card {}: {}", card, line));
    };
  }
  functions_.push_back(
      std::make_unique<ServedFunction>(*cards_[card], static_cast<driver::FunctionId>(function),
                                       options_.time.mode, mail_, options_.recorder, log));
  functions_.back()->TellTo(options_.listener, card);
}

bool Server::Connected() const {
  return AnyFits(functions_,
                 [](const auto& function) { return function->connection() != nullptr; });
}

// While the card ran, clients may have been lost, and commands may have come between the answers to
// the server's own.
void Server::Sweep() {
  for (const auto& function : functions_) {
    function->Serve();
    Connection* const connection = function->connection();
    if (connection == nullptr) continue;
    connection->CheckPatience();
    if (connection->open()) continue;
    function->Disconnect();
    TellLost(*function);
  }
}

void Server::TellLost(ServedFunction& function) {
  const std::string client = function.TakeLost();
  if (!client.empty() && options_.lost) options_.lost(client);
  if (!Connected()) mail_.Clear();  // what comes next is another program
}

// A card whose firmware has stopped is not the end of its server: registers answer, and a reset of
// the card starts it again.
void Server::Guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDeviceFault || cards_.front()->ended()) throw;
    options_.log(fmt::format(
        "the card is lost: {}; its functions get no more answers until the client of the physical "
        "function resets it (VFIO_USER_DEVICE_RESET)",
        error.what()));
  }
}

void Server::Run() {
  for (;;) {
    // What has come before the signal is heard: of a program that has ended, that its connections
    // are closed, which its cards' traces show.
    const bool last = IsInterrupted();
    Poll(last ? 0 : schedule_.PatienceMs(functions_));
    Guarded([this] { schedule_.Move(functions_); });
    Guarded([this] { Sweep(); });
    if (last) ThrowIfInterrupted();
    if (options_.once && served_ && !Connected()) return;
  }
}

bool Server::HasInput() const {
  std::vector<pollfd> polled;
  for (const Listener& listener : listeners_) polled.push_back({listener.socket.get(), POLLIN, 0});
  for (const auto& function : functions_) {
    if (function->connection() != nullptr)
      polled.push_back({function->connection()->fd(), POLLIN, 0});
  }
  return poll(polled.data(), polled.size(), 0) > 0;
}

void Server::Poll(int patience_ms) {
  std::vector<pollfd> polled;
  for (const Listener& listener : listeners_) polled.push_back({listener.socket.get(), POLLIN, 0});
  for (const auto& function : functions_) {
    Connection* const connection = function->connection();
    short events = 0;
    if (connection != nullptr && connection->wants_to_read()) events |= POLLIN;
    if (connection != nullptr && connection->wants_to_write()) events |= POLLOUT;
    polled.push_back({connection == nullptr ? -1 : connection->fd(), events, 0});
  }
  const int patience = patience_ms < 0 ? kLongestPollMs : patience_ms;
  const int ready = poll(polled.data(), polled.size(), patience);
  if (ready == 0 && patience_ms > 0) schedule_.Silence();
  if (ready <= 0) return;
  Guarded([this] { schedule_.CatchUp(); });
  // A client that has gone makes room for a new one.
  for (size_t i = 0; i < functions_.size(); ++i) {
    const short events = polled[functions_.size() + i].revents;
    if (events != 0) Receive(*functions_[i], events);
  }
  for (size_t i = 0; i < functions_.size(); ++i)
    if (polled[i].revents != 0) Accept(i);
}

void Server::Receive(ServedFunction& function, short events) {
  Connection& connection = *function.connection();
  if ((events & POLLOUT) != 0) connection.Flush();
  if ((events & POLLIN) != 0) connection.Receive();
  // The other side is closed, and nothing more can be read.
  if ((events & (POLLHUP | POLLERR)) != 0 && (events & POLLIN) == 0)
    connection.Fail("the client has closed the connection");
  function.Serve();
  if (connection.open()) return;
  function.Disconnect();
  TellLost(function);
}

void Server::Accept(size_t function) {
  Descriptor socket(
      accept4(listeners_[function].socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  if (functions_[function]->connection() != nullptr) {
    functions_[function]->Log("a second client is sent away; the first one is served");
    return;
  }
  functions_[function]->Connect(std::move(socket));
  served_ = true;
}

}  // namespace spyre::cosim
