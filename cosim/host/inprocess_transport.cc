// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/inprocess_transport.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/host/kernel_stack.h"
#include "model/contract/program.h"

namespace spyre::cosim {

namespace {

// What software gives a link: PCI Express base specification, "Conventional Reset", where Trst is
// at least 1 ms, and configuration requests may begin 100 ms after the end of training.
constexpr uint64_t kHotResetPs = 1'000'000'000;
constexpr uint64_t kTrainingPs = 100'000'000'000;

model::HostAccess::Space BarSpace(int bar) {
  switch (bar) {
    case 0:
      return model::HostAccess::Space::kBar0;
    case 2:
      return model::HostAccess::Space::kBar2;
    case 4:
      return model::HostAccess::Space::kBar4;
    default:
      throw BadInput("transport: the card has BARs 0, 2 and 4, not {}", bar);
  }
}

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

// The simulation of this process, with all its modules, which last as long as it does.
class InProcessTransport::Kernel {
 public:
  Kernel() {
    RequireFirst();
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);  // standard output is the report's
    sc_core::sc_report_handler::set_handler(ReportHandler);
  }
  ~Kernel() {
    OnInterrupt(nullptr);
    sc_core::sc_stop();
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  model::Card& AddCard(const CardSetup& setup) {
    const std::string number = cards_.empty() ? "" : std::to_string(cards_.size());
    cards_.push_back(
        std::make_unique<model::Card>(("card" + number).c_str(), setup.config, setup.recorder));
    bridges_.push_back(std::make_unique<HostBridge>(("host" + number).c_str()));
    bridge().to_card.bind(cards_.back()->endpoint().inbound);
    cards_.back()->endpoint().outbound.bind(bridge().from_card);
    cards_.back()->fault.bind(bridge().card_lost);
    return *cards_.back();
  }
  HostBridge& bridge() { return *bridges_.back(); }  // of the card that was added last

  void Begin() {
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborate; every process goes to sleep
    uint64_t cores = 0;
    for (const auto& card : cards_) cores += card->config().cores;
    RequireRoomForStacks(cores);
    RestoreStackBounds();
    OnInterrupt([] { sc_core::sc_pause(); });  // it sets a flag of the kernel, nothing else
  }

  std::recursive_mutex mutex;
  bool ended = false;

 private:
  std::vector<std::unique_ptr<model::Card>> cards_;
  std::vector<std::unique_ptr<HostBridge>> bridges_;
};

InProcessTransport::InProcessTransport(std::shared_ptr<Kernel> kernel, const CardSetup& setup)
    : kernel_(std::move(kernel)),
      timing_(setup.timing),
      mutex_(kernel_->mutex),
      card_(kernel_->AddCard(setup)),
      bridge_(kernel_->bridge()),
      ended_(kernel_->ended) {}

InProcessTransport::InProcessTransport(const model::CardConfig& config, const HostTiming& timing,
                                       trace::Recorder* recorder)
    : InProcessTransport(std::make_shared<Kernel>(), CardSetup{config, timing, recorder}) {
  kernel_->Begin();
}

std::vector<std::unique_ptr<InProcessTransport>> InProcessTransport::Several(
    const std::vector<CardSetup>& cards) {
  std::vector<std::unique_ptr<InProcessTransport>> transports;
  if (cards.empty()) return transports;
  const auto kernel = std::make_shared<Kernel>();
  for (const CardSetup& setup : cards)
    transports.push_back(
        std::unique_ptr<InProcessTransport>(new InProcessTransport(kernel, setup)));
  kernel->Begin();
  return transports;
}

// Host memory may be gone from now on.
InProcessTransport::~InProcessTransport() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  bridge_.UnmapAll();
}

void InProcessTransport::Run(uint64_t ps) {
  // An interrupt pauses the kernel; here nobody waits for it, so go on until the time is over.
  const uint64_t until = model::NowPs() + ps;
  if (ended_) after_ps_ += ps;
  while (!ended_ && model::NowPs() < until) {
    Simulate(until, sc_core::SC_RUN_TO_TIME);
    CheckCard();
  }
  RestoreStackBounds();
}

// After an exception the kernel runs no more: the card is lost as if it had been removed.
void InProcessTransport::Simulate(uint64_t until_ps, sc_core::sc_starvation_policy policy) {
  try {
    sc_core::sc_start(model::Ps(until_ps - model::NowPs()), policy);
  } catch (const sc_core::sc_report&) {
    ended_ = true;
    RestoreStackBounds();
    std::rethrow_exception(std::exchange(uncaught, nullptr));
  }
  try {
    ThrowIfInterrupted();
  } catch (const Interruption&) {
    ended_ = true;  // nobody waits for what the card still has to do
    RestoreStackBounds();
    throw;
  }
}

// A card whose firmware has stopped is lost: said once, so that closing it works.
void InProcessTransport::CheckCard() {
  if (lost_ || card_.management().fault().empty()) return;
  lost_ = true;
  RestoreStackBounds();
  throw DeviceFault("{}", card_.management().fault());
}

uint32_t InProcessTransport::Access(driver::FunctionId function, model::HostAccess::Space space,
                                    uint64_t offset, bool write, uint32_t value) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Run((write ? timing_.register_write_ns : timing_.register_read_ns) * 1000);
  if (ended_) return UINT32_MAX;
  uint64_t delay = 0;
  const uint32_t result = bridge_.Access(function, space, offset, write, value, &delay);
  if (!write) Run(delay);  // writes are posted
  return result;
}

