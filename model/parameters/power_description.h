// SPDX-License-Identifier: Apache-2.0
// The part of card_description.h that is about power, temperature and what the card says of itself.
// Nothing of it changes a result or, unless power.throttle says so, a time.
#pragma once

#include "model/common/card_config.h"

namespace spyre::model {

// Visitor: as DescribeCard, and
//   void Text(key, std::string& value, description)
template <class Visitor>
void DescribePower(PowerConfig& c, Visitor& v) {
  v.Number("power.idle_mw", c.idle_mw, 0, 1000000, "mW",
           "A card that does nothing: a public listing of the card's monitor shows 18.9 to 19.0 W",
           "public");
  v.Number("power.busy_mw", c.busy_mw, 0, 1000000, "mW",
           "More than that while an operation runs, whatever it does: with it and some traffic the "
           "card takes the public 27 W, above which its monitor counts power as that of the PT "
           "arrays",
           "derived");
  v.Number("power.mac_fj", c.mac_fj, 0, 1000000, "fJ",
           "A multiply-accumulate of fp16; a narrow format takes core.pt_rate_* times less. Not "
           "public: the ancestor chip at 7 nm reached 3.5 TFLOPS/W in a format of half the width, "
           "1.1 pJ for fp16 with everything around the arrays",
           "assumed");
  v.Number("power.vector_byte_fj", c.vector_byte_fj, 0, 1000000, "fJ",
           "A byte of operands and results that passes a vector unit, beside the access to LX",
           "assumed");
  v.Number("power.lx_byte_fj", c.lx_byte_fj, 0, 1000000, "fJ",
           "A byte read from or written to LX; usual for an SRAM of this size at 5 nm", "assumed");
  v.Number("power.ring_byte_fj", c.ring_byte_fj, 0, 1000000, "fJ",
           "A byte over one link of the ring: about a millimetre of wire at 0.1 pJ a bit",
           "assumed");
  v.Number("power.memory_byte_fj", c.memory_byte_fj, 0, 10000000, "fJ",
           "A byte of data read from or written to device memory, with its activates and check "
           "bytes: usual LPDDR5, device and interface together 5 pJ a bit",
           "assumed");
  v.Number(
      "power.pcie_byte_fj", c.pcie_byte_fj, 0, 10000000, "fJ",
      "A byte of a packet on the PCIe link, the card's side: usual figures for Gen5 are 5 to 6 "
      "pJ a bit",
      "assumed");
  v.Number("power.ambient_c", c.ambient_c, 0, 100, "degrees C", "Of the air that cools the card",
           "assumed");
  v.Number("power.thermal_mk_per_w", c.thermal_mk_per_w, 1, 100000, "mK/W",
           "Thermal resistance from the chip to that air: with 25 degrees C the idle card of the "
           "public listing has its 30.8 degrees C",
           "derived");
  v.Number("power.time_constant_us", c.time_constant_us, 1, 10000000000, "us",
           "In which the temperature comes 63 % of the way to where the power leads it; a passive "
           "heat sink of a card takes tens of seconds",
           "assumed");
  v.Choice("power.throttle", c.throttle, {"none", "clock"},
           "clock: over limit_mw or limit_c the cores' clock slows, and times with it; none: the "
           "sensors show what there is and nothing follows",
           "choice");
  v.Number("power.limit_mw", c.limit_mw, 1, 1000000, "mW",
           "Throttling: most that the card may take, the power of its slot", "public");
  v.Number("power.limit_c", c.limit_c, 1, 200, "degrees C",
           "Throttling: the hottest that the chip may be; not public, usual for a chip", "assumed");
  v.Number("power.interval_us", c.interval_us, 1, 1000000, "us",
           "Throttling: how often power and temperature are looked at while the cores work",
           "assumed");
  v.Number("power.least_percent", c.least_percent, 1, 100, "%",
           "Throttling: the slowest clock, of clock.core_mhz", "assumed");
}

template <class Visitor>
void DescribeVpd(VpdConfig& c, Visitor& v) {
  v.Text("vpd.part_number", c.part_number,
         "Part number in the card's vital product data: 1 to 32 printable characters");
  v.Text("vpd.serial_number", c.serial_number,
         "Serial number in the card's vital product data: 1 to 32 printable characters");
}

}  // namespace spyre::model
