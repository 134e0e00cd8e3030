// SPDX-License-Identifier: Apache-2.0
// The program format: what a COMPUTE operation runs. The ISA of the real card is not public; this
// one is this project's own, versioned, and described for readers in docs/program-format.md.
//
// A program is a set of sections, one per kind of unit, each run by that unit's own sequencer on
// every core in the section's core mask (SPMD: cores differ by their core registers). The units of
// a core run decoupled; only tokens order them. A token is a counting semaphore of the core, 1..63,
// zero at start: an instruction with `wait` waits until the token is positive and takes one before
// it executes; one with `signal` gives one after it has finished (for LOAD: after its last byte is
// in LX). The instructions of one section finish in order.
//
// A sequencer has 64 registers of 64 bits, r0 always 0. Every tensor operand is a register, so that
// addresses, sizes and strides can be affine in loop counters, in core registers and in the address
// table.
//
// Threads: plain data and pure functions. Errors: Decode and Assemble throw
// spyre::Error(kBadInput).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/contract/formats.h"
#include "model/contract/memory_map.h"
#include "model/contract/vector_functions.h"

namespace spyre {

enum class Unit : uint8_t { kLoad = 0, kStore = 1, kPt = 2, kVector = 3, kRing = 4 };
inline constexpr int kUnitCount = 5;
const char* UnitName(Unit unit);  // "load", "store", "pt", "vector", "ring"

enum class Op : uint8_t {
  // Every unit. One cycle each.
  kNop = 0,   //
  kLi = 1,    // rd = imm
  kTab = 2,   // rd = address_table[imm]
  kCreg = 3,  // rd = core_registers[this core][imm]
  kMadd = 4,  // rd = ra + rb * imm
  kMul = 5,   // rd = ra * rb + imm
  kMin = 6,   // rd = min(ra, rb)
  kLoop = 7,  // for rd in 0 .. ra-1: body up to the matching kEnd (ra <= 0: body skipped). Depth at
              // most 8
  kEnd = 8,   //
  kLdx = 9,   // rd = the 32-bit number at LX address ra, which is below imm
  // load and store unit: boxes of `planes` x `rows` x `row_bytes` between LX and device memory
  kLoad = 16,  // lx, dev, row_bytes, rows, dev_row_stride, lx_row_stride, planes, dev_plane_stride,
               // lx_plane_stride, group
  kStore = 17,  // lx, dev, row_bytes, rows, dev_row_stride, lx_row_stride, planes,
                // dev_plane_stride, lx_plane_stride
  // PT array
  kMatmul =
      32,  // acc, a, b, m, n, k, a_kstick_stride, b_nstick_stride, acc_nstick_stride, accumulate
  // vector unit
  kVbinary = 48,      // dst, a, b, rows, planes, dst_plane, a_plane, b_plane, dst_row, a_row, b_row
  kVunary = 49,       // dst, a, -, rows, planes, dst_plane, a_plane, -, dst_row, a_row
  kVreduce = 50,      // dst, a, accumulate, rows, planes, -, a_plane, -, dst_row, a_row, -, cols
  kVreduceRows = 51,  // dst, a, accumulate, rows, planes, dst_plane, a_plane, -, -, a_row
  kVround = 52,       // dst, a, divisor, rows, planes, dst_plane, a_plane, -, dst_row, a_row
  kVaccumulate = 53,  // dst, a, b, count
  kVfill = 54,        // dst, value, row_bytes, rows, dst_row
  kVreloc = 55,       // dst, src, records
  kVtranspose = 56,   // dst, a, dst_stick, a_stick, blocks, dst_block, a_block, planes, dst_plane,
                      // a_plane
  kVconvert = 57,  // dst, a, pair, rows, planes, dst_plane, a_plane, scale, dst_row, a_row, shift
  // ring unit
  kSend = 64,     // core, dst_lx, src_lx, bytes, token
  kBarrier = 65,  // mask, id
  kMark = 66,     // iteration; imm: step
};

// `fn` of kMatmul: the format of a and b in the low five bits. At most one flag above says how the
// corelets share the work, each block of weights loaded when the array is free. Without one, the
// corelets take different columns while there are enough, else different rows, and a block is
// loaded behind the rows of the one before. Flags change times, never bits.
enum class MatmulFn : uint8_t {
  kSen169Fp16 = 0,
  kSen143Fp8,
  kSen152Fp8,
  kSenInt8,
  kSenInt4,
  kSen143Fp8Wt  // SEN143_FP8 as the conversions leave it: a by kDl16ToFp8, b by kDl16ToFp8Wt
};
inline constexpr uint8_t kMatmulOneCorelet = 0x20;  // the others do nothing
inline constexpr uint8_t kMatmulRows = 0x40;        // different rows, the same weights
inline constexpr uint8_t kMatmulColumns = 0x80;     // different columns, one set of weights each
inline constexpr uint8_t kMatmulCorelets = kMatmulOneCorelet | kMatmulRows | kMatmulColumns;
DataFormat OperandFormat(MatmulFn fn);
int WeightRows(MatmulFn fn);  // rows of k that a stick of b holds: 2 of kSen143Fp8Wt, else 1

// `fn` of kVbinary, kVunary, kVreduce and kVreduceRows: the function (vector_functions.h) in the
// low five bits, flags above. kVaccumulate takes a ReduceFn and no flag.
inline constexpr uint8_t kFnMask = 0x1F;
inline constexpr uint8_t kFp32Sticks = 0x20;       // operands and results are fp32 sticks
inline constexpr uint8_t kBroadcastALane0 = 0x40;  // lane 0 of each stick of a serves all lanes
inline constexpr uint8_t kBroadcastLane0 = 0x80;   // the same for b; kVbinary only
// `fn` of kVround: flags only, kFp32Sticks among them.
inline constexpr uint8_t kRoundLane0 = 1;  // one value to lane 0, the other lanes become 0
inline constexpr uint8_t kRoundLane1 = 2;  // one value to lane 1, the other lanes stay
inline constexpr uint8_t kRoundScale = 4;  // `divisor` holds the bits of an fp32 factor instead

// `fn` of kVconvert. Sticks of the narrow format come from, or become, pairs of wider ones.
enum class ConvertFn : uint8_t {
  kDl16ToFp32 = 0,  // SEN169 to two fp32 sticks, alternating every 4 elements
  kFp32ToDl16,      // two fp32 sticks to SEN169, alternating every 4 elements
  kFp8ToDl16,       // SEN143_FP8 to two SEN169 sticks, alternating every 8 elements
  kDl16ToFp8,       // two SEN169 sticks to SEN143_FP8, alternating every 8 elements
  kDl16ToFp8Wt,     // the same, alternating after every element
  kDl16ToInt8,      // two SEN169 sticks, scaled and shifted, to SENINT8, every 8 elements
  kDl16ToInt8Wt     // the same, alternating after every element
};

// The fn byte of a function with flags.
template <typename Fn>
constexpr uint8_t FnByte(Fn fn, uint8_t flags = 0) {
  return static_cast<uint8_t>(static_cast<uint8_t>(fn) | flags);
}

// Semantics of the tensor instructions ("stick": 64 SEN169_FP16 in 128 bytes; "fp32 stick": 32 fp32
// in 128 bytes; "acc stick": 64 fp32 in 256 bytes, that is two fp32 sticks). With kFp32Sticks,
// every "64 lanes" below is 32, "SEN169" is fp32, and an acc stick is 32 fp32 in 128 bytes.
//
// kLdx: scalar, so that an address can depend on data. It sees what LX
//   holds when it executes: a token orders it behind what brings the number. A number that is not
//   below the immediate (1 .. 2^32) is INDEX_RANGE; the fault's address is rb << 32 | the number,
//   so that rb says which index tensor it is. ra is a multiple of 4. In a program without data
//   (timing_only) it gives numbers below the immediate that are spread over all of them.
// kLoad: for p < planes, r < rows: row_bytes bytes from device virtual address
//   dev + p * dev_plane_stride + r * dev_row_stride to LX lx + p * lx_plane_stride + r *
//   lx_row_stride. Device addresses, strides and row_bytes are multiples of 128. group != 0 is a
//   core mask that contains this core: all cores of the mask execute the same LOAD (same box) as
//   members of one multicast, which reads memory once. Multicasts take turns at memory, and loads
//   whose group is this core alone take theirs among them.
// kStore: the reverse. No multicast.
// kMatmul: acc[i][j] (+)= sum over kk < k of a[i][kk] * b[kk][j], i < m, j < n. With e elements of
// the operands' format in a stick (64 SEN169_FP16, 128 of 8 bits, 256 SENINT4), n is a multiple of
// e.
//   a[i][kk]  element kk%e of the stick at a + (kk/e) * a_kstick_stride + i * 128
//   b[kk][j]  element j%e of the stick at b + (j/e) * b_nstick_stride + kk * 128
//   With kSen143Fp8Wt a stick of b holds two rows of k and 64 columns, which n is a multiple of:
//   a[i][kk]  as kDl16ToFp8 leaves element kk%128 of two sticks, that of sticks kk/128
//   b[kk][j]  byte 2 * (j%64) + kk%2 of the stick at b + (j/64) * b_nstick_stride + (kk/2) * 128
//   acc[i][j] fp32 at acc + (j/64) * acc_nstick_stride + i * 256 + (j%64) * 4
//   Inside each chunk of 64 consecutive kk (the last may be short) exact products are added in
//   increasing kk to a zero fp32 accumulator; the chunk's sum is then added to acc. accumulate ==
//   0: acc is zeroed first. All sums of integers are exact up to 2^24: for any values up to k =
//   1024 (SENINT8) and k = 262,144 (SENINT4).
// kVbinary: for p < planes, r < rows, 64 lanes: dst = round(fn(a, b)), one fp32 operation, then
// SEN169.
//   Stick (p, r) of x is at x + p * x_plane + r * x_row. Row and plane strides of 0 repeat an
//   operand.
//   Comparisons are of IEEE values: with NINF only NotEqual holds. Select moves codes unrounded and
//   takes NINF for true. NormScale rounds a[0]^2, the difference, the sum and 1 / sqrt to fp32
//   each.
// kVunary: dst = fn(a), the correctly rounded SEN169 result of the real function; fp32: at most
//   0.501 units in the last place off, NaN results are 0x7FC00000.
// kVreduce: along lanes and planes. Row r: acc fp32 at dst + r * dst_row (accumulate == 0: starts
// at the identity);
//   for each plane: the lanes below cols - 64 * plane are combined in increasing order to a fresh
//   accumulator, which is then combined with acc. `cols`: valid elements in the row. SumOfSquares
//   squares each element in fp32 and then adds, AbsMax takes its magnitude.
// kVreduceRows: along rows. Per plane, per lane: rows in chunks of 64 to a fresh accumulator,
// combined with
//   acc fp32 at dst + p * dst_plane + lane * 4.
// kVround: acc stick at a (fp32) to SEN169 stick at dst; divisor > 1: each value is first divided
// by it in fp32.
//   With kRoundLane0 or kRoundLane1, only the first fp32 at a is read. With kRoundScale each value
//   is multiplied by the fp32 whose bits are in `divisor`.
// kVaccumulate: dst[i] = fn(a[i], b[i]) in fp32 for i < count; fn is a ReduceFn that combines what
//   reductions left: SumOfSquares adds, AbsMax takes the larger.
// kVfill: rows x row_bytes bytes at dst, dst_row apart, with the 16-bit `value`.
// kVreloc: `records` CorrectionRecords at src to as many groups of eight 64-bit address-table
// entries at dst:
//   entry 0 the device virtual address, entries 1..6 the strides, entry 7 zero.
// kVtranspose: for p < planes, q < blocks: the block of 64 x 64 16-bit elements whose row i is the
//   stick at a + p * a_plane + q * a_block + i * a_stick becomes its transpose, row j at
//   dst + p * dst_plane + q * dst_block + j * dst_stick. A block is read whole before it is
//   written.
// kVconvert: for p < planes, r < rows: one stick of the narrow format from or to two of the wide
//   one, the second `pair` bytes behind the first. With the two sides' elements numbered from 0,
//   element i of the narrow stick belongs to wide stick (i / g) % 2, element i / (2g) * g + i % g,
//   where g elements (4, 8 or 1, see ConvertFn) alternate. fp32 and SEN169 to narrower formats
//   round as ConvertElements (formats.h) does; to SENINT8, an element is first multiplied by the
//   fp32 whose bits are in `scale`, and then the fp32 in `shift` is added.
// kSend: `bytes` bytes from src_lx of this core to dst_lx of core `core`, then one token `token`
// there. kBarrier: waits until every core of `mask` is at barrier `id`.
// kMark: step `imm` (0..kMaxSteps-1) of the program begins, for the `iteration`-th time; for
// reports and traces only. One core executes it, between barriers. One cycle.

// One instruction: 16 bytes. bytes 0 op, 1 fn, 2 wait token, 3 signal token, 4..15 operands: either
// twelve register numbers, or rd, ra, rb, 0 and a 64-bit immediate.
struct Instruction {
  Op op = Op::kNop;
  uint8_t fn = 0;
  uint8_t wait = 0;    // token to take first, 0: none
  uint8_t signal = 0;  // token to give afterwards, 0: none
  std::array<uint8_t, 12> reg{};
  int64_t imm = 0;  // only for kLi .. kMul, kLdx and kMark; then only reg[0..2] are used

