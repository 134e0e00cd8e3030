// SPDX-License-Identifier: Apache-2.0
// Rung 11: tenants. Up to eight virtual functions, each with a runtime, kernels and memory of its
// own, at work at the same time.
#include <algorithm>

#include "bringup/ladder/raw_queue.h"
#include "bringup/rungs/kernel_rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

class Rung11Tenants : public KernelRung {
 protected:
  static constexpr int kMost = 8;
  static constexpr uint64_t kRegionBytes = 16 << 20;

  void SetUp() override {
    count_ =
        static_cast<driver::FunctionId>(std::min(kMost, board().capabilities().virtual_functions));
    if (count_ > 0) EnableVirtualFunctions(count_);
    // TotalVFs is what the card may have at most.
    while (count_ > 0 && !Answers(count_)) --count_;
    if (count_ < 2) CannotRun(fmt::format("the card has {} virtual functions", count_));
    EnableVfs(kRegionBytes, kRegions, count_);
    Measure("tenants", count_, "virtual functions");
  }
  // Other tests expect these regions to be free.
  void TearDown() override {
    tenants_.clear();
    try {
      driver::PhysicalFunction manager(Physical());
      for (driver::FunctionId vf = 1; vf <= count_; ++vf) {
        for (int region = 0; region < kRegions; ++region) manager.ReleaseRegion(vf, region);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << "the regions of the tenants cannot be released: " << error.what();
    }
    Rung::TearDown();
  }
  bool Answers(driver::FunctionId vf) {
    return Config(vf, driver::pci::kVendorDevice) != driver::kNobodyAnswers &&
           Registers(vf).ReadFunction() == vf;
  }

  void PrepareAll() {
    for (driver::FunctionId vf = 1; vf <= count_; ++vf)
      tenants_.push_back(Prepare(vf, vf % 2 == 0 ? "add" : "matmul", 100u + vf));
  }
  void LaunchAll() {
    for (Work& tenant : tenants_) Launch(tenant);
  }
  void Expect(size_t index) {
    SCOPED_TRACE(fmt::format("virtual function {}", index + 1));
    if (index % 2 == 1) {
      ExpectSum(tenants_[index]);
    } else {
      ExpectProduct(tenants_[index]);
    }
  }

  driver::FunctionId count_ = 0;
  std::vector<Work> tenants_;
  std::vector<uint64_t> begins_;
};

TEST_F(Rung11Tenants, WorkAtOnceAndAllAreRight) {
  PrepareAll();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) LaunchAll();
    for (size_t i = tenants_.size(); i-- > 0;) Expect(i);
  }
}

TEST_F(Rung11Tenants, AreServedInTurn) {
  std::vector<std::unique_ptr<driver::Device>> devices;
  for (driver::FunctionId vf = 1; vf <= count_; ++vf)
    devices.push_back(std::make_unique<driver::Device>(card(), vf));
  constexpr int kOperations = 128;
  for (const auto& device : devices) {
    for (int i = 0; i < kOperations; ++i) {
      Message fill;
      fill.opcode = static_cast<uint8_t>(Opcode::DMA_FILL);
      fill.size_bytes = 256 << 10;
      driver::Entry entry = fill;
      device->queue().Submit(entry);
    }
  }
  for (const auto& device : devices) device->queue().RingDoorbell();
  std::vector<uint64_t> ends;
  for (const auto& device : devices) {
    uint64_t end = 0;
    for (int i = 0; i < kOperations; ++i) {
      const Response done = device->queue().Wait();
      ASSERT_EQ(done.status, static_cast<uint16_t>(Status::OK));
      end = std::max(end, done.finished_ps);
      if (i == 0) begins_.push_back(done.started_ps);
    }
    ends.push_back(end);
  }
  const uint64_t begin = *std::min_element(begins_.begin(), begins_.end());
  const auto [first, last] = std::minmax_element(ends.begin(), ends.end());
  const auto share = static_cast<double>(*first - begin) / static_cast<double>(*last - begin);
  Measure("tenants_first_over_last", share, "of the time of the last");
  // If time passes between the doorbells, the first has the card to itself for a while.
  if (!board().backend().time_passes) {
    EXPECT_GT(share, 0.5) << "the tenant that is ready first has not waited for its turn";
  }
}

TEST_F(Rung11Tenants, AreNotDisturbedByTheResetOfAnother) {
  PrepareAll();
  for (size_t reset = 0; reset < tenants_.size(); ++reset) {
    LaunchAll();
    card().Advance(2'000'000);
    tenants_[reset].context->Reset();
    ExpectDropped(tenants_[reset], false);
    for (size_t i = 0; i < tenants_.size(); ++i) {
      if (i != reset) Expect(i);
    }
    Launch(tenants_[reset]);
    Expect(reset);
  }
}

TEST_F(Rung11Tenants, AreNotDisturbedByOneThatDoesEverythingWrong) {
  PrepareAll();
  tenants_.front().context.reset();
  tenants_.front() = Work();
  EnableBars(1);
  RawQueue wrong(card(), 1, 64, 64);
  std::mt19937_64 random = Random();
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 32; ++i) {
      auto message = wrong.Make<Message>(static_cast<Opcode>(random() % 12),
                                         static_cast<uint32_t>(random() % 64));
      message.device_region = static_cast<uint32_t>(random() % 10);
      message.device_offset = random() % 4 == 0 ? random() : random() % (2 * kRegionBytes);
      message.size_bytes = random() % 4 == 0 ? random() : random() % kRegionBytes;
      message.host_address = random();
      wrong.Put(message);
    }
    wrong.Ring();
    for (size_t i = 1; i < tenants_.size(); ++i) Launch(tenants_[i]);
    for (size_t i = 1; i < tenants_.size(); ++i) Expect(i);
    wrong.Start();
  }
}

}  // namespace

void LinkTenantsRung() {}

}  // namespace spyre::bringup
