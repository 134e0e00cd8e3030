// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/padded_products.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/bundle/bundle_accesses.h"
#include "runtime/compiler/bundle/bundle_starts.h"
#include "runtime/compiler/sdsc/sdsc_names.h"

namespace spyre::compiler {
namespace {

int StickDim(const SdscTensor& tensor) {
  return tensor.stick_dims.size() == 1 ? tensor.stick_dims.front() : -1;
}

// The dimension of which a product walks whole sticks for the sake of an operand that lies
// transposed; -1: there is none, or every tensor has it in its sticks.
int WalkedInSticks(const SuperDsc& dsc) {
  if (!IsMatmulFunc(dsc.op) || dsc.inputs.size() != 2 || dsc.outputs.size() != 1) return -1;
  const SdscTensor& a = dsc.tensors[static_cast<size_t>(dsc.inputs[0])];
  const SdscTensor& b = dsc.tensors[static_cast<size_t>(dsc.inputs[1])];
  const SdscTensor& out = dsc.tensors[static_cast<size_t>(dsc.outputs[0])];
  int dim = -1;
  if (StickDim(a) >= 0 && Walks(a, StickDim(a)) && Walks(out, StickDim(a))) {
    dim = StickDim(a);
  } else if (StickDim(b) >= 0 && Walks(b, StickDim(b)) && !Walks(out, StickDim(b))) {
    dim = StickDim(out);
  }
  const bool outside = dim >= 0 && AnyFits(dsc.tensors, [&](const SdscTensor& tensor) {
                         return Walks(tensor, dim) && StickDim(tensor) != dim;
                       });
  return outside ? dim : -1;
}

// The dimensions of a tensor that have more than one element, innermost first.
struct Side {
  int dim = 0;
  int64_t elements = 1;
  bool sticks = false;
};
std::vector<Side> Sides(const BundleAccess& access) {
  std::vector<Side> sides;
  for (const int dim : access.tensor->dim_order) {
    const int64_t elements = access.dsc->dims[static_cast<size_t>(dim)].size;
    if (elements > 1 && Walks(*access.tensor, dim))
      sides.push_back({dim, elements, StickDim(*access.tensor) == dim});
  }
  return sides;
}

// Elements of `dim` that another operation finds in the same place, if it is the same tensor.
std::optional<int64_t> ElementsBy(const BundleAccess& other, const BundleAccess& access, int dim) {
  const AddressExpression here = StartOf(access, 0), there = StartOf(other, 0);
  if (here.argument != there.argument || here.constant != there.constant) return std::nullopt;
  const std::vector<Side> ours = Sides(access), theirs = Sides(other);
  if (ours.size() != theirs.size()) return std::nullopt;
  std::optional<int64_t> elements;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].sticks != theirs[i].sticks) return std::nullopt;
    if (ours[i].dim == dim) {
      elements = theirs[i].elements;
    } else if (ours[i].elements != theirs[i].elements && !ours[i].sticks) {
      return std::nullopt;
    }
  }
  return elements;
}

// Of the dimension that `product` walks in whole sticks; its size, if nothing else is known.
int64_t ElementsInMemory(const std::vector<BundleAccess>& accesses, const SuperDsc& product,
                         int dim) {
  const int64_t size = product.dims[static_cast<size_t>(dim)].size;
  constexpr int64_t kElements = 64;  // of a stick
  for (const BundleAccess& access : accesses) {
    if (access.dsc != &product || !Walks(*access.tensor, dim)) continue;
    for (const BundleAccess& other : accesses) {
      if (other.dsc == &product) continue;
      const std::optional<int64_t> elements = ElementsBy(other, access, dim);
      if (elements && *elements <= size && *elements > size - kElements) return *elements;
    }
  }
  return size;
}

// The dimension as it is in memory, on one of the cores that share it.
void Shorten(SuperDsc& dsc, const std::string& file, int dim, int64_t elements) {
  SdscDim& shorter = dsc.dims[static_cast<size_t>(dim)];
  if (shorter.slices > 1) {
    for (const SdscTensor& tensor : dsc.tensors) {
      if (!tensor.in_lx) continue;
      throw BadInput(
          "{}: {} elements of dimension '{}' are walked as {}, divided over cores by whole sticks, "
          "and {} stays in LX, where each core expects another part of it: keep it in device "
          "memory",
          file, elements, shorter.name, shorter.size, tensor.name);
    }
  }
  std::vector<size_t> kept;
  for (size_t core = 0; core < dsc.cores.size(); ++core) {
    if (dsc.slice[core][static_cast<size_t>(dim)] == 0) kept.push_back(core);
  }
  const auto keep = [&](auto& of_cores) {
    std::decay_t<decltype(of_cores)> rest;
    for (const size_t core : kept) rest.push_back(of_cores[core]);
    of_cores = std::move(rest);
  };
  keep(dsc.cores);
  keep(dsc.slice);
  for (SdscTensor& tensor : dsc.tensors) {
    keep(tensor.start);
    if (!tensor.slice.empty()) keep(tensor.slice);
  }
  shorter.size = shorter.per_core = elements;
  shorter.slices = 1;
}

}  // namespace

std::vector<std::string> ResolvePaddedProducts(Bundle& bundle) {
  struct Product {
    int dim = 0;
    int64_t elements = 0;
  };
  const std::vector<BundleAccess> as_written = Accesses(bundle);
  std::map<size_t, Product> products;
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    const int dim = WalkedInSticks(bundle.dscs[i]);
    if (dim < 0) continue;
    const int64_t elements = ElementsInMemory(as_written, bundle.dscs[i], dim);
    if (elements < bundle.dscs[i].dims[static_cast<size_t>(dim)].size)
      products[i] = {dim, elements};
  }
  std::vector<std::string> lines;
  for (const auto& [i, product] : products) {
    SuperDsc& dsc = bundle.dscs[i];
    const SdscDim before = dsc.dims[static_cast<size_t>(product.dim)];
    Shorten(dsc, bundle.files[i], product.dim, product.elements);
    lines.push_back(fmt::format(
        "{} ({}): {} elements of '{}' are walked as {}{}; the operations beside it count",
        bundle.files[i], dsc.op, product.elements, before.name, before.size,
        before.slices > 1 ? fmt::format(" in {} slices, which become one", before.slices) : ""));
  }
  std::vector<BundleAccess> contradicted;
  for (const BundleAccess& access : Accesses(bundle)) {
    const auto i = static_cast<size_t>(access.dsc - bundle.dscs.data());
    if (products.count(i) != 0 && access.tensor->symbolic && !StartsFit(access))
      contradicted.push_back(access);
  }
  StartByLayout(bundle, contradicted);
  return lines;
}

}  // namespace spyre::compiler
