// SPDX-License-Identifier: Apache-2.0
// Where the cores begin, held against the layout of their tensors. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/bundle/bundle_accesses.h"

namespace spyre::compiler {

// A tensor in device memory has two descriptions of its place: the layout says how far apart its
// elements lie, and each core has a start address of its own. Where a core steps through a
// dimension that is divided over cores, both say how far it is from element to element, and must
// agree. They do not for windows that overlap (torch's unfold): no layout describes those, and
// whatever is computed by it is wrong.
//
// Throws BadInput naming file, tensor, dimension, cores and both distances.
void CheckStarts(const Bundle& bundle);

// A change of sticks (ReStickifyOpHBM) walks whole blocks of 64 by 64 elements, also where a tensor
// ends within one. torch-spyre then writes into the tensor's back gap how many rows of the walk are
// not in memory; for every other operation, and for slices of a longer tensor, a gap is what lies
// in memory behind the walk. The file does not say which of the two is meant: a gap of less than a
// stick in the dimension that the other tensor has in its sticks is rows of the walk, unless the
// cores' starts fit the other meaning alone. Such a dimension gets the size that is in memory. In
// LX, where no starts tell, it is rows of the walk: torch-spyre places no tensor with a gap there.
void ResolvePaddedWalks(Bundle& bundle);

// A conversion between widths has as many elements on one side as on the other. Where their number
// does not fill the sticks of both, torch-spyre counts the steps of a core by one side and writes
// starts of the other side that contradict its layout: slices would overlap, or begin inside a
// stick. If one side agrees with its layout and the other does not, the layout of the other counts,
// which is what the operations that read the result take it to be. Returns a line for each.
std::vector<std::string> ResolveConversionStarts(Bundle& bundle);

// Whether the cores' starts agree with the layout in every dimension that is divided, whether or
// not a core steps through it; a line that says how they do not, empty if they do.
bool StartsFit(const BundleAccess& access);
std::string SayStarts(const BundleAccess& access);

// From where its first core begins, each of these tensors gets the starts that its layout says.
// `accesses` are of `bundle`, of tensors whose starts are symbols.
void StartByLayout(Bundle& bundle, const std::vector<BundleAccess>& accesses);

}  // namespace spyre::compiler