  bool operator==(const Instruction& other) const;
};
inline constexpr int kInstructionBytes = 16;
inline constexpr int kRegisters = 64;
inline constexpr int kTokens = 64;
inline constexpr int kMaxLoopDepth = 8;
inline constexpr int kCoreRegisters = 8;  // of a core in a program that does not say how many
inline constexpr int kMaxCoreRegisters = 1024;
inline constexpr int64_t kMaxSteps = 1 << 20;     // steps of a program that kMark can tell apart
inline constexpr int kTableEntriesPerTensor = 8;  // address, six strides, 0: see CorrectionRecord

bool HasImmediate(Op op);
int OperandCount(Op op);        // registers used of reg[] (0..12)
bool RunsOn(Op op, Unit unit);  // scalar ops run on every unit
bool IsKnown(uint8_t op);

struct Section {
  Unit unit = Unit::kLoad;
  uint32_t core_mask = 0;
  std::vector<Instruction> code;
};

struct Program {
  std::string name;              // at most 31 bytes; shown in traces and reports
  uint32_t core_mask = 0;        // cores that take part
  uint32_t lx_bytes = 0;         // LX the program uses, from address 0
  bool timing_only = false;      // cores price tensor instructions but move no data
  bool generated_loops = false;  // vector instructions are the loops of the public compiler
  // Bytes from the start of this image to that of the program behind it, which the card starts on
  // the same cores when this one has ended; LX stays as it is. 0: none; else whole sticks, at least
  // the image.
  uint32_t next = 0;
  std::vector<uint64_t> address_table;  // patched by program correction
  // One row per core 0..31, all of one width (1..kMaxCoreRegisters), or no rows: all 0.
  std::vector<std::vector<int64_t>> core_registers;
  std::vector<Section> sections;

