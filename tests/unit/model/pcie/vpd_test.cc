// SPDX-License-Identifier: Apache-2.0
// Vital product data as a host reads them: word by word through the capability. The bytes are taken
// apart by the format of the PCI Local Bus specification.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/pcie/config_space.h"
#include "model/pcie/vpd_image.h"
#include "tests/unit/model/pcie/config_space_access.h"

namespace spyre::model::vpd_test {
namespace {

using test::FindCapability;

VpdConfig Numbers() { return {"PN-42", "SERIAL 0007"}; }

std::string ReadAll(ConfigSpace& space, uint32_t words) {
  const uint32_t at = FindCapability(space, 0x03);
  EXPECT_NE(at, 0u);
  std::string bytes;
  for (uint32_t address = 0; address < words * 4; address += 4) {
    space.Write32(at, address << 16, 0xC);
    EXPECT_EQ(space.Read32(at) >> 31, 1u) << "the data are there";
    EXPECT_EQ(space.Read32(at) >> 16 & 0x7FFF, address);
    const uint32_t word = space.Read32(at + 4);
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(word >> (8 * i));
  }
  return bytes;
}

TEST(Vpd, IsTheFormatOfTheSpecificationWithItsChecksum) {
  ConfigSpace space;
  space.SetVpd(VpdImage(Numbers()));
  const std::string bytes = ReadAll(space, 64);
  ASSERT_EQ(static_cast<uint8_t>(bytes[0]), 0x82) << "identifier string";
  const size_t name = static_cast<uint8_t>(bytes[1]) | static_cast<uint8_t>(bytes[2]) << 8;
  EXPECT_EQ(bytes.substr(3, 9), "IBM Spyre");
  const size_t read_only = 3 + name;
  ASSERT_EQ(static_cast<uint8_t>(bytes[read_only]), 0x90);
  const size_t length =
      static_cast<uint8_t>(bytes[read_only + 1]) | static_cast<uint8_t>(bytes[read_only + 2]) << 8;
  const std::string fields = bytes.substr(read_only + 3, length);
  EXPECT_EQ(fields.substr(0, 8), std::string("PN\x05PN-42"));
  EXPECT_EQ(fields.substr(8, 14), std::string("SN\x0BSERIAL 0007"));
  ASSERT_EQ(fields.substr(length - 4, 3), std::string("RV\x01"));
  EXPECT_EQ(static_cast<uint8_t>(bytes[read_only + 3 + length]), 0x78) << "end";
  unsigned sum = 0;
  for (size_t i = 0; i < read_only + 3 + length; ++i) sum += static_cast<uint8_t>(bytes[i]);
  EXPECT_EQ(sum % 256, 0u);
}

TEST(Vpd, TakesNoWrites) {
  ConfigSpace space;
  space.SetVpd(VpdImage(Numbers()));
  const std::string before = ReadAll(space, 8);
  const uint32_t at = FindCapability(space, 0x03);
  space.Write32(at + 4, 0xFFFFFFFF);
  space.Write32(at, 0x80000000, 0xC);
  EXPECT_EQ(space.Read32(at) >> 31, 0u) << "the write is over";
  EXPECT_EQ(ReadAll(space, 8), before);
}

TEST(Vpd, BehindItsEndIsNothing) {
  ConfigSpace space;
  space.SetVpd(VpdImage(Numbers()));
  const uint32_t at = FindCapability(space, 0x03);
  space.Write32(at, 0x7FFCu << 16, 0xC);
  EXPECT_EQ(space.Read32(at + 4), 0u);
}

TEST(Vpd, IsThePhysicalFunctionsAlone) {
  const ConfigSpace physical;
  EXPECT_EQ(FindCapability(ConfigSpace(physical, 1), 0x03), 0u);
}

}  // namespace
}  // namespace spyre::model::vpd_test
