// SPDX-License-Identifier: Apache-2.0
// Tests of a memory that find and locate faulty cells: the classic ones of memory testing (A. J.
// van de Goor, "Testing Semiconductor Memories", 1991), on cells of many bits.
//
// A cell is `cell_bytes` bytes at one of the given addresses; order means the order of the cells.
// Pure algorithms over MemoryUnderTest, single thread. Errors: those of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace spyre::bringup {

class MemoryUnderTest {
 public:
  virtual ~MemoryUnderTest() = default;
  virtual void Write(uint64_t address, const uint8_t* data, size_t bytes) = 0;
  // False: the memory gives no data, because it knows that they are wrong.
  virtual bool Read(uint64_t address, uint8_t* data, size_t bytes) = 0;
};

// A word of 8 bytes that was not read as it was written, or the first one of a cell that gave none.
struct MemoryFault {
  uint64_t address = 0;
  uint64_t expected = 0, found = 0;
  const char* step = "";    // of the test: "march, up, read 0 write 1"
  bool unreadable = false;  // found says nothing
};

struct MemoryFaults {
  static constexpr size_t kKept = 64;
  std::vector<MemoryFault> first;  // the first kKept
  uint64_t count = 0;              // words that were wrong or not there, of all reads
  std::set<uint64_t> cells;        // in which they are
};

struct Cells {
  std::vector<uint64_t> addresses;
  size_t cell_bytes = 0;  // a multiple of 8
};

// March C-: up (w0); up (r0,w1); up (r1,w0); down (r0,w1); down (r1,w0); (r0). Finds cells that are
// stuck or cannot change, wrong address decoding, and cells that change when another is written. 0
// is a background of 8 bytes and 1 its complement; with the backgrounds all zeros, 01, 0011 and
// 00001111, that also holds between bits of a byte. Leaves 0 of the last background.
MemoryFaults MarchCMinus(MemoryUnderTest& memory, const Cells& cells,
                         const std::vector<uint64_t>& backgrounds);
const std::vector<uint64_t>& MarchBackgrounds();

// Each word of 8 bytes holds its address, then the complement: finds addresses that mean the same
// place, in two writes and two reads of each cell. Only one pass if complement is false.
MemoryFaults AddressInAddress(MemoryUnderTest& memory, const Cells& cells, bool complement = true);

// One bit of 64 walks through each word, first among zeros, then among ones: finds data lines that
// are stuck, open, or tied to another.
MemoryFaults WalkingBits(MemoryUnderTest& memory, const Cells& cells);

}  // namespace spyre::bringup
