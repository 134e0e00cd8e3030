// SPDX-License-Identifier: Apache-2.0
// The matmul part of the reference; see reference.h.
#pragma once

#include <memory>

#include "cosim/reference/reference.h"

namespace spyre::cosim {

std::unique_ptr<Reference> MakeMatmulReference(const ReferenceProblem& problem);

}  // namespace spyre::cosim
