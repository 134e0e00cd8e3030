// SPDX-License-Identifier: Apache-2.0
// Products that walk whole sticks of a dimension which ends within one. Pure function, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// Where a tensor is multiplied by its own transpose (t @ t.T), torch-spyre hands both operands the
// tensor whose sticks were changed for one of them. Then rows of the result are in the sticks of
// the first operand, or what is summed over in those of the second, and the product walks whole
// sticks of such a dimension also in tensors that have it outside their sticks and have fewer
// elements of it: its result would run into what is behind it in memory, and where the dimension
// is divided over cores, their starts are those of other parts than their slices.
//
// How many elements there are is what the operations beside it say that write its operands or read
// its result. The dimension gets that size; if it was divided, one core of those that shared it
// does the whole; and starts that contradict the layout are made those of the layout. Nothing
// changes where no other operation tells. Returns a line for each product.
//
// Throws BadInput naming file and dimension if it was divided and a tensor of the product stays in
// LX, where no other core finds its part.
std::vector<std::string> ResolvePaddedProducts(Bundle& bundle);

}  // namespace spyre::compiler
