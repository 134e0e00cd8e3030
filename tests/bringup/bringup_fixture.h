// SPDX-License-Identifier: Apache-2.0
// What every rung of the bring-up ladder starts from: a card after power-on, and short names for
// the steps that are not the rung's own subject. Written against the transport, the driver and the
// runtime only; addresses and sizes in bytes, times in picoseconds of the card's clock.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "driver/device.h"
#include "driver/pci.h"
#include "driver/physical_function.h"
#include "model/contract/control_block.h"
#include "runtime/flex/runtime_context.h"
#include "tests/bringup/backend.h"

namespace spyre::bringup {

constexpr uint64_t kMillisecondPs = 1'000'000'000;

class Bringup : public ::testing::Test {
 protected:
  // For a test that opens the physical function itself: it has one owner.
  void ClosePhysical() { physical_.reset(); }
  // The physical function, opened by the driver.
  driver::Device& Physical(const driver::DeviceOptions& options = {}) {
    if (!physical_) physical_ = std::make_unique<driver::Device>(card(), 0, options);
    return *physical_;
  }

  // Enables both virtual functions and gives each one region r at (vf - 1) * 4 GiB + r * 512 MiB of
  // `region_bytes`, for r < regions.
  void EnableVfs(uint64_t region_bytes = 16 << 20, int regions = kRegions) {
    driver::PhysicalFunction manager(Physical());
    manager.EnableVirtualFunctions(kVirtualFunctions);
    for (driver::FunctionId vf = 1; vf <= kVirtualFunctions; ++vf) {
      for (int region = 0; region < regions; ++region) {
        manager.AssignRegion(vf, region, RegionBase(vf, region), region_bytes);
      }
    }
  }
  static uint64_t RegionBase(driver::FunctionId vf, int region) {
    return (static_cast<uint64_t>(vf - 1) << 32) + (static_cast<uint64_t>(region) << 29);
  }

  // The runtime on one function; a virtual function needs EnableVfs first.
  std::unique_ptr<flex::RuntimeContext> Runtime(driver::FunctionId function) {
    return std::make_unique<flex::RuntimeContext>(card(), function, flex::RuntimeOptions{});
  }

  driver::Transport& card() { return *transport_; }
  driver::FunctionRegisters Registers(driver::FunctionId function) {
    return driver::FunctionRegisters(driver::Bar0{transport_.get(), function});
  }
  uint32_t Config(driver::FunctionId function, uint32_t offset) {
    return card().ConfigRead(function, offset);
  }
  // Enables memory and bus master of a function without the driver.
  void EnableBars(driver::FunctionId function) {
    card().ConfigWrite(function, driver::pci::kCommandStatus,
                       driver::pci::kCommandMemory | driver::pci::kCommandBusMaster);
  }
  // The message of the Error that `action` must throw.
  template <typename Action>
  static std::string FailureOf(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  std::unique_ptr<driver::Transport> transport_ = OpenBackend();
  std::unique_ptr<driver::Device> physical_;
};

// `size` bytes that repeat for equal seeds.
inline std::vector<uint8_t> RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace spyre::bringup
