// SPDX-License-Identifier: Apache-2.0
// Runs passes of the front end over its graph, with the verifier behind each.
//
// Callers: CompileNamedGraph (all of them), `opt` and `compile --emit` (some). Any thread, one
// graph at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// Whom to tell; both may be empty. `after`: the pass left a graph that the verifier accepts.
struct PassObserver {
  std::function<void(const FrontEndPass& pass)> before;
  std::function<void(const FrontEndPass& pass, const FrontEndResult& graph)> after;
};

// Runs the named passes in the order given. A pass that another one needs and that has not run yet
// runs before it; tiling that was begun is finished before work is divided. A pass that runs again
// drops what later ones left.
//
// Throws what the pass throws: the graph is then what that pass made of it so far, and was left
// whole at the last call of `after`. BadInput for a name that is not a pass (with the nearest one)
// and for a pass that cannot run behind one that has; CompileError of the verifier (verify.h).
void RunPasses(const std::vector<std::string>& names, const FrontEndOptions& options,
               FrontEndResult& graph, const PassObserver& observer = {});

// Drops what the pass, and those behind it, left when they ran before.
void DropFrom(const FrontEndPass& pass, FrontEndResult& graph);

// Throws BadInput with the nearest name and all names.
const FrontEndPass& RequireFrontEndPass(const std::string& name);
// "a,b,c"; nothing: one of them is not a pass of the front end.
bool AreFrontEndPasses(const std::string& list);
std::vector<std::string> SplitPassList(const std::string& list);

}  // namespace spyre::compiler
