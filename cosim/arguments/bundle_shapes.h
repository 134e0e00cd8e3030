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

// Where nothing is known: each tensor argument as the image of its sticks on the device, with a row
// for each stick that the bundle reaches and every element of it in use; where an index chooses
// among blocks, as many blocks as there are indices. The host's type is one
// that holds every number of the device's: float32 for SEN169_FP16. Where the bundle takes an
// argument for tensors of several formats, the first access counts.
std::vector<ArgumentShape> ShapesOfImages(const compiler::Bundle& bundle,
                                          const std::vector<compiler::ArgumentUse>& uses);

}  // namespace spyre::cosim
