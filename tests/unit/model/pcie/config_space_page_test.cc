// SPDX-License-Identifier: Apache-2.0
// The table of docs/configuration-space.md is what a host finds in the configuration spaces: which
// words are there, what they hold after power-on, and which bits exist for it to change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "model/pcie/config_space.h"
#include "tests/paths.h"

namespace spyre::model::config_space_page_test {
namespace {

// Names of the PCI and PCI Express specifications.
const std::map<uint32_t, const char*> kNames = {
    {0x000, "Vendor ID, Device ID"},
    {0x004, "Command, Status"},
    {0x008, "Revision ID, Class Code"},
    {0x010, "BAR 0, registers"},
    {0x014, "BAR 0, upper half"},
    {0x018, "BAR 2, window onto device memory"},
    {0x01C, "BAR 2, upper half"},
    {0x020, "BAR 4, SRAM"},
    {0x024, "BAR 4, upper half"},
    {0x02C, "Subsystem Vendor ID, Subsystem ID"},
    {0x034, "Capabilities Pointer"},
    {0x03C, "Interrupt Line, Interrupt Pin"},
    {0x040, "Power Management Capabilities"},
    {0x044, "Power Management Control/Status"},
    {0x050, "MSI Message Control"},
    {0x054, "MSI Message Address"},
    {0x058, "MSI Message Upper Address"},
    {0x05C, "MSI Message Data"},
    {0x060, "MSI Mask Bits"},
    {0x070, "PCI Express Capabilities"},
    {0x074, "Device Capabilities"},
    {0x078, "Device Control, Device Status"},
    {0x07C, "Link Capabilities"},
    {0x080, "Link Control, Link Status"},
    {0x094, "Device Capabilities 2"},
    {0x098, "Device Control 2"},
    {0x09C, "Link Capabilities 2"},
    {0x0A0, "Link Control 2, Link Status 2"},
    {0x0B0, "VPD Address, Flag"},
    {0x100, "Advanced Error Reporting"},
    {0x104, "Uncorrectable Error Status"},
    {0x108, "Uncorrectable Error Mask"},
    {0x10C, "Uncorrectable Error Severity"},
    {0x110, "Correctable Error Status"},
    {0x114, "Correctable Error Mask"},
    {0x150, "Alternative Routing-ID Interpretation"},
    {0x160, "Single Root I/O Virtualization"},
    {0x164, "SR-IOV Capabilities"},
    {0x168, "SR-IOV Control, SR-IOV Status"},
    {0x16C, "InitialVFs, TotalVFs"},
    {0x170, "NumVFs"},
    {0x174, "First VF Offset, VF Stride"},
    {0x178, "VF Device ID"},
    {0x17C, "Supported Page Sizes"},
    {0x180, "System Page Size"},
    {0x184, "VF BAR 0"},
    {0x188, "VF BAR 0, upper half"},
};

std::string Cell(uint32_t value) { return value == 0 ? "" : fmt::format("`{:08x}`", value); }

std::string Table() {
  std::string table =
      "\n| offset | registers, from bit 0 on | PF: after power-on | can be written | VF: after "
      "power-on | can be written | cleared by writing 1 |\n|---|---|---|---|---|---|---|\n";
  const ConfigSpace physical;
  const ConfigSpace virtual_function(physical, 1);
  const ConfigLayout layout = PhysicalConfigLayout(), vf_layout = VirtualConfigLayout();
  for (uint32_t offset = 0; offset < kConfigBytes; offset += 4) {
    const uint32_t reset = physical.Read32(offset), vf_reset = virtual_function.Read32(offset);
    const uint32_t clear = layout.clear[offset / 4];
    const uint32_t writable = layout.writable[offset / 4];
    const uint32_t vf_writable = vf_layout.writable[offset / 4];
    EXPECT_EQ(clear, vf_layout.clear[offset / 4]) << "one column is not enough";
    if ((reset | vf_reset | writable | vf_writable | clear) == 0) continue;
    const auto name = kNames.find(offset);
    EXPECT_NE(name, kNames.end()) << "a word without a name at " << std::hex << offset;
    if (name == kNames.end()) continue;
    table += fmt::format("| {:03x} | {} | {} | {} | {} | {} | {} |\n", offset, name->second,
                         fmt::format("`{:08x}`", reset), Cell(writable),
                         fmt::format("`{:08x}`", vf_reset), Cell(vf_writable), Cell(clear));
  }
  return table;
}

TEST(ConfigSpacePage, ItsTableIsWhatAHostFinds) {
  const std::string path = SPYRE_SOURCE_DIR "/docs/configuration-space.md";
  const std::string begin = "<!-- space: written by tests/unit/model/pcie -->\n";
  const std::string end = "<!-- end of space -->";
  const auto read = [&] {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const std::string text = read();
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos) << path << " has no " << begin;
  ASSERT_NE(to, std::string::npos) << path << " has no " << end;
  const std::string expected =
      text.substr(0, from + begin.size()) + Table() + "\n" + text.substr(to);
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) std::ofstream(path) << expected;
  EXPECT_EQ(read(), expected) << "run again with SPYRE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace spyre::model::config_space_page_test