uint32_t InProcessTransport::ConfigRead(driver::FunctionId function, uint32_t offset) {
  return Access(function, model::HostAccess::Space::kConfig, offset, false, 0);
}

void InProcessTransport::ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) {
  Access(function, model::HostAccess::Space::kConfig, offset, true, value);
}

uint32_t InProcessTransport::Read32(driver::FunctionId function, int bar, uint64_t offset) {
  return Access(function, BarSpace(bar), offset, false, 0);
}

void InProcessTransport::Write32(driver::FunctionId function, int bar, uint64_t offset,
                                 uint32_t value) {
  Access(function, BarSpace(bar), offset, true, value);
}

void InProcessTransport::SetPresent(bool present) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (ended_) return;
  card_.endpoint().SetLink(present);
  if (!present) card_.endpoint().ForgetSticky();
  lost_ = false;
}

void InProcessTransport::HotReset() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (ended_) return;
  card_.endpoint().SetLink(false);
  lost_ = false;
  Run(kHotResetPs);
  card_.endpoint().SetLink(true);
  Run(kTrainingPs);
}

driver::IoAddress InProcessTransport::MapHost(driver::FunctionId function, void* host,
                                              size_t size) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return bridge_.Map(function, host, size);
}

void InProcessTransport::MapHostAt(driver::FunctionId function, driver::IoAddress address,
                                   void* host, size_t size) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  bridge_.MapAt(function, address, host, size);
}

void InProcessTransport::UnmapHost(driver::FunctionId function, driver::IoAddress address) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  bridge_.Unmap(function, address);
}

driver::WaitResult InProcessTransport::WaitInterrupt(driver::FunctionId function, int vector,
                                                     uint64_t deadline_ps) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const uint64_t start = model::NowPs();
  const driver::WaitResult result = Sleep(function, vector, deadline_ps);
  waited_ps_ += model::NowPs() - start;
  if (waits_ != nullptr && model::NowPs() > start) waits_->push_back({start, model::NowPs()});
  if (result == driver::WaitResult::kInterrupt) Run(timing_.interrupt_ns * 1000);
  return result;
}

driver::WaitResult InProcessTransport::Sleep(driver::FunctionId function, int vector,
                                             uint64_t deadline_ps) {
  for (;;) {
    if (bridge_.TakeInterrupt(function, static_cast<unsigned>(vector))) {
      return driver::WaitResult::kInterrupt;
    }
    const uint64_t now = model::NowPs();
    if (now >= deadline_ps) return driver::WaitResult::kDeadline;
    if (ended_ || !sc_core::sc_pending_activity()) return driver::WaitResult::kStalled;
    // The kernel leaves its time alone when it starves, and moves it to the deadline otherwise.
    const bool beyond = sc_core::sc_time_to_pending_activity() > model::Ps(deadline_ps - now);
    Simulate(deadline_ps, beyond ? sc_core::SC_RUN_TO_TIME : sc_core::SC_EXIT_ON_STARVATION);
    RestoreStackBounds();
    CheckCard();
  }
}

void InProcessTransport::RunUntil(uint64_t until_ps, bool when_idle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const uint64_t now = model::NowPs();
  if (ended_ || now >= until_ps) return;
  // As in Sleep: when the card starves, the kernel's time stays, unless it is told otherwise.
  const bool beyond = !idle() && sc_core::sc_time_to_pending_activity() > model::Ps(until_ps - now);
  Simulate(until_ps,
           beyond || when_idle ? sc_core::SC_RUN_TO_TIME : sc_core::SC_EXIT_ON_STARVATION);
  RestoreStackBounds();
  CheckCard();
}

bool InProcessTransport::idle() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return ended_ || !sc_core::sc_pending_activity();
}

HostTime InProcessTransport::host_time() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return {model::NowPs() - waited_ps_, waited_ps_};
}

void InProcessTransport::LogWaits(std::vector<HostWait>* waits) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  waits_ = waits;
}

uint64_t InProcessTransport::NowPs() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return model::NowPs() + after_ps_;
}

void InProcessTransport::Advance(uint64_t host_ps) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Run(host_ps);
}

std::string InProcessTransport::Diagnose() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return card_.DescribeWaits();
}

void InProcessTransport::ObserveHostWrites(HostWriteObserver observer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  bridge_.ObserveWrites(std::move(observer));
}

}  // namespace spyre::cosim
