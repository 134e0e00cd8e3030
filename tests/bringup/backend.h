// SPDX-License-Identifier: Apache-2.0
// Where the bring-up ladder meets a card. The ladder itself knows only driver::Transport; to run it
// on another backend, link another definition of OpenBackend in place of inprocess_backend.cc.
#pragma once

#include <memory>

#include "driver/transport.h"

namespace spyre::bringup {

// A card after power-on, never touched, with at least kVirtualFunctions virtual functions to
// enable. Called once per process.
inline constexpr int kVirtualFunctions = 2;
std::unique_ptr<driver::Transport> OpenBackend();

}  // namespace spyre::bringup
