// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "driver/physical_function.h"
#include "model/fault/fault_injector.h"
#include "tests/soak/soak_worker.h"

namespace spyre::cosim {

namespace {

constexpr uint64_t kMostFunctions = 8;
constexpr double kHourPs = 3.6e15;
constexpr uint64_t kTensorRegionBytes = 1ull << 30;
constexpr uint64_t kProgramRegionBytes = 64ull << 20;
constexpr int kProgramRegion = 7;

class SoakRun {
 public:
  SoakRun(InProcessTransport& transport, const flex::RuntimeOptions& options, const SoakPlan& plan)
      : transport_(transport), options_(options), plan_(plan), random_(plan.seed) {
    const uint64_t there = std::min(kMostFunctions, transport.card().config().num_vfs);
    if (plan.functions == 0 || plan.functions > there) {
      throw BadInput("soak: {} virtual functions; this card can have 1 to {}", plan.functions,
                     there)
          .Subject("functions")
          .Value(plan.functions);
    }
    const uint64_t needed = plan.functions * (7 * kTensorRegionBytes + kProgramRegionBytes);
    if (transport.card().config().usable_bytes() < needed) {
      throw BadInput("soak: {} functions take {} MiB of device memory; this card has {} MiB",
                     plan.functions, needed >> 20, transport.card().config().usable_bytes() >> 20);
    }
    for (uint64_t i = 1; i <= plan.functions; ++i) {
      workers_.push_back(std::make_unique<SoakWorker>(transport, static_cast<driver::FunctionId>(i),
                                                      options, &result_.counts));
    }
    OpenCard();
  }

  SoakResult Run(const std::function<void(uint64_t)>& progress) {
    const auto end = static_cast<uint64_t>(plan_.hours * kHourPs);
    const auto step = static_cast<uint64_t>(kHourPs / static_cast<double>(plan_.checks_per_hour));
    const double pause_ps = kHourPs / static_cast<double>(plan_.bursts_per_hour);
    std::exponential_distribution<double> pause(1 / pause_ps);
    Look();
    uint64_t next = step;
    while (transport_.NowPs() < end) {
      ThrowIfInterrupted();
      SoakWorker& worker = *workers_[random_() % workers_.size()];
      ++result_.counts.bursts;
      worker.Burst(random_);
      if (OneIn(plan_.bursts_per_reset)) {
        worker.Reset();
      } else if (OneIn(plan_.bursts_per_owner)) {
        ChangeOwner(worker);
      } else if (OneIn(plan_.bursts_per_card_reset)) {
        ResetCard();
      } else if (OneIn(2)) {
        worker.Drain();
      }
      const uint64_t until =
          std::min(end, transport_.NowPs() + static_cast<uint64_t>(pause(random_)));
      if (until > transport_.NowPs()) transport_.Advance(until - transport_.NowPs());
      if (transport_.NowPs() < next && transport_.NowPs() < end) continue;
      while (next <= transport_.NowPs()) next += step;
      Look();
      if (progress) progress(std::min<uint64_t>(1000, transport_.NowPs() / (end / 1000 + 1)));
    }
    result_.findings = JudgeSoak(result_.samples);
    CountFaults();
    if (result_.counts.errors > result_.counts.detected) {
      result_.findings.push_back(fmt::format("{} errors that nothing explains; the last: {}",
                                             result_.counts.errors, result_.counts.last_error));
    }
    for (const auto& worker : workers_) worker->Close();
    return std::move(result_);
  }

 private:
  bool OneIn(uint64_t n) { return n != 0 && random_() % n == 0; }

  void CountFaults() {
    const model::FaultInjector* const faults = transport_.card().faults();
    if (faults == nullptr) return;
    for (const model::Injection& injection : faults->injections()) {
      ++result_.counts.faults;
      if (injection.outcome == model::FaultOutcome::kDetected) ++result_.counts.detected;
      if (injection.outcome == model::FaultOutcome::kCorrected) ++result_.counts.corrected;
    }
  }

