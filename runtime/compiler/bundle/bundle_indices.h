// SPDX-License-Identifier: Apache-2.0
// Among how many blocks of a tensor an index tensor may choose. The files do not say it: what does
// is how the rest of the bundle uses the tensor, or where its argument ends. Pure functions, any
// thread. Errors: BadInput for a symbol that the execute does not bind.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// Of the indexed tensor of `execute`, whose segments are bound. `bytes`: of an argument, by its
// position. The largest tensor that another access has at the same address counts; if there is
// none, all that is behind the address.
int64_t IndexedRows(const Bundle& bundle, const BundleExecute& execute,
                    const std::function<int64_t(int argument)>& bytes);

// Arguments, by their positions, of which an index chooses blocks and nothing else in the bundle
// says how many there are.
std::set<int> ChosenFrom(const Bundle& bundle);

// The index tensor of `execute`, for messages: "arg_1 (Tensor0 of sdsc_1.json)".
std::string IndexName(const Bundle& bundle, const BundleExecute& execute);

}  // namespace spyre::compiler
