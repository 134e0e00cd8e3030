// SPDX-License-Identifier: Apache-2.0
// Shapes of a bundle's arguments from its addresses alone, where one operation covers an argument
// as a default layout would lie. Pure functions, any thread.
#pragma once

#include <optional>
#include <vector>

#include "cosim/arguments/argument_shapes.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

// One for each tensor argument of a bundle whose segments are bound; empty if an argument is not
// covered by one tensor of one operation from its first byte to its last, or lies in another way.
std::optional<std::vector<ArgumentShape>> ShapesFromAddresses(
    const compiler::Bundle& bundle, const std::vector<compiler::ArgumentUse>& uses);

}  // namespace spyre::cosim
