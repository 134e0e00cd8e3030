// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/bundle_starts.h"

#include <map>
#include <vector>

#include "base/error.h"
#include "runtime/compiler/bundle/bundle_accesses.h"

namespace spyre::compiler {
namespace {

// Sticks for the stick dimension, else elements.
int64_t StepsPerCore(const BundleAccess& access, size_t dim) {
  const SdscTensor& tensor = *access.tensor;
  int64_t elements = 1;
  for (size_t i = 0; i < tensor.stick_dims.size(); ++i) {
    if (static_cast<size_t>(tensor.stick_dims[i]) == dim) elements = tensor.stick_sizes[i];
  }
  return (access.dsc->dims[dim].per_core + elements - 1) / elements;
}

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

void CheckDimension(const BundleAccess& access, size_t dim, int64_t stride) {
  const SuperDsc& dsc = *access.dsc;
  const int64_t steps = StepsPerCore(access, dim);
  if (stride == 0 || steps < 2 || dsc.dims[dim].slices < 2) return;
  for (const Row& row : RowsAlong(dsc, dim)) {
    const auto& [first_slice, first_core] = *row.begin();
    const AddressExpression first = StartOf(access, first_core);
    for (const auto& [slice, core] : row) {
      const AddressExpression start = StartOf(access, core);
      if (start.argument != first.argument || start.loop_stride != first.loop_stride) continue;
      const int64_t expected = stride * steps * (slice - first_slice);
      if (start.constant - first.constant == expected) continue;
      throw BadInput(
          "{}: {}: cores {} and {} begin {} bytes apart, and by its layout their slices of '{}' "
          "are {} bytes apart; where its elements lie is not known, as with windows that overlap",
          *access.file, access.tensor->name, dsc.cores[first_core], dsc.cores[core],
          start.constant - first.constant, dsc.dims[dim].name, expected);
    }
  }
}

}  // namespace

void CheckStarts(const Bundle& bundle) {
  for (const BundleAccess& access : Accesses(bundle)) {
    if (IsIndexed(*access.tensor)) continue;  // its start is that of the first block
    const std::vector<int64_t> strides = DimStrides(*access.dsc, *access.tensor);
    for (size_t dim = 0; dim < strides.size(); ++dim) CheckDimension(access, dim, strides[dim]);
  }
}

}  // namespace spyre::compiler
