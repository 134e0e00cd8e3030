// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/matmul_tiling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"

namespace spyre::compiler {
namespace {

// Elements of an accumulator tile; a larger share re-streams its operands, once for every tile
// (docs/facts.md: about 64 K fp16 elements a core).
constexpr int64_t kMaxAccumulatorElements = 64 * 1024;
constexpr int kMostOperandSlots = 8;

int64_t Tiles(int64_t slice, int64_t tile) { return (slice + tile - 1) / tile; }

// Tile sizes worth trying: the one that is wanted, or equal parts, from the whole slice down to one
// unit.
std::vector<int64_t> Candidates(int64_t slice, int64_t wanted = 0) {
  std::vector<int64_t> sizes;
  if (wanted != 0) return {wanted};
  for (int64_t parts = 1; parts <= slice; parts += std::max<int64_t>(1, parts / 4)) {
    const int64_t size = Tiles(slice, parts);
    if (sizes.empty() || size != sizes.back()) sizes.push_back(size);
  }
  if (sizes.back() != 1) sizes.push_back(1);
  return sizes;
}

std::vector<int64_t> RowCandidates(const MatmulShare& share) {
  std::vector<int64_t> sizes = Candidates(Tiles(share.m, share.m_unit()), share.m_tile);
  for (int64_t& size : sizes) size *= share.m_unit();
  return sizes;
}

// Bytes of operands that pass into the LX of a core. Squarish tiles have the least.
int64_t OperandBytes(const MatmulShare& share, const MatmulTiling& tiling) {
  return share.batch * share.k *
         (share.m * kStick * Tiles(share.n, tiling.n) +
          share.n * kStickElements * kStick * Tiles(share.m, tiling.m));
}

// Estimated cycles: the array or the memory, whichever is slower, and what overlaps neither, which
// are the first chunks and the last tile. Only orders tilings; no claim about time.
double Cost(const MatmulShare& share, const MatmulTiling& tiling) {
  constexpr double kMemoryBytesPerCycle = 136;  // 150 GB/s at 1.1 GHz
  constexpr double kChunkLatencyCycles = 1800;  // loading a chunk, however small
  constexpr double kLoadBytesPerCycle = 32;     // into one core
  constexpr double kChunkCycles = 50;           // instructions, tokens and pipeline fill
  const auto as_double = [](int64_t v) { return static_cast<double>(v); };
  const int64_t m_tiles = Tiles(share.m, tiling.m);
  const int64_t n_tiles = Tiles(share.n, tiling.n);
  const double tiles = as_double(share.batch * m_tiles * n_tiles);
  // Two corelets take two sticks of n past 64 rows of k: the array against the LX port, which also
  // passes the accumulator in and out once a chunk.
  const double array = as_double(4 * tiling.m * tiling.n * tiling.k);
  const double port =
      as_double(4 * tiling.m * tiling.n + tiling.m * tiling.k * ((tiling.n + 1) / 2) +
                64 * tiling.n * tiling.k);
  const double rounding = as_double(3 * tiling.m * tiling.n);
  const double store = share.cores * as_double(tiling.output_bytes()) / kMemoryBytesPerCycle;
  double compute = tiles * as_double(Tiles(share.k, tiling.k)) *
                   (kChunkCycles + std::max({array, port, kChunkLatencyCycles}));
  if (tiling.accumulator_slots == 1) compute += tiles * rounding;
  if (tiling.output_slots == 1) compute += tiles * store;
  const double a_bytes =
      as_double(share.batch * share.k * share.m * kStick * n_tiles) / share.a_sharers;
  const double b_bytes =
      as_double(share.batch * share.k * share.n * kStickElements * kStick * m_tiles) /
      share.b_sharers;
  const double memory =
      share.cores * (a_bytes + b_bytes + tiles * as_double(tiling.output_bytes()));
  const double first = share.cores * (as_double(tiling.a_chunk_bytes()) / share.a_sharers +
                                      as_double(tiling.b_chunk_bytes()) / share.b_sharers);
  const double load = as_double(OperandBytes(share, tiling)) / kLoadBytesPerCycle;
  return std::max({compute, load, memory / kMemoryBytesPerCycle}) + first / kMemoryBytesPerCycle +
         (rounding + store) / as_double(tiling.row_groups());
}

[[noreturn]] void ThrowTooLarge(const MatmulShare& share, uint64_t lx_bytes) {
  if (!share.resident) {
    throw BadInput(
        "matmul: the smallest tile (m 1, n and k 64) needs {} bytes of LX with its buffers; {} may "
        "be used. Raise lx_bytes",
        MatmulTiling{}.LxBytes(share), lx_bytes);
  }
  throw BadInput(
      "matmul: the fp32 accumulators of one core, {} rows by {} columns{}, need {} bytes of LX, "
      "and "
      "stay there while chunks of a and b pass; {} may be used. Use more cores, smaller tiles of m "
      "or n, or keep the accumulators in device memory",
      share.m, share.n * kStickElements,
      share.batch == 1 ? "" : fmt::format(" of each of {} matrices", share.batch),
      share.batch * share.m * share.n * kAccumulatorStick, lx_bytes);
}

}  // namespace

int64_t MatmulShare::tiles(int64_t m_tile_size, int64_t n_tile_size) const {
  return batch * Tiles(m, m_tile_size) * Tiles(n, n_tile_size);
}

int64_t MatmulTiling::a_chunk_bytes() const { return k * m * kStick; }
int64_t MatmulTiling::b_chunk_bytes() const { return n * k * kStickElements * kStick; }
int64_t MatmulTiling::accumulator_bytes() const { return n * m * kAccumulatorStick; }
int64_t MatmulTiling::output_bytes() const { return n * m * kStick; }
int64_t MatmulTiling::LxBytes(const MatmulShare& share) const {
  return operand_slots * ((share.a_transposed ? 2 : 1) * a_chunk_bytes() +
                          (share.b_transposed ? 2 : 1) * b_chunk_bytes()) +
         (accumulator_slots + (share.combines ? 1 : 0)) * accumulator_bytes() +
         output_slots * output_bytes();
}

MatmulTiling ChooseMatmulTiling(const MatmulShare& share, uint64_t lx_bytes) {
  const auto limit = static_cast<int64_t>(lx_bytes);
  const auto fits = [&](const MatmulTiling& tiling) {
    const int64_t elements = tiling.m * tiling.n * kStickElements;
    return tiling.LxBytes(share) <= limit &&
           (elements <= kMaxAccumulatorElements || (tiling.m == share.m_unit() && tiling.n == 1));
  };
  const auto sums = [&](int64_t m, int64_t n, int wanted) {
    constexpr int64_t kMost = kLxUsableBytes / kAccumulatorStick + 1;  // more than LX holds
    return share.resident ? static_cast<int>(std::min(share.tiles(m, n), kMost)) : wanted;
  };
  // The largest tile worth having: one with the least operand traffic.
  MatmulTiling largest;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t m : RowCandidates(share)) {
    for (int64_t n : Candidates(share.n, share.n_tile)) {
      const MatmulTiling tiling{m, n, 1, sums(m, n, 1), 1};
      if (fits(tiling) && OperandBytes(share, tiling) < least) {
        least = OperandBytes(share, tiling);
        largest = tiling;
      }
    }
  }
  if (least == std::numeric_limits<int64_t>::max()) ThrowTooLarge(share, lx_bytes);
  MatmulTiling best = largest;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int64_t m : RowCandidates(share)) {
    for (int64_t n : Candidates(share.n, share.n_tile)) {
      if (m > largest.m || n > largest.n) continue;
      for (int64_t k : Candidates(share.k)) {
        for (int slots = 0; slots < 4; ++slots) {
          const MatmulTiling tiling{m, n, k, sums(m, n, 1 + slots / 2), 1 + slots % 2};
          if (!fits(tiling)) continue;
          const double cost = Cost(share, tiling);
          if (cost < best_cost) {
            best_cost = cost;
            best = tiling;
          }
        }
      }
    }
  }
  // The rest of LX holds chunks ahead: stores and loads come in bursts and share the memory.
  while (best.operand_slots < kMostOperandSlots) {
    ++best.operand_slots;
    if (!fits(best)) {
      --best.operand_slots;
      break;
    }
  }
  return best;
}

