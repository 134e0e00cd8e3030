// SPDX-License-Identifier: Apache-2.0
// What LX planning (lx_planning.h) is told of the front end's graph. Callers: the pass `lx`,
// co-optimization. Pure functions, any thread.
#pragma once

#include <map>
#include <string>

#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

// Buffers that must be in device memory, and why: loops walk through them, or data moves between
// cores on the way.
std::map<std::string, std::string> DeviceBuffers(const Graph& graph);

// `graph` as tiling left it, `divisions` by operation. Of the results that are not in `device`, all
// may stay in LX with lx_planning, and those of `pins` always.
LxGraph ToLxGraph(const Graph& graph, const std::map<std::string, WorkDivision>& divisions,
                  const std::map<std::string, std::string>& device, bool lx_planning,
                  const std::map<std::string, LxPin>& pins);

}  // namespace spyre::compiler
