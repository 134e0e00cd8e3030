// SPDX-License-Identifier: Apache-2.0
// What VFIO needs before the kernel is asked, on a tree of files that looks like sysfs. The kernel
// itself is asked in a virtual machine: tests/vm.
#include "driver/vfio_transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "driver/pci_sysfs.h"
#include "tests/unit/error_of.h"

namespace spyre::driver::vfio_transport_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class VfioTransportTest : public ::testing::Test {
 protected:
  VfioTransportTest() {
    fs::remove_all(root_);
    Device("0000:3b:00.0");
    Link("0000:3b:00.0", "driver", "../../drivers/vfio-pci");
    Link("0000:3b:00.0", "iommu_group", "../../kernel/iommu_groups/7");
    Write("0000:3b:00.0", "sriov_totalvfs", "2\n");
    for (int vf = 0; vf < 2; ++vf) {
      const std::string address = fmt::format("0000:3b:00.{}", vf + 1);
      Device(address);
      Link(address, "physfn", "../0000:3b:00.0");
      Link("0000:3b:00.0", fmt::format("virtfn{}", vf), "../" + address);
    }
  }
  ~VfioTransportTest() override { fs::remove_all(root_); }

  void Device(const std::string& address) {
    fs::create_directories(root_ / "bus/pci/devices" / address);
  }
  void Link(const std::string& address, const std::string& name, const std::string& target) {
    fs::create_symlink(target, root_ / "bus/pci/devices" / address / name);
  }
  void Write(const std::string& address, const std::string& name, const std::string& text) {
    std::ofstream(root_ / "bus/pci/devices" / address / name) << text;
  }
  std::string Refusal(const std::string& device) {
    VfioOptions options;
    options.device = device;
    options.sysfs = root_;
    options.devices = root_ / "no-vfio";
    try {
      const VfioTransport transport(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "";
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("spyre-sysfs-{}", getpid());
};

TEST_F(VfioTransportTest, NamesWhatAnAdministratorHasToDo) {
  EXPECT_THAT(Refusal("3b:0.0"), HasSubstr("an address as lspci prints it is expected"));
  EXPECT_THAT(Refusal("0000:3b:00.0; rm"), HasSubstr("an address as lspci prints it is expected"));
  EXPECT_THAT(Refusal("3c:00.0"), HasSubstr("this machine has no such device"));
  EXPECT_THAT(Refusal("3b:00.0"), HasSubstr("load the module vfio-pci"));
  EXPECT_THAT(Refusal("0000:3B:00.0"), HasSubstr("load the module vfio-pci"));
  EXPECT_THAT(Refusal("3b:00.1"), HasSubstr("no driver is bound to it; bind it to vfio-pci"));
  Link("0000:3b:00.1", "driver", "../../drivers/nvme");
  EXPECT_THAT(Refusal("3b:00.1"), HasSubstr("its driver is nvme; bind it to vfio-pci"));
  Link("0000:3b:00.2", "driver", "../../drivers/vfio-pci");
  EXPECT_THAT(Refusal("3b:00.2"), HasSubstr("it is in no IOMMU group"));
}

TEST_F(VfioTransportTest, FunctionsAreNumberedAsTheCardNumbersThem) {
  const PciSysfs physical("3b:00.0", root_);
  EXPECT_EQ(physical.function(), 0);
  EXPECT_EQ(physical.AddressOf(2), "0000:3b:00.2");
  EXPECT_EQ(physical.AddressOf(3), std::nullopt);
  EXPECT_EQ(physical.GroupOf("0000:3b:00.0"), "7");
  EXPECT_EQ(physical.TotalVirtualFunctions(), 2);
  const PciSysfs virtual_function("0000:3b:00.2", root_);
  EXPECT_EQ(virtual_function.function(), 2);
  EXPECT_EQ(virtual_function.AddressOf(0), "0000:3b:00.0");
  EXPECT_EQ(virtual_function.TotalVirtualFunctions(), 2);
}

TEST_F(VfioTransportTest, VirtualFunctionsAreEnabledByTheKernel) {
  const PciSysfs sysfs("3b:00.0", root_);
  EXPECT_THROW(sysfs.EnableVirtualFunctions(3), Error);
  EXPECT_THROW(sysfs.EnableVirtualFunctions(-1), Error);
  // A host without SR-IOV.
  EXPECT_NO_THROW(sysfs.EnableVirtualFunctions(0)) << "there are none";
  EXPECT_FALSE(fs::exists(root_ / "bus/pci/devices/0000:3b:00.0/sriov_numvfs"));
  EXPECT_THAT(test::BadInputOf([&] { sysfs.EnableVirtualFunctions(1); }), HasSubstr("no SR-IOV"));
  Write("0000:3b:00.0", "sriov_numvfs", "0\n");
  sysfs.EnableVirtualFunctions(2);
  std::string written;
  std::ifstream(root_ / "bus/pci/devices/0000:3b:00.0/sriov_numvfs") >> written;
  EXPECT_EQ(written, "2");
  fs::remove(root_ / "bus/pci/devices/0000:3b:00.0/sriov_numvfs");
  fs::create_directory(root_ / "bus/pci/devices/0000:3b:00.0/sriov_numvfs");
  EXPECT_THROW(sysfs.EnableVirtualFunctions(1), Error);
}

TEST(VfTokenTest, IsAUuid) {
  const std::string text = "83d8f4f2-509f-382f-3c1e-e6bfe0fa1001";
  const VfToken token = VfToken::Parse(text);
  EXPECT_EQ(token.bytes.front(), 0x83);
  EXPECT_EQ(token.bytes.back(), 0x01);
  EXPECT_EQ(token.Text(), text);
  EXPECT_EQ(VfToken::Parse("83D8F4F2-509F-382F-3C1E-E6BFE0FA1001").Text(), text);
  EXPECT_THROW(VfToken::Parse(""), Error);
  EXPECT_THROW(VfToken::Parse(text + "0"), Error);
  EXPECT_THROW(VfToken::Parse("83d8f4f2-509f-382f-3c1e-e6bfe0fa100g"), Error);
  EXPECT_THROW(VfToken::Parse("83d8f4f2a509f-382f-3c1e-e6bfe0fa1001"), Error);
  EXPECT_NE(VfToken::Random().Text(), VfToken::Random().Text());
}

}  // namespace
}  // namespace spyre::driver::vfio_transport_test
