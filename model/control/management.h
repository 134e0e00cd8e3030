// The management controller as the rest of the card sees it. Here sits the region table; here every
// message of a virtual function is checked and turned into a control block. The firmware's
// interface: behavioural in management.cc. Kernel thread only.
#pragma once

#include <cstdint>

#include "model/contract/control_block.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

class ManagementController {
 public:
  virtual ~ManagementController() = default;

  // Checks `message` of `function` field by field and translates its locations; takes its time, so
  // the caller is an SC_THREAD, one at a time. On success fills *block, sealed. On failure returns
  // the status for the response and sets *fault to the bad offset or location.
  virtual Status TranslateMessage(unsigned function, const Message& message, ControlBlock* block,
                                  uint64_t* fault) = 0;

  // Requests of the PF.
  virtual Mmu::RegionResult AssignRegion(unsigned function, unsigned region,
                                         const PhysicalRange& range) = 0;
  virtual Mmu::RegionResult ReleaseRegion(unsigned function, unsigned region) = 0;
};

class BehaviouralManagement : public ManagementController {
 public:
  BehaviouralManagement(const CardConfig& config, Mmu& mmu) : config_(config), mmu_(mmu) {}

  Status TranslateMessage(unsigned function, const Message& message, ControlBlock* block,
                          uint64_t* fault) override;
  Mmu::RegionResult AssignRegion(unsigned function, unsigned region,
                                 const PhysicalRange& range) override {
    return mmu_.AssignRegion(function, region, range);
  }
  Mmu::RegionResult ReleaseRegion(unsigned function, unsigned region) override {
    return mmu_.ReleaseRegion(function, region);
  }

 private:
  const CardConfig& config_;
  Mmu& mmu_;
};

}  // namespace spyre::model
