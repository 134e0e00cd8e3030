// SPDX-License-Identifier: Apache-2.0
#include "driver/vfio_function.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "driver/pci.h"
#include "driver/vfio_info.h"

namespace spyre::driver {
namespace {

Descriptor EventFd() {
  Descriptor fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) throw DeviceFault("eventfd: {}", std::strerror(errno));
  return fd;
}

// Whether it had been signalled; afterwards it is not.
bool Take(const Descriptor& eventfd) {
  uint64_t count = 0;
  return eventfd && read(eventfd.get(), &count, sizeof(count)) == sizeof(count);
}

}  // namespace

VfioFunction::VfioFunction(std::shared_ptr<VfioGroup> group, Descriptor device, std::string address)
    : group_(std::move(group)), device_(std::move(device)), address_(std::move(address)) {
  config_ = ReadRegion(VFIO_PCI_CONFIG_REGION_INDEX);
  for (size_t bar = 0; bar < kBars; ++bar) {
    bars_[bar] = ReadRegion(static_cast<uint32_t>(VFIO_PCI_BAR0_REGION_INDEX + bar));
  }
  memory_on_ = (ConfigRead(pci::kCommandStatus) & pci::kCommandMemory) != 0;
  FindMsi();
  const auto watch = [&](uint32_t index, Descriptor& eventfd) {
    vfio_irq_info info{};
    info.argsz = sizeof(info);
    info.index = index;
    if (ioctl(device_.get(), VFIO_DEVICE_GET_IRQ_INFO, &info) != 0 || info.count == 0) return;
    eventfd = EventFd();
    Arm(index, 0, {eventfd.get()});
  };
  watch(VFIO_PCI_ERR_IRQ_INDEX, error_);
  watch(VFIO_PCI_REQ_IRQ_INDEX, removal_);
}

VfioFunction::~VfioFunction() {
  for (const Region& bar : bars_) {
    if (bar.mapped != nullptr) munmap(bar.mapped, bar.size);
  }
}

VfioFunction::Region VfioFunction::ReadRegion(uint32_t index) {
  Region region;
  vfio_region_info request{};
  request.index = index;
  const std::vector<uint8_t> bytes = Ask(device_.get(), VFIO_DEVICE_GET_REGION_INFO, request);
  if (bytes.empty()) return region;
  vfio_region_info info;
  std::memcpy(&info, bytes.data(), sizeof(info));
  region.size = info.size;
  region.offset = info.offset;
  const bool sparse = (info.flags & VFIO_REGION_INFO_FLAG_CAPS) != 0 &&
                      FindInfo(bytes, info.cap_offset, VFIO_REGION_INFO_CAP_SPARSE_MMAP);
  if ((info.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0 || sparse || info.size == 0) return region;
  void* mapped = mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, device_.get(),
                      static_cast<off_t>(info.offset));
  if (mapped != MAP_FAILED) region.mapped = static_cast<uint8_t*>(mapped);
  return region;
}

uint32_t VfioFunction::ConfigRead(uint32_t offset) {
  uint32_t value = kNobodyAnswers;
  if (offset % 4 != 0 || offset + 4 > config_.size) {
    // A conventional PCI device has 256 bytes, and nothing answers behind them.
    if (offset % 4 == 0 && offset < 4096) return value;
    throw BadInput("configuration offset 0x{:x}: a multiple of 4 below 4096 is expected", offset);
  }
  const auto at = static_cast<off_t>(config_.offset + offset);
  if (pread(device_.get(), &value, sizeof(value), at) != sizeof(value)) return kNobodyAnswers;
  return value;
}