  // How long the work takes that is always the same. A fault may make it longer now and then.
  uint64_t ReferencePs() {
    SoakWorker& worker = *workers_.front();
    worker.Reference();  // LX may have been another function's, and is cleared first
    uint64_t least_ps = worker.Reference();
    constexpr int kMoreWithFaults = 4;
    for (int i = 0; i < kMoreWithFaults && transport_.card().faults() != nullptr; ++i)
      least_ps = std::min(least_ps, worker.Reference());
    return least_ps;
  }

  void OpenCard() {
    admin_ = std::make_unique<driver::Device>(transport_, 0, options_.device);
    driver::PhysicalFunction(*admin_).EnableVirtualFunctions(static_cast<int>(plan_.functions));
    for (const auto& worker : workers_) {
      Give(worker->function());
      worker->Open();
    }
  }
  static uint64_t BaseOf(driver::FunctionId function) {
    return (function - 1) * (7 * kTensorRegionBytes + kProgramRegionBytes);
  }
  void Give(driver::FunctionId function) {
    driver::PhysicalFunction manager(*admin_);
    for (int region = 0; region < kProgramRegion; ++region) {
      manager.AssignRegion(function, region,
                           BaseOf(function) + static_cast<uint64_t>(region) * kTensorRegionBytes,
                           kTensorRegionBytes);
    }
    manager.AssignRegion(function, kProgramRegion, BaseOf(function) + 7 * kTensorRegionBytes,
                         kProgramRegionBytes);
  }

  void ChangeOwner(SoakWorker& worker) {
    ++result_.counts.owners;
    worker.Close();
    transport_.Reset(worker.function());
    transport_.Advance(static_cast<uint64_t>(options_.device.reset_wait_ns * 1000));
    driver::PhysicalFunction manager(*admin_);
    for (int region = 0; region <= kProgramRegion; ++region)
      manager.ReleaseRegion(worker.function(), region);
    Give(worker.function());
    worker.Open();
  }

  // The firmware starts again, and counts from 0.
  void ResetCard() {
    ++result_.counts.card_resets;
    for (const auto& worker : workers_) worker->Close();
    counted_ += Counter(Counter::MESSAGES);
    counted_bytes_ += Counter(Counter::BYTES);
    admin_.reset();
    transport_.HotReset();
    OpenCard();
  }
  uint64_t Counter(spyre::Counter counter) {
    uint64_t sum = 0;
    for (const auto& worker : workers_)
      sum += driver::PhysicalFunction(*admin_).ReadCounter(counter, worker->function());
    return sum;
  }

  void Look() {
    for (const auto& worker : workers_) worker->Drain();
    SoakSample sample;
    sample.reference_ps = ReferencePs();
    for (const auto& worker : workers_) {
      sample.outstanding += worker->outstanding();
      sample.allocations += worker->allocations();
      sample.given += worker->given();
      sample.answered += worker->answered();
      sample.given_bytes += worker->given_bytes();
      sample.answered_bytes += worker->answered_bytes();
    }
    sample.counted = counted_ + Counter(spyre::Counter::MESSAGES);
    sample.counted_bytes = counted_bytes_ + Counter(spyre::Counter::BYTES);
    sample.card_is_idle = transport_.Diagnose().empty();
    sample.host_mappings = transport_.bridge().mappings();
    sample.time_ps = transport_.NowPs();
    sample.device_ps = admin_->ReadTimePs();
    sample.resident_bytes = ResidentBytes();
    result_.samples.push_back(sample);
  }

  InProcessTransport& transport_;
  const flex::RuntimeOptions options_;
  const SoakPlan plan_;
  std::mt19937_64 random_;
  SoakResult result_;
  std::unique_ptr<driver::Device> admin_;
  std::vector<std::unique_ptr<SoakWorker>> workers_;
  uint64_t counted_ = 0, counted_bytes_ = 0;  // by firmware that runs no more
};

}  // namespace

SoakResult Soak(InProcessTransport& transport, const flex::RuntimeOptions& options,
                const SoakPlan& plan, const std::function<void(uint64_t)>& progress) {
  return SoakRun(transport, options, plan).Run(progress);
}

}  // namespace spyre::cosim
