// SPDX-License-Identifier: Apache-2.0
// An IOMMU group of Linux VFIO in a container of its own: an IO address space, and the devices in
// it. <linux/vfio.h> defines the calls.
//
// Threads: the transport serialises. Errors: BadInput, saying what an administrator has to do.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "driver/io_addresses.h"
#include "driver/transport.h"

namespace spyre::driver {

class VfioGroup {
 public:
  // devices: where the files are, which is /dev/vfio. number: of the group, as sysfs has it.
  VfioGroup(const std::filesystem::path& devices, const std::string& number, unsigned address_bits);

  // name: the PCI address, with options as the kernel reads them.
  Descriptor OpenDevice(const std::string& name, const std::string& address) const;

  uint64_t page_bytes() const { return page_bytes_; }
  // The pages around [host, host + size); the result is the address of `host` itself.
  IoAddress Map(void* host, size_t size);
  void Unmap(IoAddress address);

 private:
  void ReadRules(unsigned address_bits);

  Descriptor container_, group_;
  uint64_t page_bytes_ = 4096;
  std::optional<IoAddresses> addresses_;
  std::map<IoAddress, IoAddress> pages_;  // what Map gave -> where its pages begin
};

}  // namespace spyre::driver