MatmulTiling PublicMatmulTiling(const MatmulShare& share, const PublicDivision& division,
                                int64_t whole_lx_bytes, uint64_t lx_bytes) {
  constexpr int64_t kMostChunkSticks = 8;  // 512 elements of k
  const auto limit = static_cast<int64_t>(lx_bytes);
  const PublicTile tile = ChoosePublicTile(division, whole_lx_bytes);
  MatmulTiling tiling;
  const int64_t unit = share.m_unit();
  const auto whole = [&](int64_t rows) { return Tiles(rows, unit) * unit; };
  tiling.m = whole(std::min(tile.m, share.m));
  tiling.n = std::min(tile.n / kStickElements, share.n);
  tiling.k = std::min(kMostChunkSticks, Tiles(share.k, 2));
  // A second accumulator, so that the array goes on while the vector unit rounds a tile.
  tiling.accumulator_slots = 2;
  tiling.whole_stores = true;
  tiling.fn_flag = tile.corelets == CoreletSplit::kRows      ? kMatmulRows
                   : tile.corelets == CoreletSplit::kColumns ? kMatmulColumns
                                                             : kMatmulOneCorelet;
  const auto fits = [&] { return tiling.LxBytes(share) <= limit; };
  if (!fits()) tiling.accumulator_slots = 1;
  while (!fits() && tiling.k > 1) tiling.k = Tiles(tiling.k, 2);
  while (!fits() && tiling.m > unit) tiling.m = whole(Tiles(tiling.m, 2));
  while (!fits() && tiling.n > 1) tiling.n = Tiles(tiling.n, 2);
  if (!fits()) ThrowTooLarge(share, lx_bytes);
  // So that a long chain of cores takes little longer than a short one.
  constexpr int64_t kPieceBytes = 8 * 1024;
  if (share.combines) tiling.sum_pieces = Tiles(tiling.accumulator_bytes(), kPieceBytes);
  return tiling;
}

}  // namespace spyre::compiler
