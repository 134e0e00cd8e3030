// SPDX-License-Identifier: Apache-2.0
// Places intermediates in one pool of device memory; those that never live together may share a
// place. Pure functions, any thread. Bytes; times in operations. Source: public memory planner
// (docs/facts.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::compiler {

struct PoolBuffer {
  std::string name;
  int64_t size = 0;    // at least 0
  int64_t start = 0;   // first operation that touches it
  int64_t end = 0;     // behind the last
  int64_t offset = 0;  // result
};

// In order of their start, each takes the first block that was given back and is large enough, the
// rest of which is given back, or else extends the pool. Sets the offsets and returns the bytes of
// the pool. Throws CompileError "RuntimeError" / "pool_overflow" beyond a segment (16 GiB).
int64_t PlacePool(std::vector<PoolBuffer>& buffers);

}  // namespace spyre::compiler
