// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/inprocess_kernel.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/ranges.h"
#include "cosim/host/kernel_stack.h"
#include "model/contract/program.h"

namespace spyre::cosim {
namespace {

// What a process of the simulation threw, on its way to whoever runs the simulation.
std::exception_ptr uncaught;

// SystemC's own errors become ours; without this they would end the process. Warnings go to
// standard error: standard output is the report's.
void ReportHandler(const sc_core::sc_report& report, const sc_core::sc_actions& /*actions*/) {
  if (report.get_severity() == sc_core::SC_INFO) return;
  if (report.get_msg_type() == std::string_view(sc_core::SC_ID_SIMULATION_UNCAUGHT_EXCEPTION_)) {
    uncaught = std::current_exception();
    throw sc_core::sc_report(report);  // only this type leaves a process alive
  }
  if (report.get_msg_type() == std::string_view(sc_core::SC_ID_STACK_SETUP_FAILED_)) {
    throw BadInput("the processes of the simulation: {} ({}); raise 'ulimit -v'", report.get_msg(),
                   report.get_msg_type());
  }
  if (report.get_severity() >= sc_core::SC_ERROR) {
    throw InternalError("SystemC: {} ({})", report.get_msg(), report.get_msg_type());
  }
  fmt::print(stderr, "SystemC: {} ({})\n", report.get_msg(), report.get_msg_type());
}

// SystemC elaborates once in a process, and its kernel cannot be taken down and set up again.
void RequireFirst() {
  static std::atomic<bool> made{false};
  if (!made.exchange(true)) return;
  throw BadInput(
      "a card has been simulated in this process already, and SystemC elaborates only once in a "
      "process; simulate this one in a process of its own (cosim/host/child_process.h), open "
      "several functions of one card, or make all cards together (InProcessTransport::Several)");
}

// Units of cores get their threads with their first job. Whether there is room for the stacks is
// known before anything runs: a card that loses its host's memory later is a lost card.
void RequireRoomForStacks(uint64_t cores) {
  const size_t bytes = 2 * cores * kUnitCount * static_cast<size_t>(sc_core::SC_DEFAULT_STACK_SIZE);
  void* const room =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw BadInput(
        "the processes of the simulation need {} MiB of address space for their stacks; raise "
        "'ulimit -v'",
        bytes >> 20);
  }
  munmap(room, bytes);
}

}  // namespace

InProcessTransport::Kernel::Kernel() {
  RequireFirst();
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);  // standard output is the report's
  sc_core::sc_report_handler::set_handler(ReportHandler);
}

InProcessTransport::Kernel::~Kernel() {
  OnInterrupt(nullptr);
  sc_core::sc_stop();
}

std::exception_ptr InProcessTransport::Kernel::TakeUncaught() {
  return std::exchange(uncaught, nullptr);
}

model::Card& InProcessTransport::Kernel::AddCard(const CardSetup& setup) {
  const std::string number = cards_.empty() ? "" : std::to_string(cards_.size());
  cards_.push_back(
      std::make_unique<model::Card>(("card" + number).c_str(), setup.config, setup.recorder));
  bridges_.push_back(std::make_unique<HostBridge>(("host" + number).c_str()));
  if (pcie_switch_) {
    model::PcieSwitch::Port& port = pcie_switch_->AddPort(cards_.back()->endpoint());
    bridge().to_card.bind(port.from_host);
    port.to_host.bind(bridge().from_card);
  } else {
    bridge().to_card.bind(cards_.back()->endpoint().inbound);
    cards_.back()->endpoint().outbound.bind(bridge().from_card);
  }
  cards_.back()->fault.bind(bridge().card_lost);
  return *cards_.back();
}

void InProcessTransport::Kernel::AddSwitch(const model::SwitchConfig& config,
                                           const CardSetup& first, trace::Recorder* recorder) {
  pcie_switch_ = std::make_unique<model::PcieSwitch>("pcie_switch", config, first.config.pcie,
                                                     first.config.timed(), recorder);
}

void InProcessTransport::Kernel::Begin() {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborate; every process goes to sleep
  uint64_t cores = 0;
  for (const auto& card : cards_) cores += card->config().cores;
  RequireRoomForStacks(cores);
  RestoreStackBounds();
  OnInterrupt([] { sc_core::sc_pause(); });  // it sets a flag of the kernel, nothing else
}

uint64_t InProcessTransport::Kernel::pauses() const {
  uint64_t all = 0;
  for (const auto& bridge : bridges_) all += bridge->pauses();
  return all;
}

bool InProcessTransport::Kernel::at_work() const {
  return AnyFits(cards_, [](const auto& card) { return card->control().at_work(); });
}

bool InProcessTransport::Kernel::WatchLimits(bool starving) {
  bool comes = false;
  for (const auto& card : cards_) comes |= card->control().WatchLimits(starving);
  return comes;
}

}  // namespace spyre::cosim
