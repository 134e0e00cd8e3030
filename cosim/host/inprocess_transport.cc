// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/inprocess_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/host/inprocess_kernel.h"
#include "cosim/host/kernel_stack.h"

namespace spyre::cosim {

namespace {

// What software gives a link: PCI Express base specification, "Conventional Reset", where Trst is
// at least 1 ms, and configuration requests may begin 100 ms after the end of training.
constexpr uint64_t kHotResetPs = 1'000'000'000;
constexpr uint64_t kTrainingPs = 100'000'000'000;

// Where the platform puts the memory windows of cards that reach each other: clear of host memory
// as HostBridge gives it out, and of the interrupt controller.
constexpr driver::IoAddress kPeerWindows = uint64_t{1} << 44;

driver::IoAddress WindowOf(size_t card) { return kPeerWindows + card * kBar2Bytes; }

}  // namespace

InProcessTransport::InProcessTransport(std::shared_ptr<Kernel> kernel, const CardSetup& setup)
    : kernel_(std::move(kernel)),
      number_(kernel_->cards()),
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
    const std::vector<CardSetup>& cards, const model::SwitchConfig* pcie_switch,
    trace::Recorder* recorder) {
  std::vector<std::unique_ptr<InProcessTransport>> transports;
  if (cards.empty()) return transports;
  const auto kernel = std::make_shared<Kernel>();
  if (pcie_switch != nullptr) kernel->AddSwitch(*pcie_switch, cards.front(), recorder);
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
  // An interrupt pauses the kernel; here nothing waits for it, so go on until the time is over.
  const uint64_t until = model::NowPs() + ps;
  if (ended_) after_ps_ += ps;
  while (!ended_ && model::NowPs() < until) {
    // Time moves on without events when the card starves.
    if (kernel_->at_work() && !sc_core::sc_pending_activity()) kernel_->WatchLimits(true);
    const uint64_t longest = model::NowPs() + model::ControlProcessor::kWatchPs;
    Simulate(kernel_->at_work() ? std::min(until, longest) : until, sc_core::SC_RUN_TO_TIME);
    CheckCard();
  }
  RestoreStackBounds();
}

// The kernel does not run again after an exception: the card is lost as if it had been removed.
void InProcessTransport::Simulate(uint64_t until_ps, sc_core::sc_starvation_policy policy) {
  try {
    if (kernel_->sampler) {
      RunSampled(until_ps, policy);
    } else {
      sc_core::sc_start(model::Ps(until_ps - model::NowPs()), policy);
    }
  } catch (const sc_core::sc_report&) {
    ended_ = true;
    RestoreStackBounds();
    std::rethrow_exception(Kernel::TakeUncaught());
  }
  try {
    ThrowIfInterrupted();
  } catch (const Interruption&) {
    ended_ = true;  // nothing waits for what the card still has to do
    RestoreStackBounds();
    throw;
  }
  kernel_->WatchLimits(false);
}

bool InProcessTransport::Starves() {
  return ended_ || (!sc_core::sc_pending_activity() && !kernel_->WatchLimits(true));
}

// The kernel stops at each sample on the way and goes on. When it starves, its time stays where it
// is, as without samples.
void InProcessTransport::RunSampled(uint64_t until_ps, sc_core::sc_starvation_policy policy) {
  const uint64_t pauses = kernel_->pauses();
  while (model::NowPs() < until_ps && kernel_->pauses() == pauses) {
    const uint64_t now = model::NowPs();
    const uint64_t stop = std::min(until_ps, kernel_->next_sample_ps);
    const bool starves = !sc_core::sc_pending_activity();
    if (starves && policy == sc_core::SC_EXIT_ON_STARVATION) return;
    const bool beyond = !starves && sc_core::sc_time_to_pending_activity() > model::Ps(stop - now);
    // What lies beyond the whole span is the caller's to reach.
    if (beyond && stop == until_ps && policy == sc_core::SC_EXIT_ON_STARVATION) return;
    sc_core::sc_start(model::Ps(stop - now), beyond ? sc_core::SC_RUN_TO_TIME : policy);
    if (model::NowPs() != kernel_->next_sample_ps) continue;
    RestoreStackBounds();
    kernel_->next_sample_ps += kernel_->sample_interval_ps;
    kernel_->sampler();
  }
}

void InProcessTransport::SampleEvery(uint64_t interval_ps, Sampler sample) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  kernel_->sampler = std::move(sample);
  kernel_->sample_interval_ps = interval_ps;
  kernel_->next_sample_ps = (model::NowPs() / interval_ps + 1) * interval_ps;
}

void InProcessTransport::EndSampling() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  kernel_->sampler = nullptr;
}

