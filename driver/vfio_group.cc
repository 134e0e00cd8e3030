// SPDX-License-Identifier: Apache-2.0
#include "driver/vfio_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "driver/vfio_info.h"

namespace spyre::driver {
namespace {

std::vector<IoRange> Ranges(const std::vector<uint8_t>& bytes, size_t at) {
  vfio_iommu_type1_info_cap_iova_range list;
  std::memcpy(&list, bytes.data() + at, sizeof(list));
  std::vector<IoRange> ranges;
  for (uint32_t i = 0; i < list.nr_iovas; ++i) {
    vfio_iova_range range;
    const size_t place = at + sizeof(list) + i * sizeof(range);
    if (place + sizeof(range) > bytes.size()) break;
    std::memcpy(&range, bytes.data() + place, sizeof(range));
    ranges.push_back({range.start, range.end});
  }
  return ranges;
}

}  // namespace

VfioGroup::VfioGroup(const std::filesystem::path& devices, const std::string& number,
                     unsigned address_bits)
    : container_(open((devices / "vfio").c_str(), O_RDWR | O_CLOEXEC)) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    return BadInput("VFIO group {}: {}; {}", number, what, remedy)
        .Subject("VFIO group")
        .Value(number);
  };
  if (!container_) {
    throw refuse(fmt::format("{}: {}", (devices / "vfio").string(), std::strerror(errno)),
                 "load the module vfio-pci, and give this user the right to open the file");
  }
  if (ioctl(container_.get(), VFIO_GET_API_VERSION) != VFIO_API_VERSION ||
      ioctl(container_.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) <= 0) {
    throw refuse("the kernel has no type 1 IOMMU, version 2", "load the module vfio_iommu_type1");
  }
  const std::filesystem::path file = devices / number;
  group_ = Descriptor(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!group_) {
    const bool busy = errno == EBUSY;
    throw refuse(fmt::format("{}: {}", file.string(), std::strerror(errno)),
                 busy ? "another process has it open"
                      : "bind all its devices to vfio-pci, and give this user the right to open "
                        "the file");
  }
  vfio_group_status status{};
  status.argsz = sizeof(status);
  if (ioctl(group_.get(), VFIO_GROUP_GET_STATUS, &status) != 0 ||
      (status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
    throw refuse("a device of the group is bound to another driver",
                 "bind all devices of the group to vfio-pci, or to none");
  }
  const int container = container_.get();
  if (ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0 ||
      ioctl(container_.get(), VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) {
    throw refuse(fmt::format("its IOMMU: {}", std::strerror(errno)),
                 "interrupt remapping may be missing (vfio_iommu_type1.allow_unsafe_interrupts=1 "
                 "does without)");
  }
  ReadRules(address_bits);
}

void VfioGroup::ReadRules(unsigned address_bits) {
  std::vector<IoRange> ranges = {{0, ~IoAddress{0}}};
  const std::vector<uint8_t> bytes =
      Ask(container_.get(), VFIO_IOMMU_GET_INFO, vfio_iommu_type1_info{});
  if (!bytes.empty()) {
    vfio_iommu_type1_info info;
    std::memcpy(&info, bytes.data(), sizeof(info));
    if ((info.flags & VFIO_IOMMU_INFO_PGSIZES) != 0 && info.iova_pgsizes != 0) {
      page_bytes_ = info.iova_pgsizes & ~(info.iova_pgsizes - 1);
    }
    if ((info.flags & VFIO_IOMMU_INFO_CAPS) != 0) {
      const auto at = FindInfo(bytes, info.cap_offset, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE);
      if (at) ranges = Ranges(bytes, *at);
    }
  }
  addresses_.emplace(ranges, page_bytes_, address_bits);
}

Descriptor VfioGroup::OpenDevice(const std::string& name, const std::string& address) const {
  Descriptor device(ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, name.c_str()));
  if (!device) {
    throw BadInput(
        "PCI device {}: VFIO does not give it: {}{}", address, std::strerror(errno),
        errno == EACCES ? " (the physical function's owner has set a VF token; pass it)" : "")
        .Subject("PCI device")
        .Value(address);
  }
  return device;
}

IoAddress VfioGroup::Map(void* host, size_t size) {
  const auto first = reinterpret_cast<uintptr_t>(host);
  const uintptr_t page = first & ~(page_bytes_ - 1);
  if (size == 0 || first + size < first) {
    throw BadInput("mapping {} bytes of host memory: at least 1 is expected", size)
        .Subject("host memory")
        .Value(size);
  }
  const uint64_t bytes = (first + size - page + page_bytes_ - 1) & ~(page_bytes_ - 1);
  vfio_iommu_type1_dma_map map{};
  map.argsz = sizeof(map);
  map.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
  map.vaddr = page;
  map.iova = addresses_->Allocate(bytes);
  map.size = bytes;
  if (ioctl(container_.get(), VFIO_IOMMU_MAP_DMA, &map) != 0) {
    const int error = errno;
    addresses_->Release(map.iova);
    throw BadInput("mapping {} bytes of host memory for DMA: {}{}", bytes, std::strerror(error),
                   error == ENOMEM ? " (mapped memory is locked: raise the limit `ulimit -l`)" : "")
        .Subject("host memory")
        .Value(bytes);
  }
  const IoAddress address = map.iova + (first - page);
  pages_[address] = map.iova;
  return address;
}

void VfioGroup::Unmap(IoAddress address) {
  const auto found = pages_.find(address);
  if (found == pages_.end()) {
    throw BadInput("no mapping starts at IO address 0x{:x}", address)
        .Subject("host memory")
        .Value(address);
  }
  vfio_iommu_type1_dma_unmap unmap{};
  unmap.argsz = sizeof(unmap);
  unmap.iova = found->second;
  unmap.size = addresses_->Release(found->second);
  pages_.erase(found);
  if (ioctl(container_.get(), VFIO_IOMMU_UNMAP_DMA, &unmap) != 0) {
    throw DeviceFault("unmapping IO address 0x{:x}: {}", address, std::strerror(errno));
  }
}

}  // namespace spyre::driver