  // Core registers that kCreg can read.
  size_t core_register_width() const {
    return core_registers.empty() ? kCoreRegisters : core_registers.front().size();
  }
};

// The tokens, one bit each, for which units of several kinds wait: who of them takes one depends on
// who comes first.
uint64_t TokensOfSeveralUnits(const Program& program);

// Binary image: header (one stick), section directory (16 bytes each, padded to a stick), core
// registers (padded to a stick; 0 or 32 rows of 8 bytes a register), address table (padded to a
// stick), instructions (padded to a stick). The header carries magic "SPYP", version, sizes, and
// the CRC-32C of the whole image taken with the CRC field and the address table as zero: correction
// may patch the table, nothing else may change.
std::vector<uint8_t> Encode(const Program& program);

// The layout of an image, from its first stick. Throws on a bad magic, version or sizes that do not
// add up.
struct ImageInfo {
  uint32_t image_bytes;           // total
  uint32_t address_table_offset;  // from the start of the image, stick aligned
  uint32_t address_table_entries;
  uint32_t core_mask;
  uint32_t next;  // Program::next
};
inline constexpr size_t kImageHeaderBytes = kStickBytes;
ImageInfo ReadImageHeader(const uint8_t* data, size_t size);

// Checks everything (magic, version, sizes, CRC, opcodes on their units, tokens, register numbers,
// loop nesting).
Program Decode(const uint8_t* data, size_t size);

// Text form. Disassemble(Assemble(text)) is a fixed point, and Assemble(Disassemble(p)) encodes to
// the same bytes.
Program Assemble(std::string_view text, std::string_view file_name = "<text>");
std::string Disassemble(const Program& program);

}  // namespace spyre