std::string InProcessTransport::LossOfCard() const {
  return lost_ ? card_.management().fault() : "";
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

model::HostAccess::Space InProcessTransport::SpaceOfBar(int bar) {
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

uint32_t InProcessTransport::AccessNow(driver::FunctionId function, model::HostAccess::Space space,
                                       uint64_t offset, bool write, uint32_t value,
                                       uint64_t* delay_ps) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  *delay_ps = 0;
  return ended_ ? UINT32_MAX : bridge_.Access(function, space, offset, write, value, delay_ps);
}

bool InProcessTransport::TakeInterrupt(driver::FunctionId function, int vector) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return bridge_.TakeInterrupt(function, static_cast<unsigned>(vector));
}

bool InProcessTransport::HasInterrupt(driver::FunctionId function, int vector) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return bridge_.HasInterrupt(function, static_cast<unsigned>(vector));
}

bool InProcessTransport::ended() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return ended_;
}

void InProcessTransport::Check() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (!ended_) CheckCard();
}

uint32_t InProcessTransport::ConfigRead(driver::FunctionId function, uint32_t offset) {
  return Access(function, model::HostAccess::Space::kConfig, offset, false, 0);
}

void InProcessTransport::ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) {
  Access(function, model::HostAccess::Space::kConfig, offset, true, value);
}

uint32_t InProcessTransport::Read32(driver::FunctionId function, int bar, uint64_t offset) {
  return Access(function, SpaceOfBar(bar), offset, false, 0);
}

void InProcessTransport::Write32(driver::FunctionId function, int bar, uint64_t offset,
                                 uint32_t value) {
  Access(function, SpaceOfBar(bar), offset, true, value);
}

void InProcessTransport::SetPresent(bool present) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (ended_) return;
  card_.endpoint().Insert();
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

const model::PcieSwitch* InProcessTransport::pcie_switch() const { return kernel_->pcie_switch(); }

driver::IoAddress InProcessTransport::PeerWindow() const {
  return kernel_->pcie_switch() == nullptr ? 0 : WindowOf(number_);
}

driver::IoAddress InProcessTransport::MapPeer(driver::FunctionId function, unsigned peer,
                                              uint64_t offset, uint64_t size) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  model::PcieSwitch* const pcie_switch = kernel_->pcie_switch();
  if (pcie_switch == nullptr) return Transport::MapPeer(function, peer, offset, size);
  if (peer >= kernel_->cards() || peer == number_) {
    throw BadInput(
        "card {}: no peer {}; the cards behind its switch are 0 to {}, itself among them", number_,
        peer, kernel_->cards() - 1)
        .Subject(fmt::format("card {}", peer));
  }
  if (size == 0 || size > kBar2Bytes || offset > kBar2Bytes - size) {
    throw BadInput("card {}: {:#x} bytes at {:#x} of the memory window of card {}, which has {:#x}",
                   number_, size, offset, peer, kBar2Bytes);
  }
  const driver::IoAddress address = WindowOf(peer) + offset;
  pcie_switch->AllowPeer(number_, function, peer, address, size);
  return address;
}

void InProcessTransport::UnmapPeer(driver::FunctionId function, driver::IoAddress address) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  model::PcieSwitch* const pcie_switch = kernel_->pcie_switch();
  if (pcie_switch == nullptr || !pcie_switch->ForbidPeer(number_, function, address))
    Transport::UnmapPeer(function, address);
}

driver::WaitResult InProcessTransport::WaitInterrupt(driver::FunctionId function, int vector,
                                                     uint64_t deadline_ps) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  waits_ = true;
  waits_since_ps_ = model::NowPs();
  const driver::WaitResult result = Sleep(function, vector, deadline_ps);
  waits_ = false;
  waited_ps_ += model::NowPs() - waits_since_ps_;
  if (wait_log_ != nullptr && model::NowPs() > waits_since_ps_)
    wait_log_->push_back({waits_since_ps_, model::NowPs()});
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
    if (Starves()) return driver::WaitResult::kStalled;
    // The kernel leaves its time alone when it starves, and moves it to the deadline otherwise.
    const uint64_t until_ps = std::min(deadline_ps, now + model::ControlProcessor::kWatchPs);
    const bool beyond = sc_core::sc_time_to_pending_activity() > model::Ps(until_ps - now);
    Simulate(until_ps, beyond ? sc_core::SC_RUN_TO_TIME : sc_core::SC_EXIT_ON_STARVATION);
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
  return Starves();
}

HostTime InProcessTransport::host_time() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const uint64_t waited_ps = waited_ps_ + (waits_ ? model::NowPs() - waits_since_ps_ : 0);
  return {model::NowPs() - waited_ps, waited_ps};
}

void InProcessTransport::LogWaits(std::vector<HostWait>* waits) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  wait_log_ = waits;
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
