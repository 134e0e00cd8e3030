// SPDX-License-Identifier: Apache-2.0
// Hostile virtual functions beside working tenants, on every kind of control processor and
// management controller. What must hold is in docs/security.md.
//
// A campaign: SPYRE_HOSTILE_OPERATIONS is how many operations each test does (by default a few
// hundred), SPYRE_FUZZ_SEED chooses others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/ranges.h"
#include "driver/physical_function.h"
#include "tests/card_choices.h"
#include "tests/fuzz/hostile/intruder.h"
#include "tests/fuzz/hostile/tenant.h"

namespace spyre::fuzz::hostile_test {
namespace {

using Kind = std::tuple<const char*, const char*, const char*>;  // control, management, concurrency

class HostileFunction : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr uint8_t kCanary = 0xC3;
  static constexpr uint64_t kGuardBytes = 64 << 10;
  // A program that does not end is stopped after this, and others have their turns.
  static constexpr uint64_t kLimitUs = 100;
  // A round of a tenant has four operations at most, and none of them waits longer than for a
  // program of each intruder on the cores and one on the service core. Nobody resets an intruder.
  static constexpr uint64_t kBoundPs = 4 * 2 * 2 * kLimitUs * 1'000'000;

  void SetUp() override {
    model::CardConfig config;
    config.num_vfs = kFunctions;
    config.control.fidelity = test::Named(std::get<0>(GetParam()));
    config.management.fidelity = test::Named(std::get<1>(GetParam()));
    config.concurrency = test::Named(std::get<2>(GetParam()));
    config.control.operation_limit_us = kLimitUs;
    transport_ = std::make_unique<cosim::InProcessTransport>(config, cosim::HostTiming{}, nullptr);
    operator_ = std::make_unique<driver::Device>(*transport_, 0);
    Manager().MapRange(kPlacesBase, kPlaces.size() * kPlaceBytes,
                       kPermissionRead | kPermissionWrite);
    view_ = std::make_unique<driver::HostBuffer>(*transport_, 0, kPlaces.size() * kPlaceBytes);
    for (size_t place = 0; place < kPlaces.size(); ++place) Fill(PlaceBase(place));
    Manager().EnableVirtualFunctions(kFunctions);
    for (const Place& place : kPlaces) {
      if (place.function != 0) Assign(place.function, place.region);
    }
    for (driver::FunctionId function = 0; function <= kFunctions; ++function) {
      guards_.push_back(std::make_unique<driver::HostBuffer>(*transport_, function, kGuardBytes));
      std::fill_n(guards_.back()->data(), kGuardBytes, kCanary);
    }
    for (const driver::FunctionId vf : kTenants)
      tenants_.push_back(std::make_unique<Tenant>(*transport_, vf, 1000 + vf));
  }

  void Invite(size_t count) {
    std::vector<const Secret*> secrets;
    std::vector<driver::IoAddress> addresses;
    for (const auto& tenant : tenants_) {
      secrets.push_back(&tenant->secret());
      addresses.push_back(tenant->host_address());
    }
    for (const auto& guard : guards_) addresses.push_back(guard->io_address());
    for (size_t i = 0; i < count; ++i) {
      intruders_.push_back(std::make_unique<Intruder>(
          *transport_, kIntruders[i], static_cast<uint32_t>(77 + i), secrets, addresses));
    }
  }

  // `operations` of the intruders in turn. Tenants work all the time.
  void Run(uint64_t operations) {
    Chaos chaos(5);
    for (uint64_t i = 0; i < operations && !Failed(); ++i) {
      intruders_[i % intruders_.size()]->Act();
      transport_->Advance(chaos.OneIn(32) ? chaos.Below(20'000'000) : chaos.Below(1'000'000));
      for (const auto& tenant : tenants_) tenant->Step();
      Watch();
      if (i % 512 == 511) Lend();
      if (i % 2048 == 2047) Audit();
    }
    if (!Failed()) Finish();
    if (!Failed()) Audit();
    for (const auto& intruder : intruders_) {
      if (Failed()) break;
      intruder->Inspect();
      EXPECT_EQ(intruder->found(), "");
    }
  }

  bool Failed() {
    for (const auto& intruder : intruders_) EXPECT_EQ(intruder->found(), "");
    return HasFailure();
  }

  void Watch() {
    for (const auto& tenant : tenants_) {
      ASSERT_TRUE(tenant->idle() || transport_->NowPs() - tenant->begun_ps() <= kBoundPs)
          << "function " << tenant->function() << " waits too long\n"
          << transport_->Diagnose();
    }
  }
  bool TenantsAreIdle() const {
    return AllFit(tenants_, [](const auto& tenant) { return tenant->idle(); });
  }
  void LetTenantsEnd(uint64_t deadline_ps) {
    while (!HasFailure() && !TenantsAreIdle() && transport_->NowPs() < deadline_ps) {
      transport_->Advance(1'000'000);
      for (const auto& tenant : tenants_) tenant->Step(false);
    }
  }
  void Finish() {
    LetTenantsEnd(transport_->NowPs() + kBoundPs);
    ASSERT_TRUE(TenantsAreIdle()) << transport_->Diagnose();
  }

