// SPDX-License-Identifier: Apache-2.0
// Configuration spaces as text that pciutils reads: `lspci -F FILE -vvv` decodes them, and two of
// them can be compared line by line.
#pragma once

#include <string>

#include "driver/transport.h"

namespace spyre::bringup {

// All 4,096 bytes of every function from the physical one on that answers, as `lspci -xxxx` prints
// them; function n stands at 01:(n / 8).(n % 8), which is where it is on bus 1 with ARI.
std::string DumpConfigSpaces(driver::Transport& card);

}  // namespace spyre::bringup
