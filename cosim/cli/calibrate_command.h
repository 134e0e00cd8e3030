// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim calibrate`: kernel times of the modelled card beside calibration points. Single
// thread. Errors: Error(kBadInput).
#pragma once

#include "base/command_line/command_line.h"

namespace spyre::cosim {

void AddCalibrateCommand(command_line::Command& root);

}  // namespace spyre::cosim
