// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/public_tiling.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "base/ranges.h"
#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kCoreletRows = 128;     // of the tile that a corelet is given where it may choose
constexpr int64_t kCoreletColumns = 128;  // the same of columns
constexpr int64_t kWideColumns = 256;     // of a tile whose halving found none that fits
constexpr int64_t kTallColumns = 192;     // the most columns of a tile that is as tall as fits

int64_t PartOf(int64_t size, int parts) { return (size + parts - 1) / parts; }

// The divisors of a size, the largest first.
std::vector<int64_t> Divisors(int64_t size) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= size; ++d) {
    if (size % d != 0) continue;
    divisors.push_back(d);
    if (d != size / d) divisors.push_back(size / d);
  }
  StableSort(divisors, std::greater<>());
  return divisors;
}

// Numbers of rows that a tile of a share may have, the largest first: those that divide the share.
// Where they are far apart, as for a prime number, halves of the larger one are between them, and
// the last tile is shorter.
std::vector<int64_t> RowCuts(int64_t share) {
  constexpr int64_t kFarApart = 8;
  const std::vector<int64_t> divisors = Divisors(share);
  std::vector<int64_t> cuts;
  for (const int64_t next : divisors) {
    while (!cuts.empty() && cuts.back() > kFarApart * next) cuts.push_back((cuts.back() + 1) / 2);
    cuts.push_back(next);
  }
  return cuts;
}

class Chooser {
 public:
  Chooser(const PublicDivision& division, int64_t lx_bytes)
      : division_(division),
        budget_(lx_bytes * kPublicLxPercent / 100),
        m_(PartOf(division.m, division.m_parts)),
        n_(PartOf(PartOf(division.n, kStickElements), division.n_parts) * kStickElements),
        rows_(RowCuts(m_)) {
    for (const int64_t sticks : Divisors(n_ / kStickElements))
      columns_.push_back(sticks * kStickElements);
  }

  PublicTile Choose() const {
    const bool tall = IsTall();
    const CoreletSplit corelets = Corelets(tall);
    if (tall) {
      const int64_t n = ColumnsDivide() ? kCoreletColumns : n_;
      const std::optional<int64_t> m = MostRows(n);
      if (n <= kTallColumns && m) return {corelets, *m, n};
    } else if (corelets != CoreletSplit::kRows) {
      const int64_t n = WideColumns(corelets);
      return {corelets, MostRows(n).value_or(1), n};
    }
    return Largest(corelets);
  }

 private:
  // Both operands' chunks have two buffers, which are 512 bytes for each row and column; sums are
  // fp32.
  bool Fits(int64_t m, int64_t n) const { return 512 * (m + n) + 4 * m * n <= budget_; }

  bool RowsDivide() const { return m_ % (2 * kStickElements) == 0; }
  bool ColumnsDivide() const { return n_ % (2 * kStickElements) == 0; }

  bool IsTall() const {
    if (m_ <= kCoreletRows && (ColumnsDivide() || division_.k_parts > 1)) return false;
    if (n_ <= kCoreletColumns) return true;
    if (division_.m_parts != division_.n_parts) return division_.m_parts > division_.n_parts;
    return division_.m_parts > 1 || division_.m > division_.n;
  }

  // Partial sums are computed by one corelet.
  CoreletSplit Corelets(bool tall) const {
    if (division_.k_parts > 1) return CoreletSplit::kOne;
    if (tall && RowsDivide()) return CoreletSplit::kRows;
    if (ColumnsDivide()) return CoreletSplit::kColumns;
    return RowsDivide() ? CoreletSplit::kRows : CoreletSplit::kOne;
  }

  std::optional<int64_t> MostRows(int64_t n) const {
    const auto fits = FindIf(rows_, [&](int64_t m) { return Fits(m, n); });
    return fits == rows_.end() ? std::nullopt : std::optional(*fits);
  }

  int64_t WideColumns(CoreletSplit corelets) const {
    std::vector<int64_t> candidates = columns_;
    const bool both = corelets == CoreletSplit::kColumns;
    if (both) {
      candidates = {n_};
      while (candidates.back() % (2 * kCoreletColumns) == 0)
        candidates.push_back(candidates.back() / 2);
    }
    for (const int64_t n : candidates)
      if (Fits(std::min(m_, kCoreletRows), n)) return n;
    if (both && Fits(std::min<int64_t>(kCoreletRows / 2, m_), candidates.back()))
      return candidates.back();
    for (const int64_t n : columns_)
      if (n <= kWideColumns && (!both || n % kCoreletColumns == 0)) return n;
    return both ? kCoreletColumns : kStickElements;
  }

  PublicTile Largest(CoreletSplit corelets) const {
    std::tuple<int64_t, int64_t, int64_t> best{0, kStickElements, 1};
    for (const int64_t n : columns_)
      for (const int64_t m : rows_)
        if (Fits(m, n)) best = std::max(best, std::tuple(m * n, n, m));
    return {corelets, std::get<2>(best), std::get<1>(best)};
  }

  PublicDivision division_;
  int64_t budget_;
  int64_t m_, n_;  // of a core's share
  std::vector<int64_t> rows_, columns_;
};

}  // namespace

PublicTile ChoosePublicTile(const PublicDivision& division, int64_t lx_bytes) {
  return Chooser(division, lx_bytes).Choose();
}

bool KeepsSoftmaxRows(uint64_t bytes) {
  constexpr uint64_t kMost = AlignUp(kLxUsableBytes * 4 / 5, kStickBytes);
  return bytes <= kMost;
}

int64_t PublicStreamSticks(int64_t sticks, PublicStreamTile tile, int64_t most_sticks) {
  constexpr int64_t kLeastTiles = 4;
  constexpr int64_t kLeastSticks = 8;  // of finer tiles, whose starts would count
  const int64_t least = std::min(kLeastSticks, sticks / kLeastTiles);
  const int64_t wanted = std::max(least, sticks / tile.least_tiles);
  const auto stick_bytes = static_cast<int64_t>(kStickBytes);
  return std::clamp<int64_t>(std::min(tile.bytes / stick_bytes, wanted), 1, most_sticks);
}

}  // namespace spyre::compiler
