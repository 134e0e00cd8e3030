// SPDX-License-Identifier: Apache-2.0
// Inputs of random lists, and their results beside the oracle's.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "model/contract/formats.h"
#include "runtime/compiler/list/list_uses.h"
#include "runtime/compiler/list/named_graph.h"
#include "tests/fuzz/op_lists/op_list_oracle.h"

namespace spyre::fuzz {

using OracleTensors = std::map<std::string, OracleTensor>;

inline uint32_t FromEnvironment(const char* name, uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

// Of every input of the list, as the card can hold it.
inline OracleTensors RandomInputs(const compiler::NamedGraph& graph, std::mt19937& random) {
  OracleTensors tensors;
  for (const compiler::NamedTensor& named : graph.tensors) {
    if (named.origin != compiler::NamedTensor::Origin::kInput) continue;
    OracleTensor tensor;
    for (const int dim : named.dims)
      tensor.dims.push_back(graph.dims[static_cast<size_t>(dim)].name);
    if (named.format == DataFormat::kIeeeInt32) {  // indices
      const auto tensor_at = static_cast<int>(&named - graph.tensors.data());
      const auto limit = static_cast<uint32_t>(compiler::IndexLimit(graph, tensor_at));
      constexpr int32_t kMost = 1000;  // of those that choose nothing
      for (int64_t i = graph.Elements(named); i > 0; --i) {
        const auto other = static_cast<int32_t>(random() % (2 * kMost)) - kMost;
        tensor.data.push_back({limit == 0 ? other : static_cast<double>(random() % limit), 0});
      }
      tensor.whole = true;
      tensors[named.name] = std::move(tensor);
      continue;
    }
    const bool positive = random() % 2 == 0;
    std::uniform_real_distribution<double> value(positive ? 0.5 : -2, positive ? 1.5 : 2);
    for (int64_t i = graph.Elements(named); i > 0; --i) {
      // As float16 has it too, in files: below its least normal number that has fewer bits.
      constexpr float kLeastNormalHalf = 1.0F / (1 << 14);
      const auto exact = DlfToFloat(DlfFromFloat(static_cast<float>(value(random))));
      tensor.data.push_back({std::fabs(exact) < kLeastNormalHalf ? 0 : exact, 0});
    }
    tensors[named.name] = std::move(tensor);
  }
  return tensors;
}

struct Judgement {
  int64_t elements = 0, unknown = 0, wrong = 0;
  std::string first;  // that is wrong
};

// at(i): element i on the host of a tensor whose dimensions are `named`'s, whose order the compiler
// chooses; names say which is which.
inline Judgement Judge(const compiler::NamedGraph& graph, const compiler::NamedTensor& named,
                       const OracleTensor& expected, const std::function<double(int64_t)>& at) {
  Judgement result;
  std::vector<int64_t> stride(expected.dims.size()), size(expected.dims.size());
  int64_t step = 1;
  for (size_t d = named.dims.size(); d-- > 0;) {
    const compiler::NamedDim& dim = graph.dims[static_cast<size_t>(named.dims[d])];
    const auto place = std::find(expected.dims.begin(), expected.dims.end(), dim.name);
    if (named.dims.size() != expected.dims.size() || place == expected.dims.end()) {
      result.wrong = 1;
      result.first = fmt::format("'{}' has other dimensions than the list", named.name);
      return result;
    }
    stride[static_cast<size_t>(place - expected.dims.begin())] = step;
    size[static_cast<size_t>(place - expected.dims.begin())] = dim.size;
    step *= dim.size;
  }
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const Bounded& element = expected.data[i];
    ++result.elements;
    if (!element.known()) {
      ++result.unknown;
      continue;
    }
    int64_t place = 0;
    size_t rest = i;
    for (size_t d = size.size(); d-- > 0;) {
      place += static_cast<int64_t>(rest % static_cast<size_t>(size[d])) * stride[d];
      rest /= static_cast<size_t>(size[d]);
    }
    const double got = at(place);
    constexpr double kHostRounding = 1.0 / (1 << 24);  // of the least numbers of float16
    if (std::fabs(got - element.value) <= element.error + kHostRounding) continue;
    if (++result.wrong == 1) {
      result.first = fmt::format("'{}', element {}: {} instead of {} +- {}", named.name, place, got,
                                 element.value, element.error);
    }
  }
  return result;
}

}  // namespace spyre::fuzz
