// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/rung.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre::bringup {
namespace {

// What ends a test that could not run; the ladder has read the reason before it sees this.
class CouldNotRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace

Rung::Rung() { TheBoard().Reset(); }

Rung::~Rung() { Rung::TearDown(); }

void Rung::TearDown() {
  physical_.reset();
  for (const auto& [function, address] : mapped_) {
    try {
      card().UnmapHost(function, address);
    } catch (const Error&) {
      // The card is gone, or the function and its mappings with it.
    }
  }
  mapped_.clear();
}

std::mt19937_64 Rung::Random(uint64_t salt) {
  return std::mt19937_64(board().seed() * 0x9E3779B97F4A7C15 + salt);
}

void Rung::CannotRun(const std::string& why) {
  CurrentNotes().could_not_run = why;
  throw CouldNotRun("could not run: " + why);
}

void Rung::RequireOwnConfigSpace() {
  if (board().backend().system_owns_config) {
    CannotRun("the operating system keeps BARs, Command and capabilities of configuration space");
  }
}

void Rung::Measure(const std::string& name, double value, const std::string& unit) {
  const Measurement measured{name, unit, value, board().LimitsOf(name)};
  CurrentNotes().measurements.push_back(measured);
  if (measured.within()) return;
  ADD_FAILURE() << fmt::format("{} is {:.6g} {}; it should be {:.6g} to {:.6g}", name, value, unit,
                               measured.limits->low, measured.limits->high);
}

void Rung::ExpectEven(const std::string& what, const std::vector<double>& times_ns) {
  constexpr double kRoomNs = 300, kRoom = 1.25;  // what turns and refreshes of memory cost
  std::vector<double> sorted = times_ns;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted.at(sorted.size() / 2);
  const auto slowest = std::max_element(times_ns.begin(), times_ns.end());
  if (*slowest <= kRoom * median + kRoomNs) return;
  Marginal(fmt::format("{}: number {} of {} took {:.0f} ns, half of them {:.0f} ns or less", what,
                       slowest - times_ns.begin() + 1, times_ns.size(), *slowest, median));
}

std::string Rung::PlaceOf(uint64_t address) {
  const auto& expected = board().backend().expected;
  if (!expected || !expected->place) return fmt::format("{:#x}", address);
  const MemoryPlace place = expected->place(address);
  return fmt::format("{:#x}, channel {} bank {}", address, place.channel, place.bank);
}

void Rung::ExpectOk(const Response& response) {
  const auto status = static_cast<spyre::Status>(response.status);
  if (status == spyre::Status::OK) return;
  std::string text =
      fmt::format("{} ended with {} at {}", OpcodeName(static_cast<Opcode>(response.opcode)),
                  StatusName(status), PlaceOf(response.fault_address));
  if (response.fault_core != kNoCore) text += fmt::format(", core {}", response.fault_core);
  ADD_FAILURE() << text;
}

driver::Device& Rung::Physical(const driver::DeviceOptions& options) {
  if (!physical_) physical_ = std::make_unique<driver::Device>(card(), 0, options);
  return *physical_;
}

void Rung::EnableVirtualFunctions(driver::FunctionId count) {
  RequireVirtualFunctions(
      count, [&] { driver::PhysicalFunction(Physical()).EnableVirtualFunctions(count); });
}

void Rung::RequireVirtualFunctions(driver::FunctionId count, const std::function<void()>& enable) {
  const int there = board().capabilities().virtual_functions;
  if (there < count) {
    CannotRun(fmt::format("the card has {} virtual functions, and this takes {}", there, count));
  }
  try {
    enable();
  } catch (const Error& error) {
    // What the host's system does not do says nothing about the card.
    if (error.kind() != ErrorKind::kBadInput || !board().backend().system_owns_config) throw;
    CannotRun(error.what());
  }
}

void Rung::EnableVfs(uint64_t region_bytes, int regions, driver::FunctionId count) {
  const uint64_t end = RegionBase(count, regions - 1) + region_bytes;
  if (memory_bytes() < end) {
    CannotRun(fmt::format("regions up to {} MiB; the card has {} MiB of memory", end >> 20,
                          memory_bytes() >> 20));
  }
  EnableVirtualFunctions(count);
  driver::PhysicalFunction manager(Physical());
  for (driver::FunctionId vf = 1; vf <= count; ++vf) {
    for (int region = 0; region < kRegions; ++region) manager.ReleaseRegion(vf, region);
  }
  for (driver::FunctionId vf = 1; vf <= count; ++vf) {
    for (int region = 0; region < regions; ++region)
      manager.AssignRegion(vf, region, RegionBase(vf, region), region_bytes);
  }
}

std::unique_ptr<flex::RuntimeContext> Rung::Runtime(driver::FunctionId function) {
  return std::make_unique<flex::RuntimeContext>(card(), function, flex::RuntimeOptions{});
}

driver::IoAddress Rung::MapHost(driver::FunctionId function, void* host, size_t size) {
  const driver::IoAddress address = card().MapHost(function, host, size);
  mapped_.emplace(function, address);
  return address;
}

void Rung::UnmapHost(driver::FunctionId function, driver::IoAddress address) {
  card().UnmapHost(function, address);
  mapped_.erase({function, address});
}

// Three buffers, of which the outer ones go again. Where mappings are whole pages they may touch,
// and then the pages around the middle one are those of the outer ones.
Rung::LonelyMemory Rung::MapLonely(driver::FunctionId function, size_t size) {
  const uint64_t page = card().dma_rules().page_bytes;
  const uint64_t bytes = (size + page - 1) / page * page;
  const driver::HostBuffer below(card(), function, page);
  auto middle = std::make_unique<driver::HostBuffer>(card(), function, bytes);
  const driver::HostBuffer above(card(), function, page);
  const driver::IoAddress begin = middle->io_address(), end = begin + bytes;
  if (page > 1 && (below.io_address() + page != begin || above.io_address() != end)) {
    CannotRun("other memory is mapped beside that of the test");
  }
  return {std::move(middle), begin, end};
}

std::vector<uint8_t> RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace spyre::bringup