void VfioFunction::ConfigWrite(uint32_t offset, uint32_t value) {
  if (offset % 4 != 0 || offset >= 4096) {
    throw BadInput("configuration offset 0x{:x}: a multiple of 4 below 4096 is expected", offset);
  }
  if (offset + 4 > config_.size) return;
  const auto at = static_cast<off_t>(config_.offset + offset);
  if (pwrite(device_.get(), &value, sizeof(value), at) != sizeof(value)) return;  // it is gone
  if (offset == pci::kCommandStatus) memory_on_ = (value & pci::kCommandMemory) != 0;
  if (msi_ && offset == *msi_) {
    ArmMsi((value & pci::kMsiEnable) != 0 ? 1u << (value >> pci::kMsiEnabledShift & 7) : 0);
  }
}

VfioFunction::Region& VfioFunction::Bar(int bar, uint64_t offset) {
  if (bar < 0 || static_cast<size_t>(bar) >= kBars || offset % 4 != 0 ||
      bars_[static_cast<size_t>(bar)].size < 4 ||
      offset > bars_[static_cast<size_t>(bar)].size - 4) {
    throw BadInput("PCI device {}: BAR{} has no register at offset 0x{:x}", address_, bar, offset)
        .Subject(fmt::format("BAR{}", bar))
        .Value(offset);
  }
  return bars_[static_cast<size_t>(bar)];
}

uint32_t VfioFunction::Read32(int bar, uint64_t offset) {
  const Region& region = Bar(bar, offset);
  uint32_t value = kNobodyAnswers;
  if (!memory_on_) return value;
  if (region.mapped != nullptr) {
    value = *reinterpret_cast<const volatile uint32_t*>(region.mapped + offset);
  } else if (pread(device_.get(), &value, sizeof(value),
                   static_cast<off_t>(region.offset + offset)) != sizeof(value)) {
    value = kNobodyAnswers;
  }
  // Host memory that is read from now on is as new as the register.
  std::atomic_thread_fence(std::memory_order_acquire);
  return value;
}

void VfioFunction::Write32(int bar, uint64_t offset, uint32_t value) {
  const Region& region = Bar(bar, offset);
  if (!memory_on_) return;
  // What was stored to host memory before is visible to the card that sees the write.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (region.mapped != nullptr) {
    *reinterpret_cast<volatile uint32_t*>(region.mapped + offset) = value;
  } else if (pwrite(device_.get(), &value, sizeof(value),
                    static_cast<off_t>(region.offset + offset)) != sizeof(value)) {
    return;  // posted: a card that is gone says so at the next read
  }
}

void VfioFunction::Reset() {
  vfio_device_info info{};
  info.argsz = sizeof(info);
  if (ioctl(device_.get(), VFIO_DEVICE_GET_INFO, &info) != 0 ||
      (info.flags & VFIO_DEVICE_FLAGS_RESET) == 0) {
    throw DeviceFault("PCI device {}: it cannot be reset by itself (no FLR)", address_)
        .Subject("PCI device")
        .Value(address_);
  }
  if (ioctl(device_.get(), VFIO_DEVICE_RESET) != 0) {
    throw DeviceFault("PCI device {}: reset: {}", address_, std::strerror(errno))
        .Subject("PCI device")
        .Value(address_);
  }
  for (const Descriptor& vector : vectors_) Take(vector);  // of the time before
  memory_on_ = (ConfigRead(pci::kCommandStatus) & pci::kCommandMemory) != 0;
}

void VfioFunction::SetVfToken(const VfToken& token) {
  std::array<uint8_t, sizeof(vfio_device_feature) + sizeof(token.bytes)> bytes;
  vfio_device_feature feature{};
  feature.argsz = sizeof(bytes);
  feature.flags = VFIO_DEVICE_FEATURE_SET | VFIO_DEVICE_FEATURE_PCI_VF_TOKEN;
  std::memcpy(bytes.data(), &feature, sizeof(feature));
  std::memcpy(bytes.data() + sizeof(feature), token.bytes.data(), token.bytes.size());
  if (ioctl(device_.get(), VFIO_DEVICE_FEATURE, bytes.data()) != 0) {
    throw BadInput("PCI device {}: setting its VF token: {}", address_, std::strerror(errno))
        .Subject("PCI device")
        .Value(address_);
  }
}

