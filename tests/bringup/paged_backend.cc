// SPDX-License-Identifier: Apache-2.0
// The bring-up program with one way more to a card: the simulated card as VFIO shows a real one.
// The card reaches whole pages of 4 KiB, at addresses that each function has for itself and that
// touch each other; the host never learns that nothing can happen any more; configuration space is
// the system's. "paged:alone": the system has no SR-IOV.
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "bringup/cli/program.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/io_addresses.h"
#include "driver/pci.h"

namespace spyre::bringup {
namespace {

using driver::FunctionId;
using driver::IoAddress;

constexpr uint64_t kPage = 4096;

class PagedTransport : public driver::Transport {
 public:
  explicit PagedTransport(bool has_sriov)
      : has_sriov_(has_sriov), card_(model::CardConfig(), cosim::HostTiming{}, nullptr) {}

  uint32_t ConfigRead(FunctionId function, uint32_t offset) override {
    return card_.ConfigRead(function, offset);
  }
  void ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) override {
    card_.ConfigWrite(function, offset, value);
  }
  uint32_t Read32(FunctionId function, int bar, uint64_t offset) override {
    return card_.Read32(function, bar, offset);
  }
  void Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) override {
    card_.Write32(function, bar, offset, value);
  }
  // Without SR-IOV as a kernel without CONFIG_PCI_IOV.
  void EnableVirtualFunctions(int count) override {
    if (has_sriov_) {
      Transport::EnableVirtualFunctions(count);
    } else if (count != 0) {
      throw BadInput("sriov_numvfs: there is no such file");
    }
  }
  driver::DmaRules dma_rules() const override { return {kPage, 48}; }

  // All of the pages that [host, host + size) touches. They are the process's own memory.
  IoAddress MapHost(FunctionId function, void* host, size_t size) override {
    const auto begin = reinterpret_cast<uintptr_t>(host);
    const uintptr_t first = begin / kPage * kPage;
    const uint64_t bytes = (begin + size + kPage - 1) / kPage * kPage - first;
    driver::IoAddresses& addresses = AddressesOf(function);
    const IoAddress address = addresses.Allocate(bytes);
    card_.MapHostAt(function, address, reinterpret_cast<void*>(first), bytes);
    return address + (begin - first);
  }
  void UnmapHost(FunctionId function, IoAddress address) override {
    card_.UnmapHost(function, address / kPage * kPage);
    AddressesOf(function).Release(address / kPage * kPage);
  }

  driver::WaitResult WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) override {
    const driver::WaitResult result = card_.WaitInterrupt(function, vector, deadline_ps);
    if (result != driver::WaitResult::kStalled) return result;
    if (card_.NowPs() < deadline_ps) card_.Advance(deadline_ps - card_.NowPs());
    return driver::WaitResult::kDeadline;
  }
  uint64_t NowPs() override { return card_.NowPs(); }
  void Advance(uint64_t host_ps) override { card_.Advance(host_ps); }
  std::string Diagnose() override { return "a card that tells nothing"; }

 private:
  driver::IoAddresses& AddressesOf(FunctionId function) {
    const auto found = addresses_.find(function);
    if (found != addresses_.end()) return found->second;
    const std::vector<driver::IoRange> ranges = {{0, driver::kMsiAddressBase - 1},
                                                 {driver::kMsiAddressBase + (1 << 20), ~0ull}};
    return addresses_.emplace(function, driver::IoAddresses(ranges, kPage, 48)).first->second;
  }

  const bool has_sriov_;
  cosim::InProcessTransport card_;
  std::map<FunctionId, driver::IoAddresses> addresses_;
};

}  // namespace
}  // namespace spyre::bringup

int main(int argc, char** argv) {
  using spyre::bringup::Backend;
  return spyre::bringup::Main(
      argc, argv, {{"paged", "", [](const std::string& rest) {
                      Backend backend;
                      backend.transport =
                          std::make_unique<spyre::bringup::PagedTransport>(rest != "alone");
                      backend.fresh = true;
                      backend.system_owns_config = true;
                      backend.time_passes = true;
                      return backend;
                    }}});
}