  // A region of a tenant goes to an intruder and back: each time it must be clear.
  void Lend() {
    const auto& tenant = tenants_[lent_ % tenants_.size()];
    const auto& intruder = intruders_[lent_ % intruders_.size()];
    ++lent_;
    const uint64_t place = PlaceOf(tenant->function(), 2);
    Finish();
    tenant->LeaveInSpare();
    Finish();
    if (HasFailure()) return;
    Manager().ReleaseRegion(tenant->function(), 2);
    Manager().AssignRegion(intruder->function(), 2, place, kPlaceBytes);
    intruder->Inspect();
    Manager().ReleaseRegion(intruder->function(), 2);
    Manager().AssignRegion(tenant->function(), 2, place, kPlaceBytes);
    View(place, kPlaceBytes);
    ASSERT_TRUE(std::all_of(view_->data(), view_->data() + kPlaceBytes,
                            [](uint8_t byte) { return byte == 0; }))
        << "memory that function " << tenant->function() << " has got back";
  }

  // Nobody's memory has changed.
  void Audit() {
    for (size_t place = 0; place < kPlaces.size(); ++place) {
      if (kPlaces[place].function != 0) continue;
      View(PlaceBase(place), kPlaceBytes);
      ASSERT_TRUE(std::all_of(view_->data(), view_->data() + kPlaceBytes,
                              [](uint8_t byte) { return byte == kCanary; }))
          << "device memory of nobody, at " << PlaceBase(place);
    }
    for (size_t function = 0; function < guards_.size(); ++function) {
      const driver::HostBuffer& guard = *guards_[function];
      const bool whole = std::all_of(guard.data(), guard.data() + kGuardBytes,
                                     [](uint8_t byte) { return byte == kCanary; });
      const bool own = function == kIntruders[0] || function == kIntruders[1];
      ASSERT_TRUE(own || whole) << "host memory of function " << function;
    }
  }

  driver::PhysicalFunction Manager() { return driver::PhysicalFunction(*operator_); }
  void Assign(driver::FunctionId function, int region) {
    Manager().AssignRegion(function, region, PlaceOf(function, region), kPlaceBytes);
  }
  void Do(Opcode opcode, uint64_t address, uint64_t bytes) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.host_address = view_->io_address();
    block.device_address = address;
    block.size_bytes = bytes;
    block.value = 0x0101010101010101ull * kCanary;
    driver::Entry entry = block;
    operator_->queue().Submit(entry);
    ASSERT_EQ(operator_->queue().Wait().status, 0u);
  }
  void Fill(uint64_t address) { Do(Opcode::DMA_FILL, address, kPlaceBytes); }
  void View(uint64_t address, uint64_t bytes) { Do(Opcode::DMA_OUT, address, bytes); }

  void Report() {
    if (std::getenv("SPYRE_HOSTILE_OPERATIONS") == nullptr) return;
    for (const auto& intruder : intruders_) {
      std::cout << "function " << intruder->function() << " did";
      for (const auto& [name, count] : intruder->deeds()) std::cout << ' ' << name << ' ' << count;
      std::cout << "\n  and was answered";
      for (const auto& [status, count] : intruder->outcomes())
        std::cout << ' ' << StatusName(status) << ' ' << count;
      std::cout << '\n';
    }
    for (const auto& tenant : tenants_) {
      std::cout << "tenant " << tenant->function() << ": " << tenant->rounds()
                << " rounds, the longest " << tenant->longest_ps() / 1000 << " ns\n";
    }
    std::cout << transport_->NowPs() / 1'000'000'000 << " ms of simulated time\n";
  }
  static uint64_t Operations() {
    const char* text = std::getenv("SPYRE_HOSTILE_OPERATIONS");
    return text == nullptr ? 600 : std::strtoull(text, nullptr, 10);
  }

  std::unique_ptr<cosim::InProcessTransport> transport_;
  std::unique_ptr<driver::Device> operator_;
  std::unique_ptr<driver::HostBuffer> view_;
  std::vector<std::unique_ptr<driver::HostBuffer>> guards_;
  std::vector<std::unique_ptr<Tenant>> tenants_;
  std::vector<std::unique_ptr<Intruder>> intruders_;
  size_t lent_ = 0;
};

std::string NameOf(const ::testing::TestParamInfo<Kind>& kind) {
  return std::string(std::get<0>(kind.param)) + "_" + std::get<1>(kind.param) + "_" +
         std::get<2>(kind.param);
}
INSTANTIATE_TEST_SUITE_P(Card, HostileFunction,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("behavioural", "rtl"),
                                            ::testing::Values("serial", "pipelined", "concurrent")),
                         NameOf);

TEST_P(HostileFunction, TakesNothingFromTenantsAndLearnsNothingOfThem) {
  Invite(1);
  Run(Operations());
  for (const auto& tenant : tenants_) EXPECT_GT(tenant->rounds(), 2u);
  Report();
}

TEST_P(HostileFunction, TwoOfThemTogetherCanDoNoMore) {
  Invite(2);
  Run(Operations());
  for (const auto& tenant : tenants_) EXPECT_GT(tenant->rounds(), 2u);
  Report();
}

}  // namespace
}  // namespace spyre::fuzz::hostile_test
