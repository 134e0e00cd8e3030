// SPDX-License-Identifier: Apache-2.0
// A PCI device as Linux shows it below /sys/bus/pci/devices: who drives it, its IOMMU group, its
// virtual functions. The kernel's Documentation/ABI/testing/sysfs-bus-pci describes the files.
//
// Threads: none of its own. Errors: BadInput, saying what an administrator has to do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "driver/transport.h"

namespace spyre::driver {

class PciSysfs {
 public:
  // device: "0000:3b:00.0", or without its domain, which is then 0000. root: where sysfs is.
  PciSysfs(const std::string& device, std::filesystem::path root = "/sys");

  const std::string& address() const { return address_; }  // with its domain
  // 0, or n for virtual function n of its physical function.
  FunctionId function() const { return function_; }
  // The address of another function of the same card; empty if it is not enabled.
  std::optional<std::string> AddressOf(FunctionId function) const;

  // The name of the driver that is bound to the device at `address`; "" if none is.
  std::string DriverOf(const std::string& address) const;
  // The number of its IOMMU group, which is its name in /dev/vfio.
  std::string GroupOf(const std::string& address) const;

  int TotalVirtualFunctions() const;  // 0: the device has none
  void EnableVirtualFunctions(int count) const;

 private:
  std::filesystem::path Directory(const std::string& address) const;

  std::filesystem::path root_;
  std::string address_;
  std::string physical_;  // address of the physical function
  FunctionId function_ = 0;
};

}  // namespace spyre::driver