void VfioFunction::FindMsi() {
  if ((ConfigRead(pci::kCommandStatus) & pci::kStatusCapabilityList) == 0) return;
  uint32_t offset = ConfigRead(pci::kCapabilityPointer) & 0xFC;
  for (int i = 0; offset >= 0x40 && i < 48; ++i) {
    const uint32_t header = ConfigRead(offset);
    if ((header & 0xFF) == pci::kCapabilityMsi) {
      msi_ = offset;
      return;
    }
    offset = header >> 8 & 0xFC;
  }
}

void VfioFunction::ArmMsi(uint32_t vectors) {
  vfio_irq_info info{};
  info.argsz = sizeof(info);
  info.index = VFIO_PCI_MSI_IRQ_INDEX;
  if (ioctl(device_.get(), VFIO_DEVICE_GET_IRQ_INFO, &info) != 0) CheckLost();
  vectors = std::min(vectors, info.count);
  if (vectors == vectors_.size()) return;
  if (!vectors_.empty()) Arm(VFIO_PCI_MSI_IRQ_INDEX, 0, {});
  std::vector<Descriptor> fresh(vectors);
  std::vector<int> fds;
  for (Descriptor& vector : fresh) {
    vector = EventFd();
    fds.push_back(vector.get());
  }
  if (vectors != 0) Arm(VFIO_PCI_MSI_IRQ_INDEX, 0, fds);
  vectors_ = std::move(fresh);
}

// No eventfds: the interrupts of this kind are switched off.
void VfioFunction::Arm(uint32_t irq_index, uint32_t first, const std::vector<int>& eventfds) {
  std::vector<uint8_t> bytes(sizeof(vfio_irq_set) + eventfds.size() * sizeof(int));
  vfio_irq_set set{};
  set.argsz = static_cast<uint32_t>(bytes.size());
  set.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
              (eventfds.empty() ? VFIO_IRQ_SET_DATA_NONE : VFIO_IRQ_SET_DATA_EVENTFD);
  set.index = irq_index;
  set.start = first;
  set.count = static_cast<uint32_t>(eventfds.size());
  std::memcpy(bytes.data(), &set, sizeof(set));
  if (!eventfds.empty()) {
    std::memcpy(bytes.data() + sizeof(set), eventfds.data(), eventfds.size() * sizeof(int));
  }
  if (ioctl(device_.get(), VFIO_DEVICE_SET_IRQS, bytes.data()) != 0) {
    throw DeviceFault("PCI device {}: its interrupts (index {}): {}", address_, irq_index,
                      std::strerror(errno))
        .Subject("PCI device")
        .Value(address_);
  }
}

void VfioFunction::CheckLost() const {
  if (Take(error_)) {
    throw DeviceFault("PCI device {}: an uncorrectable error on its link; it needs a reset",
                      address_)
        .Subject("PCI device")
        .Value(address_);
  }
  if (Take(removal_)) {
    throw DeviceFault("PCI device {}: it is being removed, or taken from this process", address_)
        .Subject("PCI device")
        .Value(address_);
  }
}

bool VfioFunction::TakeInterrupt(int vector) {
  if (vector < 0) throw BadInput("interrupt vector {}", vector);
  CheckLost();
  return static_cast<size_t>(vector) < vectors_.size() &&
         Take(vectors_[static_cast<size_t>(vector)]);
}

VfioFunction::PolledEvents VfioFunction::Events(int vector) const {
  // poll leaves out negative descriptors.
  PolledEvents events = {pollfd{-1, POLLIN, 0}, pollfd{error_.get(), POLLIN, 0},
                         pollfd{removal_.get(), POLLIN, 0}};
  if (static_cast<size_t>(vector) < vectors_.size()) {
    events[0].fd = vectors_[static_cast<size_t>(vector)].get();
  }
  return events;
}

}  // namespace spyre::driver
