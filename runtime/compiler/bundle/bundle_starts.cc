// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/bundle_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/bundle/bundle_accesses.h"
#include "runtime/compiler/bundle/for_each_execute.h"

namespace spyre::compiler {
namespace {

// The cores whose slices differ in `dim` alone, by their slice of it.
using Row = std::map<int, size_t>;
std::vector<Row> RowsAlong(const SuperDsc& dsc, size_t dim) {
  std::map<std::vector<int>, Row> rows;
  for (size_t core = 0; core < dsc.slice.size(); ++core) {
    std::vector<int> others = dsc.slice[core];
    const int own = others[dim];
    others[dim] = 0;
    rows[others].emplace(own, core);
  }
  std::vector<Row> all;
  all.reserve(rows.size());
  for (auto& [others, row] : rows) all.push_back(std::move(row));
  return all;
}

struct Contradiction {
  size_t first_core = 0;
  size_t core = 0;
  int64_t apart = 0;     // bytes between their starts
  int64_t expected = 0;  // by the layout
};

// The first two cores that do not begin as far apart as their slices of `dim` lie, with `stride`
// bytes from one step of it to the next.
std::optional<Contradiction> FindContradiction(const BundleAccess& access, size_t dim,
                                               int64_t stride) {
  const SuperDsc& dsc = *access.dsc;
  if (stride == 0 || dsc.dims[dim].slices < 2) return std::nullopt;
  const int64_t steps = StepsPerCore(dsc, *access.tensor, dim);
  for (const Row& row : RowsAlong(dsc, dim)) {
    const auto& [first_slice, first_core] = *row.begin();
    const AddressExpression first = StartOf(access, first_core);
    for (const auto& [slice, core] : row) {
      const AddressExpression start = StartOf(access, core);
      if (start.argument != first.argument || start.loop_stride != first.loop_stride) continue;
      const int64_t apart = start.constant - first.constant;
      const int64_t expected = stride * steps * (slice - first_slice);
      if (apart != expected) return Contradiction{first_core, core, apart, expected};
    }
  }
  return std::nullopt;
}

std::optional<Contradiction> FirstContradiction(const BundleAccess& access) {
  const std::vector<int64_t> strides = DimStrides(*access.dsc, *access.tensor);
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    if (auto found = FindContradiction(access, dim, strides[dim])) return found;
  }
  return std::nullopt;
}
// The dimension whose gap in `tensor` may be rows of the walk that are not in memory; -1: none.
int PaddedWalk(const SuperDsc& dsc, const SdscTensor& tensor) {
  for (const SdscTensor& other : dsc.tensors) {
    if (&other == &tensor || other.stick_dims.size() != 1) continue;
    const int dim = other.stick_dims.front();
    const SdscDim& walked = dsc.dims[static_cast<size_t>(dim)];
    const auto gap = tensor.back_gap.find(dim);
    const int64_t stick = other.stick_sizes.front();
    if (gap != tensor.back_gap.end() && gap->second > 0 && gap->second < stick &&
        walked.slices == 1 && walked.size % stick == 0) {
      return dim;
    }
  }
  return -1;
}

SuperDsc WithoutPadding(const SuperDsc& dsc, size_t tensor, int dim) {
  SuperDsc shorter = dsc;
  std::map<int, int64_t>& gaps = shorter.tensors[tensor].back_gap;
  SdscDim& walked = shorter.dims[static_cast<size_t>(dim)];
  walked.size -= gaps.at(dim);
  walked.per_core = walked.size;
  gaps.erase(dim);
  return shorter;
}

// Where the layout puts a core's part, from where the first core's part is.
int64_t OffsetByLayout(const BundleAccess& access, size_t core) {
  const SuperDsc& dsc = *access.dsc;
  const std::vector<int64_t> strides = DimStrides(dsc, *access.tensor);
  int64_t offset = 0;
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    offset += strides[dim] * StepsPerCore(dsc, *access.tensor, dim) *
              (dsc.slice[core][dim] - dsc.slice.front()[dim]);
  }
  return offset;
}

int64_t LowestSymbol(const SuperDsc& dsc) {
  int64_t lowest = 0;
  for (const SdscTensor& tensor : dsc.tensors) {
    for (const int64_t start : tensor.start) lowest = std::min(lowest, start);
  }
  return lowest;
}

}  // namespace

void CheckStarts(const Bundle& bundle) {
  for (const BundleAccess& access : Accesses(bundle)) {
    if (IsIndexed(*access.tensor)) continue;  // its start is that of the first block
    const SuperDsc& dsc = *access.dsc;
    const std::vector<int64_t> strides = DimStrides(dsc, *access.tensor);
    for (size_t dim = 0; dim < strides.size(); ++dim) {
      if (StepsPerCore(dsc, *access.tensor, dim) < 2) continue;
      const std::optional<Contradiction> found = FindContradiction(access, dim, strides[dim]);
      if (!found) continue;
      throw BadInput(
          "{}: {}: cores {} and {} begin {} bytes apart, and by its layout their slices of '{}' "
          "are {} bytes apart; where its elements lie is not known, as with windows that overlap",
          *access.file, access.tensor->name, dsc.cores[found->first_core], dsc.cores[found->core],
          found->apart, dsc.dims[dim].name, found->expected);
    }
  }
}

