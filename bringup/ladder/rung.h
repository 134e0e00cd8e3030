// SPDX-License-Identifier: Apache-2.0
// Rung: the fixture of every test of a bring-up ladder, and of tests that users add to it.
//
//   class Rung21MyCable : public spyre::bringup::Rung {};
//   TEST_F(Rung21MyCable, CarriesEveryPattern) { ... card().Read32(0, 2, 0) ... }
//
// A suite is called Rung, then the number of its rung, then what it is about, and at last Level and
// 2, 3 or 4 if its tests take minutes, an hour or longer. A test starts with the card as after
// power-on, but for what is in device memory. It passes, it fails by the assertions of GoogleTest
// or by an exception, or it could not run: CannotRun("the card has no ..."), from anywhere.
//
// Written against the transport, the driver and the runtime only. Addresses and sizes in bytes,
// times in picoseconds of the transport's clock. Single thread.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bringup/ladder/board.h"
#include "driver/device.h"
#include "driver/host_buffer.h"
#include "driver/pci.h"
#include "driver/physical_function.h"
#include "model/contract/control_block.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::bringup {

constexpr uint64_t kMillisecondPs = 1'000'000'000;
constexpr driver::FunctionId kVirtualFunctions = 2;  // that the tests of virtual functions use

// Memory of a test that a function reaches until the end of its scope, however that comes: what a
// card still has under way must not write where the test has put something else.
class ReachedMemory {
 public:
  ReachedMemory(driver::Transport& transport, driver::FunctionId function, void* host, size_t size)
      : transport_(transport),
        function_(function),
        address_(transport.MapHost(function, host, size)) {}
  ~ReachedMemory() {
    try {
      transport_.UnmapHost(function_, address_);
    } catch (const Error&) {
      // The card is gone, or the function and its mappings with it.
    }
  }
  ReachedMemory(const ReachedMemory&) = delete;
  ReachedMemory& operator=(const ReachedMemory&) = delete;

  driver::IoAddress address() const { return address_; }

 private:
  driver::Transport& transport_;
  const driver::FunctionId function_;
  const driver::IoAddress address_;
};

class Rung : public ::testing::Test {
 protected:
  Rung();  // resets the board
  ~Rung() override;
  void TearDown() override;  // unmaps what is mapped; call it in a TearDown of your own

  Board& board() { return TheBoard(); }
  driver::Transport& card() { return TheBoard().transport(); }
  int cores() { return board().capabilities().cores; }
  uint64_t memory_bytes() { return board().capabilities().memory_bytes; }
  // Random numbers of this test, the same for equal --seed.
  std::mt19937_64 Random(uint64_t salt = 0);

  // Ends the test: it says nothing about the card, because `why`.
  [[noreturn]] static void CannotRun(const std::string& why);
  // For tests of configuration space as the card has it: could not run where an operating system
  // keeps it.
  void RequireOwnConfigSpace();

  // A figure of the report, and a failure if it lies outside of the limits of the board for `name`.
  void Measure(const std::string& name, double value, const std::string& unit);

  // What the test has found is right, and only just: the test is marginal unless it fails.
  static void Marginal(const std::string& what) { CurrentNotes().margins.push_back(what); }
  // Marginal if one of equal times, in ns, is far from the others: something was late, or was done
  // again. `what`: "an operation, from doorbell to response".
  static void ExpectEven(const std::string& what, const std::vector<double>& times_ns);
  // The answer to an operation that must have succeeded; a failure says cause, core and place.
  void ExpectOk(const Response& response);
  // "0x819000, channel 3 bank 11", as far as it is known how addresses are spread.
  std::string PlaceOf(uint64_t address);

  // The physical function, opened by the driver at the first call.
  driver::Device& Physical(const driver::DeviceOptions& options = {});
  // A test that opens the physical function itself calls this first, because the function has one
  // owner.
  void ClosePhysical() { physical_.reset(); }

  // Enables virtual functions 1 to `count`; could not run if the card has fewer.
  void EnableVirtualFunctions(driver::FunctionId count = kVirtualFunctions);
  // Calls `enable`; could not run if the card has fewer than `count`, or if the system has no
  // SR-IOV.
  void RequireVirtualFunctions(driver::FunctionId count, const std::function<void()>& enable);
  // Enables, and gives each one region r at RegionBase of `region_bytes`, for r < regions, in
  // place of the regions that they had: those outlive resets.
  void EnableVfs(uint64_t region_bytes = 16 << 20, int regions = kRegions,
                 driver::FunctionId count = kVirtualFunctions);
  // (vf - 1) * 4 GiB + region * 512 MiB
  static uint64_t RegionBase(driver::FunctionId vf, int region) {
    return (static_cast<uint64_t>(vf - 1) << 32) + (static_cast<uint64_t>(region) << 29);
  }

  // The runtime on one function; a virtual function needs EnableVfs first.
  std::unique_ptr<flex::RuntimeContext> Runtime(driver::FunctionId function);

  // Memory of the test that the function's DMA reaches; unmapped at the latest when the test ends.
  driver::IoAddress MapHost(driver::FunctionId function, void* host, size_t size);
  void UnmapHost(driver::FunctionId function, driver::IoAddress address);
  // Whole pages of at least `size` bytes, whose neighbours on both sides are not mapped.
  struct LonelyMemory {
    std::unique_ptr<driver::HostBuffer> buffer;
    driver::IoAddress begin = 0, end = 0;  // of what the card reaches
  };
  LonelyMemory MapLonely(driver::FunctionId function, size_t size);

  driver::FunctionRegisters Registers(driver::FunctionId function) {
    return driver::FunctionRegisters(driver::Bar0{&card(), function});
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
  std::unique_ptr<driver::Device> physical_;
  std::set<std::pair<driver::FunctionId, driver::IoAddress>> mapped_;
};

// `size` bytes that repeat for equal seeds.
std::vector<uint8_t> RandomBytes(size_t size, uint32_t seed);

}  // namespace spyre::bringup
