// SPDX-License-Identifier: Apache-2.0
// The verifier between the passes of the front end: what every graph must be, whoever made it. It
// shares no decision with the passes. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

struct Finding {
  // undefined_buffer, duplicate_buffer, shape_mismatch, loop_group, list, layout, split,
  // lx_overlap, lx_capacity, lx_cores, lifetime, no_place, pool
  std::string kind;
  std::string subject;  // operation or buffer
  std::string message;
};

// Of the list: names are unique, everything is computed before it is read, outputs have the shape
// that their operation gives. From `lower` on: buffers are defined before they are read, accesses
// have the rank and the extents of their buffers (accesses that cross the border of a loop from
// `propagate` on), the operations of a loop follow each other and agree on its trips; operations,
// operands and dimensions are those of the list; layouts give every element a place of its own.
// From `division` on: every operation has as many splits as loops, each divides its loop, and their
// product is at most the cores. From `lx` on: every buffer has a place, what lives at the same time
// does not overlap, in LX each part of a core ends within the capacity and every core reads what it
// has written itself, and lifetimes hold every access of every iteration. A result of exp or sub
// may take the place of an operand that it walks alike and that dies there.
std::vector<Finding> FindingsOf(const FrontEndResult& graph, const FrontEndOptions& options);

// Throws CompileError "VerifierError" with the kind of the first finding, naming the last pass and
// all findings.
void Verify(const FrontEndResult& graph, const FrontEndOptions& options);

}  // namespace spyre::compiler
