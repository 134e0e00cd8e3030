// SPDX-License-Identifier: Apache-2.0
#include "sdk/card/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sdk/kept/kept_bundle.h"

namespace spyre::sdk {
namespace {

constexpr size_t kMaxDevices = 127;  // as PyTorch numbers devices
constexpr size_t kFirstBus = 0x10;   // that a modelled card is on

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <typename Take>
void ForEachPart(std::string_view text, std::string_view separators, const Take& take) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (const std::string_view part = Trimmed(text.substr(0, end)); !part.empty()) take(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

size_t NumberOf(const char* variable, std::string_view text) {
  const std::string_view digits = Trimmed(text);
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number > kMaxDevices) {
    throw BadInput("{} = '{}': a number of cards from 0 to {} is expected", variable, text,
                   kMaxDevices)
        .Subject(variable);
  }
  return number;
}

uint64_t Bytes(const std::string& text) {
  uint64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc() || stop != end)
    throw BadInput("{} = '{}': a number of bytes is expected", kKeepVariable, text)
        .Subject(kKeepVariable);
  return bytes;
}

// Those that SPYRE_DEVICES names and that are among the first `devices`, in its order, each once.
std::vector<size_t> ChosenCards(size_t devices) {
  std::vector<size_t> chosen;
  ForEachPart(Variable("SPYRE_DEVICES"), ",", [&](std::string_view part) {
    const size_t number = NumberOf("SPYRE_DEVICES", part);
    if (number < devices && std::find(chosen.begin(), chosen.end(), number) == chosen.end())
      chosen.push_back(number);
  });
  return chosen;
}

std::string FlexDevice() {
  std::string device = Variable("FLEX_DEVICE");
  if (device.empty() || device == "PF" || device == "VF" || device == "MOCK") return device;
  throw BadInput("FLEX_DEVICE = '{}': PF, VF or MOCK is expected", device).Subject("FLEX_DEVICE");
}

// The words that started this process, as the system has them.
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

// How many cards there are for SPYRE_DEVICES to choose from.
size_t CardsOfHost() {
  const std::string world = Variable("AIU_WORLD_SIZE");
  if (FlexDevice() == "MOCK") {
    const size_t devices = world.empty() ? 0 : NumberOf("AIU_WORLD_SIZE", world);
    if (devices >= 1) return devices;
    throw BadInput("FLEX_DEVICE = MOCK needs AIU_WORLD_SIZE of at least 1; it is '{}'", world)
        .Subject("AIU_WORLD_SIZE");
  }
  const std::string own = Variable("SPYRE_COSIM_DEVICES");
  const size_t devices = own.empty() ? 1 : NumberOf("SPYRE_COSIM_DEVICES", own);
  return world.empty() ? devices : std::min(devices, NumberOf("AIU_WORLD_SIZE", world));
}

// Of several processes of the host, each drives a card of its own.
void CheckCards(size_t device, size_t processes) {
  const size_t cards = NumDevices();
  if (processes > cards) {
    throw BadInput(
        "LOCAL_WORLD_SIZE = {}: {} processes need a card each, and there are {} (exec --cards {}, "
        "SPYRE_DEVICES = '{}', AIU_WORLD_SIZE = '{}')",
        processes, processes, cards, Variable("SPYRE_COSIM_DEVICES"), Variable("SPYRE_DEVICES"),
        Variable("AIU_WORLD_SIZE"))
        .Subject("LOCAL_WORLD_SIZE");
  }
  const size_t own = CardOfDevice(device);
  for (size_t other = 0; other < processes; ++other) {
    if (other == device || CardOfDevice(other) != own) continue;
    throw BadInput(
        "devices {} and {} are both card {}, {}: each process needs a card of its own; look at "
        "AIU_WORLD_RANK_{} and AIU_WORLD_RANK_{}",
        std::min(device, other), std::max(device, other), own, PciAddress(own),
        std::min(device, other), std::max(device, other))
        .Subject(fmt::format("AIU_WORLD_RANK_{}", device));
  }
}

}  // namespace

CardRequest RequestOfEnvironment(size_t device_of_process) {
  CardRequest request;
  request.card = CardOfDevice(device_of_process);
  if (const std::string rank = Variable("RANK"); !rank.empty()) request.rank = "rank " + rank;
  if (const std::string ranks = Variable("LOCAL_WORLD_SIZE"); !ranks.empty())
    request.ranks = std::max(1u, static_cast<unsigned>(NumberOf("LOCAL_WORLD_SIZE", ranks)));
  request.config = Variable("SPYRE_COSIM_CONFIG");
  ForEachPart(Variable("SPYRE_COSIM_SET"), ";\n",
              [&](std::string_view set) { request.sets.emplace_back(set); });
  request.out = Variable("SPYRE_COSIM_OUT");
  request.where = Variable("SPYRE_COSIM_CARD");
  if (request.where == "model") request.where.clear();
  if (!request.where.empty() && request.ranks > 1) CheckCards(device_of_process, request.ranks);
  const std::string device = FlexDevice();
  if (device == "PF") request.function = "pf";
  if (device == "VF") request.function = "vf";
  request.program = CommandLine();
  if (const std::string keep = Variable(kKeepVariable); !keep.empty())
    request.keep_bytes = Bytes(keep);
  if (const std::string verify = Variable("SPYRE_COSIM_VERIFY"); !verify.empty()) {
    if (verify != "none" && verify != "sample" && verify != "full") {
      throw BadInput("SPYRE_COSIM_VERIFY = '{}': none, sample or full is expected", verify)
          .Subject("SPYRE_COSIM_VERIFY");
    }
    request.verify = verify;
  }
  return request;
}

size_t NumDevices() {
  const size_t devices = CardsOfHost();
  return Variable("SPYRE_DEVICES").empty() ? devices : ChosenCards(devices).size();
}

size_t LocalRank() {
  const std::string rank = Variable("LOCAL_RANK");
  return rank.empty() ? 0 : NumberOf("LOCAL_RANK", rank);
}

std::string PciAddress(size_t card) { return fmt::format("0000:{:02x}:00.0", kFirstBus + card); }

size_t CardOfDevice(size_t device) {
  const std::string variable = fmt::format("AIU_WORLD_RANK_{}", device);
  if (const std::string address = Variable(variable.c_str()); !address.empty()) {
    for (size_t card = 0; card <= kMaxDevices; ++card) {
      if (PciAddress(card) == address) return card;
    }
    throw BadInput("{} = '{}': the PCI address of a modelled card is expected, {} of the first one",
                   variable, address, PciAddress(0))
        .Subject(variable);
  }
  if (Variable("SPYRE_DEVICES").empty()) return device;
  const std::vector<size_t> chosen = ChosenCards(CardsOfHost());
  if (device >= chosen.size()) {
    throw BadInput("SPYRE_DEVICES = '{}': it has no card for device {}", Variable("SPYRE_DEVICES"),
                   device)
        .Subject("SPYRE_DEVICES");
  }
  return chosen[device];
}

}  // namespace spyre::sdk
