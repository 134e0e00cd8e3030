#include "runtime/compiler/matmul_tiling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "model/contract/error.h"

namespace spyre::compiler {
namespace {

// Elements of an accumulator tile: larger ones re-stream operands from LX (docs/facts.md).
constexpr int64_t kMaxAccumulatorElements = 64 * 1024;
constexpr int64_t kAccumulatorStickBytes = 256;

int64_t Tiles(int64_t slice, int64_t tile) { return (slice + tile - 1) / tile; }

// Tile sizes worth trying: equal parts, from the whole slice down to one unit.
std::vector<int64_t> Candidates(int64_t slice) {
  std::vector<int64_t> sizes;
  for (int64_t parts = 1; parts <= slice; parts += std::max<int64_t>(1, parts / 4)) {
    const int64_t size = Tiles(slice, parts);
    if (sizes.empty() || size != sizes.back()) sizes.push_back(size);
  }
  if (sizes.back() != 1) sizes.push_back(1);
  return sizes;
}

// Estimated cost of a core's share in bytes of its part of the memory bandwidth: what is loaded and
// stored, what cannot overlap (first loads, last store), and work that goes up with the number of
// tiles. One cycle is worth about four bytes (150 GB/s over 32 cores at 1.1 GHz). The weights only
// order tilings; they are no claim about time.
double Cost(const MatmulShare& s, const MatmulTiling& t) {
  constexpr double kBytesPerCycle = 4;
  constexpr double kLxBytesPerCycle = 128;
  constexpr double kStepCycles = 200;      // instructions and pipeline fill of one tile step
  constexpr double kBlockLoadCycles = 64;  // one 64 x 64 block of b into the PT array
  const auto d = [](int64_t v) { return static_cast<double>(v); };
  const int64_t m_tiles = Tiles(s.m, t.m);
  const int64_t n_tiles = Tiles(s.n, t.n);
  const int64_t k_tiles = Tiles(s.k, t.k);
  const double a_bytes = d(s.batch * s.m * s.k * 128) * (t.a_resident ? 1 : d(n_tiles));
  const double b_bytes = d(s.batch * s.k * s.n * 8192) * (t.b_resident ? 1 : d(m_tiles));
  const double memory =
      a_bytes / s.a_sharers + b_bytes / s.b_sharers + d(s.batch * s.m * s.n * 128);
  const double first = d(t.a_chunk_bytes()) / s.a_sharers + d(t.b_chunk_bytes()) / s.b_sharers;
  const double last = d(t.output_bytes());
  const double tiles = d(s.batch * m_tiles * n_tiles);
  const double accumulator_cycles = d(2 * t.accumulator_bytes()) / kLxBytesPerCycle;
  double cycles = tiles * d(k_tiles) * (kStepCycles + accumulator_cycles);
  cycles += d(s.batch * m_tiles * s.n * s.k) * kBlockLoadCycles;
  cycles += (a_bytes + b_bytes) / kLxBytesPerCycle;
  if (t.accumulator_slots == 1) cycles += tiles * d(t.m * t.n);  // PT waits for the rounding
  if (t.output_slots == 1) cycles += tiles * d(t.m * t.n) * 8;   // which waits for the store
  return memory + first + last + cycles * kBytesPerCycle;
}

}  // namespace

int64_t MatmulTiling::a_chunk_bytes() const { return k * m * 128; }
int64_t MatmulTiling::b_chunk_bytes() const { return n * k * kStickElements * 128; }
int64_t MatmulTiling::accumulator_bytes() const { return n * m * kAccumulatorStickBytes; }
int64_t MatmulTiling::output_bytes() const { return n * m * 128; }
int64_t MatmulTiling::a_slots(const MatmulShare& share) const {
  return a_resident ? Tiles(share.k, k) : 2;
}
int64_t MatmulTiling::b_slots(const MatmulShare& share) const {
  return b_resident ? Tiles(share.k, k) * Tiles(share.n, n) : 2;
}
int64_t MatmulTiling::LxBytes(const MatmulShare& share) const {
  return a_slots(share) * a_chunk_bytes() + b_slots(share) * b_chunk_bytes() +
         (accumulator_slots + (share.combines ? 1 : 0)) * accumulator_bytes() +
         output_slots * output_bytes();
}

MatmulTiling ChooseMatmulTiling(const MatmulShare& share, uint64_t lx_bytes) {
  const auto limit = static_cast<int64_t>(lx_bytes);
  MatmulTiling best;
  double best_cost = std::numeric_limits<double>::infinity();
  MatmulTiling t;
  const auto try_slots = [&] {
    for (int slots = 0; slots < 4; ++slots) {
      t.accumulator_slots = 1 + slots / 2;
      t.output_slots = 1 + slots % 2;
      if (t.LxBytes(share) > limit) continue;
      const double cost = Cost(share, t);
      if (cost < best_cost) {
        best_cost = cost;
        best = t;
      }
    }
  };
  for (int64_t m : Candidates(share.m)) {
    for (int64_t n : Candidates(share.n)) {
      t.m = m;
      t.n = n;
      const int64_t elements = m * n * kStickElements;
      if (elements > kMaxAccumulatorElements && (m > 1 || n > 1)) continue;
      if (t.accumulator_bytes() > limit) continue;
      for (int64_t k : Candidates(share.k)) {
        t.k = k;
        for (int resident = 0; resident < 4; ++resident) {
          t.a_resident = (resident & 1) != 0;
          t.b_resident = (resident & 2) != 0;
          try_slots();
        }
      }
    }
  }
  if (best_cost == std::numeric_limits<double>::infinity()) {
    int64_t needed = std::numeric_limits<int64_t>::max();
    for (int resident = 0; resident < 4; ++resident) {
      const MatmulTiling least{1, 1, 1, (resident & 1) != 0, (resident & 2) != 0, 1, 1};
      needed = std::min(needed, least.LxBytes(share));
    }
    throw BadInput(
        "matmul: the smallest tile (m 1, n and k 64) needs {} bytes of LX with its buffers; {} may "
        "be used. Raise lx_bytes",
        needed, lx_bytes);
  }
  return best;
}

}  // namespace spyre::compiler
