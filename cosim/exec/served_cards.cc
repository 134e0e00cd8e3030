// SPDX-License-Identifier: Apache-2.0
#include "cosim/exec/served_cards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLost = "lost ";

}  // namespace

std::vector<std::string> KeysOfServedCards(const ServedCardsChoice& choice) {
  std::vector<std::string> keys;
  if (choice.config.empty()) {
    keys = {"card.mode=pf", "card.pcie.card_posted_headers=64", "card.pcie.card_posted_data=512"};
  }
  keys.push_back(fmt::format("cards.count={}", choice.count));
  keys.insert(keys.end(), choice.sets.begin(), choice.sets.end());
  return keys;
}

ServedCards::ServedCards(const ServedCardsChoice& choice,
                         std::function<void(const std::string&)> lost) {
  std::string place = (fs::temp_directory_path() / "spyre-exec-XXXXXX").string();
  if (mkdtemp(place.data()) == nullptr)
    throw BadInput("cannot make a directory as {}: {}", place, std::strerror(errno));
  directory_ = place;
  fs::create_directories(choice.out);
  log_ = choice.out + "/serve.log";
  try {
    Start(choice);
    while (true) {
      const std::string line = ReadLine();
      if (line == "serving") break;
      if (!line.empty()) continue;
      throw BadInput("the cards cannot be served: {}", ReadFile(log_, "log", 1 << 20));
    }
  } catch (...) {
    End();
    throw;
  }
  listener_ = std::thread([this, tell = std::move(lost)] { Listen(tell); });
}

ServedCards::~ServedCards() { End(); }

void ServedCards::Start(const ServedCardsChoice& choice) {
  std::vector<std::string> words = {"spyre-cosim", "serve"};
  if (!choice.config.empty()) words.push_back(choice.config);
  for (const std::string& key : KeysOfServedCards(choice)) {
    words.emplace_back("--set");
    words.push_back(key);
  }
  for (const std::string& card : choice.cards) {
    words.emplace_back("--card");
    words.push_back(card);
  }
  const std::vector<std::string> rest = {
      "--vfio-user", directory_, "--time",    "lockstep",    "--below", std::to_string(getpid()),
      "--out",       choice.out, "--program", choice.program};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw BadInput("cannot make a pipe: {}", std::strerror(errno));
  said_ = Descriptor(ends[0]);
  const Descriptor says(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, says.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log_.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  // What the terminal sends is for the program; the server ends behind it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error =
      posix_spawn(&server_, "/proc/self/exe", &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return;
  server_ = 0;
  throw BadInput("the server of the cards cannot be started: {}", std::strerror(error));
}

// "": the server has ended.
std::string ServedCards::ReadLine() {
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> bytes{};
    const ssize_t got = read(said_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    buffer_.append(bytes.data(), static_cast<size_t>(got));
  }
}

void ServedCards::Listen(const std::function<void(const std::string&)>& lost) {
  for (std::string line = ReadLine(); !line.empty(); line = ReadLine()) {
    if (line.compare(0, kLost.size(), kLost) != 0 || !lost_.empty()) continue;
    lost_ = line.substr(kLost.size());
    lost(lost_);
  }
}

void ServedCards::End() {
  if (server_ > 0) {
    kill(server_, SIGTERM);
    while (waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
    }
    server_ = 0;
  }
  if (listener_.joinable()) listener_.join();
  std::error_code error;
  if (!directory_.empty()) fs::remove_all(directory_, error);
}

}  // namespace spyre::cosim
