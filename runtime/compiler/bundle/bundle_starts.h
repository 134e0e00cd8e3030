// SPDX-License-Identifier: Apache-2.0
// Whether the cores begin where the layout of their tensors puts them. Pure function, any thread.
#pragma once

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// A tensor in device memory has two descriptions of its place: the layout says how far apart its
// elements lie, and each core has a start address of its own. Where a core steps through a
// dimension that is divided over cores, both say how far it is from element to element, and must
// agree. They do not for windows that overlap (torch's unfold): no layout describes those, and
// whatever is computed by it is wrong.
//
// Throws BadInput naming file, tensor, dimension, cores and both distances.
void CheckStarts(const Bundle& bundle);

}  // namespace spyre::compiler
