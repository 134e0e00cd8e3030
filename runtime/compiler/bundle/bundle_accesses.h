// SPDX-License-Identifier: Apache-2.0
// Who reads and writes which bytes of device memory in a bundle, in the order of execution. What
// binding of segments and of arguments is decided by. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// A union of intervals [begin, end) of bytes.
class ByteSet {
 public:
  void Add(int64_t begin, int64_t end);
  bool Covers(int64_t begin, int64_t end) const;
  int64_t end() const { return ends_.empty() ? 0 : ends_.rbegin()->second; }
  // Behind the last byte of the interval that begins at 0; 0: there is none.
  int64_t whole() const { return Covers(0, 1) ? ends_.begin()->second : 0; }

 private:
  std::map<int64_t, int64_t> ends_;  // begin -> end
};

// One tensor in device memory, as one execute uses it.
struct BundleAccess {
  const BundleExecute* execute = nullptr;
  const SuperDsc* dsc = nullptr;
  const SdscTensor* tensor = nullptr;
  const std::string* file = nullptr;  // of the dsc
  bool written = false;
  std::vector<int64_t> trips;  // of the loops around, outermost first
};

// Every access in program order, loops entered once; of one execute first all that is read.
std::vector<BundleAccess> Accesses(const Bundle& bundle);

// Where a core's part begins, in every iteration of the loops around. Throws BadInput for a symbol
// that the execute does not bind.
AddressExpression StartOf(const BundleAccess& access, size_t core);

// What one part of memory (a segment, an argument) goes through.
struct MemoryUse {
  bool read = false;
  bool written = false;
  bool read_first = false;  // some byte is read that no earlier execute wrote
  int64_t end = 0;          // behind the last byte that is touched
  int64_t written_end = 0;  // behind the last byte that is written
  int64_t whole_end = 0;    // behind the last byte before the first one that is not written
};

// By slot: the segment of an address without argument, else kFirstArgumentSlot + its argument.
//
// Exact, to the byte, by running the loops, as long as that takes at most a million runs of bytes.
// Beyond, each access counts as one interval from its first byte to its last, over all cores and
// all iterations: what is written in pieces counts as written throughout.
//
// Throws BadInput naming file and tensor for bytes before an argument's first or more than 2^46
// behind it, for a tensor in two segments, in the program's or beyond the last, and for cores of
// one tensor in different arguments.
inline constexpr int kFirstArgumentSlot = 8;
std::map<int, MemoryUse> MemoryUses(const Bundle& bundle);

}  // namespace spyre::compiler
