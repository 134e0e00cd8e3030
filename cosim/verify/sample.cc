// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/sample.h"

#include <algorithm>
#include <random>
#include <set>

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;

constexpr int64_t kStick = 64;    // elements
constexpr int64_t kIndices = 16;  // of each dimension that is sampled

// Dimensions along which some operation of the list puts several indices into one result.
std::set<int> MixedDims(const NamedGraph& graph) {
  std::set<int> mixed;
  for (const NamedOp& op : graph.ops) {
    if (op.op != "restickify") mixed.insert(op.reduced.begin(), op.reduced.end());
    if (op.into >= 0) mixed.insert(op.into);  // its indices are those of `reduced`, moved
    const auto dims = [&](int tensor) { return graph.tensors[static_cast<size_t>(tensor)].dims; };
    const std::vector<int> left = dims(op.output);
    for (const int input : op.inputs) {
      for (const int dim : dims(input)) {
        if (std::find(left.begin(), left.end(), dim) == left.end()) mixed.insert(dim);
      }
    }
  }
  return mixed;
}

}  // namespace

std::vector<int64_t> Sample(int64_t total, int64_t count, uint64_t seed) {
  std::vector<int64_t> chosen;
  if (count >= total) {
    chosen.resize(static_cast<size_t>(total));
    for (int64_t i = 0; i < total; ++i) chosen[static_cast<size_t>(i)] = i;
    return chosen;
  }
  // One from each of `count` equal parts: spread over the whole tensor, no duplicates.
  std::mt19937_64 random(seed);
  chosen.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    // total * i / count without leaving 64 bits.
    const auto edge = [&](int64_t part) {
      return total / count * part + total % count * part / count;
    };
    const int64_t begin = edge(i);
    const int64_t end = edge(i + 1);
    chosen.push_back(begin + static_cast<int64_t>(random() % static_cast<uint64_t>(end - begin)));
  }
  return chosen;
}

std::vector<int64_t> SampleOfParts(const std::vector<std::vector<int64_t>>& part_ends,
                                   uint64_t seed) {
  if (part_ends.empty()) return {};
  std::mt19937_64 random(seed);
  const auto within = [&random](int64_t begin, int64_t end) {
    return begin + static_cast<int64_t>(random() % static_cast<uint64_t>(end - begin));
  };
  std::vector<int64_t> elements = {0};
  for (const std::vector<int64_t>& ends : part_ends) {
    std::vector<int64_t> next;
    next.reserve(elements.size() * ends.size());
    for (const int64_t element : elements) {
      int64_t begin = 0;
      for (const int64_t end : ends) {
        next.push_back(element * ends.back() + within(begin, end));
        begin = end;
      }
    }
    elements = std::move(next);
  }
  const int64_t columns = part_ends.back().back();
  const size_t boxes = elements.size();
  for (int64_t begin = 0; begin < columns; begin += kStick) {
    const int64_t of_box = elements[random() % boxes];
    elements.push_back(of_box - of_box % columns +
                       within(begin, std::min(columns, begin + kStick)));
  }
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

GraphSample::GraphSample(const NamedGraph& whole, uint64_t seed) : whole_(whole), graph_(whole) {
  const std::set<int> mixed = MixedDims(whole);
  for (size_t dim = 0; dim < graph_.dims.size(); ++dim) {
    int64_t& size = graph_.dims[dim].size;
    const bool all = mixed.count(static_cast<int>(dim)) != 0;
    indices_.push_back(Sample(size, all ? size : kIndices, seed + dim));
    size = static_cast<int64_t>(indices_.back().size());
  }
}

std::vector<int64_t> GraphSample::ElementsOf(int tensor) const {
  std::vector<int64_t> elements = {0};
  for (const int dim : graph_.tensors[static_cast<size_t>(tensor)].dims) {
    const auto position = static_cast<size_t>(dim);
    std::vector<int64_t> next;
    next.reserve(elements.size() * indices_[position].size());
    for (const int64_t element : elements) {
      for (const int64_t index : indices_[position])
        next.push_back(element * whole_.dims[position].size + index);
    }
    elements = std::move(next);
  }
  return elements;
}

}  // namespace spyre::cosim
