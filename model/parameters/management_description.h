// SPDX-License-Identifier: Apache-2.0
// The part of card_description.h that is about the management controller: its firmware, and the
// flash that this lies in.
#pragma once

#include "model/common/card_config.h"

namespace spyre::model {

// Visitor: as DescribeCard.
template <class Visitor>
void DescribeManagement(ManagementConfig& c, Visitor& v) {
  v.Choice(
      "management.fidelity", c.fidelity, {"behavioural", "rtl"},
      "Where the firmware runs: as host code that takes message_ns for each request, or on the "
      "RTL of its RV32IM controller (model/rtl/rv32)",
      "assumed");
  v.Number("management.clock_mhz", c.clock_mhz, 1, 10000, "MHz",
           "RTL: clock of the controller; not public, usual for a small embedded core", "assumed");
  v.Number("management.message_ns", c.message_ns, 0, 1000000, "ns",
           "behavioural: serving one request, such as checking and translating one VF message",
           "assumed");
  v.Number("management.scrub_bytes_per_us", c.scrub_bytes_per_us, 1, 10000000, "bytes/us",
           "Clearing memory that a function had before another gets it; half of the peak rate of "
           "device memory, so that others can work",
           "assumed");
  v.Path("management.firmware", c.firmware,
         "RTL: ELF image that a new flash has in both slots; \"\": the one built from firmware/");
  v.Number("management.boot_deadline_us", c.boot_deadline_us, 1, 10000000, "us",
           "Firmware that is not ready by then has failed; PCIe gives a device 100 ms, simulation "
           "wants to know sooner",
           "assumed");
  v.Path("management.flash", c.flash,
         "File with the contents of the card's flash, which firmware updates change; made if it is "
         "not there; \"\": new at each start");
  v.Number("management.flash_erase_us", c.flash_erase_us, 0, 10000000, "us",
           "Erasing a sector of 4 KiB of the flash; typical of serial NOR flash", "assumed");
  v.Number("management.flash_program_us", c.flash_program_us, 0, 1000000, "us",
           "Programming a page of 256 bytes of the flash; typical of serial NOR flash", "assumed");
  v.Number("management.flash_read_mbps", c.flash_read_mbps, 1, 10000, "MB/s",
           "Reading the flash: four data lines at 100 MHz", "assumed");
  v.Number(
      "management.trial_boots", c.trial_boots, 1, 255, "boots",
      "Times that new firmware is started before the card goes back to the one before; one may "
      "be lost to a power cut",
      "assumed");
}

}  // namespace spyre::model
