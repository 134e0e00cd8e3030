// SPDX-License-Identifier: Apache-2.0
#include "driver/pci_sysfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace spyre::driver {
namespace {

namespace fs = std::filesystem;

// "dddd:bb:dd.f", lower case, or BadInput.
std::string FullAddress(const std::string& device) {
  std::string address = device.size() == 7 ? "0000:" + device : device;
  constexpr std::string_view kPattern = "xxxx:xx:xx.x";
  bool fits = address.size() == kPattern.size();
  for (size_t i = 0; fits && i < kPattern.size(); ++i) {
    const auto c = static_cast<unsigned char>(address[i]);
    fits = kPattern[i] == 'x' ? std::isxdigit(c) != 0 : address[i] == kPattern[i];
    address[i] = static_cast<char>(std::tolower(c));
  }
  if (!fits) {
    throw BadInput("PCI device \"{}\": an address as lspci prints it is expected", device)
        .Subject("PCI device")
        .Value(device)
        .Remedy("0000:3b:00.0");
  }
  return address;
}

// The last part of where a link points to; "" if it is not a link.
std::string TargetName(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename().string();
}

}  // namespace

PciSysfs::PciSysfs(const std::string& device, fs::path root)
    : root_(std::move(root)), address_(FullAddress(device)), physical_(address_) {
  if (!fs::exists(Directory(address_))) {
    throw BadInput("PCI device {}: this machine has no such device ({})", address_,
                   Directory(address_).string())
        .Subject("PCI device")
        .Value(address_)
        .Remedy("an address that `lspci -D` prints");
  }
  const std::string physical = TargetName(Directory(address_) / "physfn");
  if (physical.empty()) return;
  physical_ = physical;
  for (FunctionId n = 1;; ++n) {
    const auto sibling = AddressOf(n);
    if (!sibling) {
      throw BadInput("PCI device {}: its physical function {} does not list it", address_,
                     physical_)
          .Subject("PCI device")
          .Value(address_);
    }
    if (*sibling == address_) {
      function_ = n;
      return;
    }
  }
}

fs::path PciSysfs::Directory(const std::string& address) const {
  return root_ / "bus/pci/devices" / address;
}

std::optional<std::string> PciSysfs::AddressOf(FunctionId function) const {
  if (function == 0) return physical_;
  const std::string name = TargetName(Directory(physical_) / fmt::format("virtfn{}", function - 1));
  if (name.empty()) return std::nullopt;
  return name;
}

std::string PciSysfs::DriverOf(const std::string& address) const {
  return TargetName(Directory(address) / "driver");
}

std::string PciSysfs::GroupOf(const std::string& address) const {
  std::string group = TargetName(Directory(address) / "iommu_group");
  if (group.empty()) {
    throw BadInput(
        "PCI device {}: it is in no IOMMU group, so its DMA cannot be confined; switch the IOMMU "
        "on in the firmware and on the kernel's command line (intel_iommu=on or amd_iommu=on)",
        address)
        .Subject("IOMMU group")
        .Value(address);
  }
  return group;
}

int PciSysfs::TotalVirtualFunctions() const {
  int total = 0;
  std::ifstream(Directory(physical_) / "sriov_totalvfs") >> total;
  return total;
}

void PciSysfs::EnableVirtualFunctions(int count) const {
  const int total = TotalVirtualFunctions();
  if (count < 0 || count > total) {
    throw BadInput("{} virtual functions: {} has 0 to {}", count, physical_, total)
        .Subject("virtual functions")
        .Value(count)
        .Remedy(fmt::format("0 to {}", total));
  }
  const fs::path file = Directory(physical_) / "sriov_numvfs";
  // A kernel or a driver without SR-IOV has no such file, and no virtual functions either.
  int present = 0;
  std::ifstream(file) >> present;
  if (count == 0 && present == 0) return;
  if (std::error_code error; !fs::exists(file, error)) {
    throw BadInput(
        "{}: there is no such file: the kernel, or the driver of the physical function, has no "
        "SR-IOV (CONFIG_PCI_IOV; vfio-pci with its parameter enable_sriov=1)",
        file.string())
        .Subject("virtual functions")
        .Value(count);
  }
  const auto write = [&](int value) {
    errno = 0;
    std::ofstream out(file);
    out << value << std::flush;
    if (out) return;
    throw BadInput(
        "{} = {}: {}; the driver of the physical function has to support SR-IOV (vfio-pci does "
        "with its parameter enable_sriov=1), and no virtual function may be in use",
        file.string(), value, std::strerror(errno))
        .Subject("virtual functions")
        .Value(value);
  };
  write(0);  // the kernel changes the number only by way of none
  if (count != 0) write(count);
}

}  // namespace spyre::driver
