// SPDX-License-Identifier: Apache-2.0
#include "driver/vfio_transport.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "driver/pci.h"

namespace spyre::driver {
namespace {

constexpr const char* kDriver = "vfio-pci";
constexpr uint64_t kShortPs = 10'000'000;  // 10 us: what a host's own work takes it does anyway

uint64_t HostTimePs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) *
         1000;
}

// Until one of them is signalled, at most `ps` or a day.
void Poll(VfioFunction::PolledEvents& events, uint64_t ps) {
  constexpr uint64_t kPsPerSecond = 1'000'000'000'000;
  constexpr uint64_t kDay = 86400 * kPsPerSecond;
  ps = std::min(ps, kDay);
  const timespec timeout{static_cast<time_t>(ps / kPsPerSecond),
                         static_cast<long>(ps % kPsPerSecond / 1000)};
  ppoll(events.data(), events.size(), &timeout, nullptr);
}

}  // namespace

VfioTransport::VfioTransport(const VfioOptions& options)
    : options_(options),
      sysfs_(options.device, options.sysfs),
      start_ps_(HostTimePs()),
      vf_token_(options.vf_token.empty() ? VfToken::Random() : VfToken::Parse(options.vf_token)) {
  functions_[sysfs_.function()] = Open(sysfs_.function(), sysfs_.address());
}

// The virtual functions first: the physical one has made them.
VfioTransport::~VfioTransport() {
  while (!functions_.empty()) functions_.erase(std::prev(functions_.end()));
}

std::unique_ptr<VfioFunction> VfioTransport::Open(FunctionId function, const std::string& address) {
  const std::string driver = sysfs_.DriverOf(address);
  if (driver != kDriver) {
    throw BadInput("PCI device {}: {}; bind it to {} (`driverctl set-override {} {}`)", address,
                   driver.empty() ? "no driver is bound to it" : "its driver is " + driver, kDriver,
                   address, kDriver)
        .Subject("PCI device")
        .Value(driver)
        .Remedy(kDriver);
  }
  const std::string number = sysfs_.GroupOf(address);
  std::shared_ptr<VfioGroup> group = groups_[number].lock();
  if (!group) {
    group = std::make_shared<VfioGroup>(options_.devices, number, options_.dma_address_bits);
    groups_[number] = group;
  }
  std::string name = address;
  // Without vfio-pci on the physical function there is no token, and one that is given is refused.
  if (function != 0 && sysfs_.DriverOf(*sysfs_.AddressOf(0)) == kDriver) {
    name += " vf_token=" + vf_token_.Text();
  }
  auto opened = std::make_unique<VfioFunction>(group, group->OpenDevice(name, address), address);
  if (function == 0 && sysfs_.TotalVirtualFunctions() > 0) opened->SetVfToken(vf_token_);
  return opened;
}

VfioFunction* VfioTransport::Find(FunctionId function) {
  const auto found = functions_.find(function);
  if (found != functions_.end()) return found->second.get();
  // One virtual function alone is all that its user sees.
  if (sysfs_.function() != 0) return nullptr;
  const auto address = sysfs_.AddressOf(function);
  if (!address) return nullptr;
  return (functions_[function] = Open(function, *address)).get();
}

VfioFunction& VfioTransport::Get(FunctionId function) {
  VfioFunction* const found = Find(function);
  if (found == nullptr) {
    throw BadInput("function {}: PCI device {} has no such function", function, sysfs_.address())
        .Subject(fmt::format("function {}", function));
  }
  return *found;
}

uint32_t VfioTransport::ConfigRead(FunctionId function, uint32_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  VfioFunction* const found = Find(function);
  return found != nullptr ? found->ConfigRead(offset) : kNobodyAnswers;
}

void VfioTransport::ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  VfioFunction* const found = Find(function);
  if (found != nullptr) found->ConfigWrite(offset, value);
}

uint32_t VfioTransport::Read32(FunctionId function, int bar, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  VfioFunction* const found = Find(function);
  return found != nullptr ? found->Read32(bar, offset) : kNobodyAnswers;
}

void VfioTransport::Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  VfioFunction* const found = Find(function);
  if (found != nullptr) found->Write32(bar, offset, value);
}

void VfioTransport::Reset(FunctionId function) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Get(function).Reset();
}

void VfioTransport::EnableVirtualFunctions(int count) {
  if (sysfs_.function() != 0) {
    throw BadInput("PCI device {} is a virtual function; only the physical one enables others",
                   sysfs_.address())
        .Subject("virtual functions");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  functions_.erase(functions_.upper_bound(0), functions_.end());  // the kernel waits for that
  sysfs_.EnableVirtualFunctions(count);
}

DmaRules VfioTransport::dma_rules() const {
  return {functions_.begin()->second->group().page_bytes(), options_.dma_address_bits};
}

IoAddress VfioTransport::MapHost(FunctionId function, void* host, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Get(function).group().Map(host, size);
}

void VfioTransport::UnmapHost(FunctionId function, IoAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Get(function).group().Unmap(address);
}

WaitResult VfioTransport::WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    // Whoever switches MSI off meanwhile closes what is polled: the answer is the function's.
    VfioFunction& waiting = Get(function);
    if (waiting.TakeInterrupt(vector)) return WaitResult::kInterrupt;
    const uint64_t now = NowPs();
    if (now >= deadline_ps) return WaitResult::kDeadline;
    auto polled = waiting.Events(vector);
    lock.unlock();
    Poll(polled, deadline_ps - now);
    lock.lock();
  }
}

uint64_t VfioTransport::NowPs() { return HostTimePs() - start_ps_; }

void VfioTransport::Advance(uint64_t host_ps) {
  if (host_ps >= kShortPs) std::this_thread::sleep_for(std::chrono::nanoseconds(host_ps / 1000));
}

std::string VfioTransport::Diagnose() {
  return fmt::format("PCI device {}, driven through VFIO: what it waits for it does not tell",
                     sysfs_.address());
}

}  // namespace spyre::driver