void ResolvePaddedWalks(Bundle& bundle) {
  std::map<const SuperDsc*, SuperDsc> resolved;
  for (const BundleAccess& access : Accesses(bundle)) {
    const SuperDsc& dsc = resolved.count(access.dsc) != 0 ? resolved.at(access.dsc) : *access.dsc;
    if (dsc.op != "ReStickifyOpHBM") continue;
    const auto tensor = static_cast<size_t>(access.tensor - access.dsc->tensors.data());
    const int dim = PaddedWalk(dsc, dsc.tensors[tensor]);
    if (dim < 0) continue;
    SuperDsc shorter = WithoutPadding(dsc, tensor, dim);
    BundleAccess by_walk = access;
    by_walk.dsc = &shorter;
    by_walk.tensor = &shorter.tensors[tensor];
    if (StartsFit(access) && !StartsFit(by_walk)) continue;
    resolved.insert_or_assign(access.dsc, std::move(shorter));
  }
  for (SuperDsc& dsc : bundle.dscs) {
    if (const auto it = resolved.find(&dsc); it != resolved.end()) dsc = std::move(it->second);
    if (dsc.op != "ReStickifyOpHBM") continue;
    for (size_t tensor = 0; tensor < dsc.tensors.size(); ++tensor) {
      const int dim = dsc.tensors[tensor].in_lx ? PaddedWalk(dsc, dsc.tensors[tensor]) : -1;
      if (dim >= 0) dsc = WithoutPadding(dsc, tensor, dim);
    }
  }
}

bool StartsFit(const BundleAccess& access) { return !FirstContradiction(access); }

std::string SayStarts(const BundleAccess& access) {
  const std::optional<Contradiction> found = FirstContradiction(access);
  if (!found) return {};
  return fmt::format(
      "{} ({}): {}: cores {} and {} begin {} bytes apart, and by its layout their slices are {} "
      "bytes apart",
      *access.file, access.dsc->op, access.tensor->name, access.dsc->cores[found->first_core],
      access.dsc->cores[found->core], found->apart, found->expected);
}

void StartByLayout(Bundle& bundle, const std::vector<BundleAccess>& accesses) {
  // By dsc and tensor; of each, by the execute that it is of and by core.
  using Starts = std::map<const BundleExecute*, std::vector<AddressExpression>>;
  std::map<std::pair<size_t, size_t>, Starts> places;
  for (const BundleAccess& access : accesses) {
    const auto dsc = static_cast<size_t>(access.dsc - bundle.dscs.data());
    const auto tensor = static_cast<size_t>(access.tensor - access.dsc->tensors.data());
    std::vector<AddressExpression>& starts = places[{dsc, tensor}][access.execute];
    for (size_t core = 0; core < access.tensor->start.size(); ++core) {
      starts.push_back(StartOf(access, 0));
      starts.back().constant += OffsetByLayout(access, core);
    }
  }
  for (const auto& [position, place] : places) {
    SuperDsc& dsc = bundle.dscs[position.first];
    std::vector<int64_t>& start = dsc.tensors[position.second].start;
    const int64_t lowest = LowestSymbol(dsc);
    for (size_t core = 0; core < start.size(); ++core)
      start[core] = lowest - 1 - static_cast<int64_t>(core);
    ForEachExecute(bundle, [&, &place = place](BundleExecute& execute) {
      const auto starts = place.find(&execute);
      for (size_t core = 0; starts != place.end() && core < start.size(); ++core)
        execute.symbols[start[core]] = starts->second[core];
    });
  }
}

std::vector<std::string> ResolveConversionStarts(Bundle& bundle) {
  const std::vector<BundleAccess> accesses = Accesses(bundle);
  std::vector<BundleAccess> resolved;
  std::vector<std::string> lines;
  std::set<const SdscTensor*> said;
  for (const BundleAccess& access : accesses) {
    if (!ChangesWidth(*access.dsc) || !access.tensor->symbolic || StartsFit(access)) continue;
    const auto other = FindIf(accesses, [&](const BundleAccess& a) {
      return a.execute == access.execute && a.tensor != access.tensor;
    });
    if (other == accesses.end() || !StartsFit(*other)) continue;
    resolved.push_back(access);
    if (said.insert(access.tensor).second) {
      lines.push_back(SayStarts(access) +
                      "; the layout counts, as the other side of the conversion agrees with its "
                      "own");
    }
  }
  StartByLayout(bundle, resolved);
  return lines;
}

}  // namespace spyre::compiler
