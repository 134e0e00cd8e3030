// SPDX-License-Identifier: Apache-2.0
// What the works of operations and those of a bundle's steps choose alike, for the closed form.
// Pure functions, any thread.
#pragma once

#include <cstdint>

#include "model/contract/vector_functions.h"
#include "model/formula/kernel_work.h"
#include "runtime/compiler/kernels/public_tiling.h"

namespace spyre::cosim {

// So many of a size are needed for all of it.
inline uint64_t PartsOf(uint64_t whole, uint64_t size) { return (whole + size - 1) / size; }

// The tile that the closed compiler takes, into the work. lx_bytes: that a program may use.
void ChooseTile(model::MatmulWork& work, uint64_t lx_bytes);

// Whether it is an instruction that needs no table.
bool IsStep(UnaryFn fn);
model::VectorLoop LoopOf(UnaryFn fn);

// through: all comes from memory and goes there.
compiler::PublicStreamTile StreamTileOf(model::VectorLoop loop, bool through);

}  // namespace spyre::cosim
