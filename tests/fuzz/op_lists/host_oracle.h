// SPDX-License-Identifier: Apache-2.0
// What the operations of the host mean, for OpListOracle: loops over named dimensions. Integers are
// exact; where numbers that are not known exactly decide a position, nothing is known of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fuzz/op_lists/bounded.h"

namespace spyre::fuzz {

class HostOracle {
 public:
  using Json = nlohmann::ordered_json;
  using Names = std::vector<std::string>;
  using Sizes = std::map<std::string, int64_t>;

  explicit HostOracle(const Sizes& sizes) : sizes_(sizes) {}

  // False: `name` is not computed by the host.
  bool Run(const std::string& name, const Json& op, const std::vector<OracleTensor>& x,
           const Names& along, OracleTensor& out) const {
    if (name == "sin" || name == "cos") {
      out = Make(x[0].dims, [&](const Index& at) {
        const Bounded e = Element(x[0], at);
        return e.known() ? Rounded(name == "sin" ? std::sin(e.value) : std::cos(e.value), e.error)
                         : e;
      });
    } else if (name == "cumsum") {
      out = Make(x[0].dims, [&](Index at) { return SumUpTo(x[0], along[0], at); });
    } else if (name == "topkvalue") {
      const auto into = op.at("into").get<std::string>();
      Names dims = x[0].dims;
      std::replace(dims.begin(), dims.end(), along[0], into);
      out = Make(dims, [&](Index at) { return Largest(x[0], along[0], at.at(into), at); });
    } else if (name == "tril" || name == "triu") {
      const int64_t diagonal = op.value("diagonal", int64_t{0});
      out = Make(x[0].dims, [&](const Index& at) {
        const int64_t beyond = at.at(along[1]) - at.at(along[0]) - diagonal;
        return (name == "tril" ? beyond <= 0 : beyond >= 0) ? Element(x[0], at) : Bounded{0, 0};
      });
    } else if (name == "gather") {
      Names dims = x[1].dims;
      for (const std::string& dim : x[0].dims)
        if (dim != along[0]) dims.push_back(dim);
      out = Make(dims, [&](Index at) {
        at[along[0]] = static_cast<int64_t>(Element(x[1], at).value);
        return Element(x[0], at);
      });
    } else if (!x[0].whole && !(x.size() > 1 && x[1].whole && name == "where")) {
      return false;
    } else if (name == "sort" || name == "argsort") {
      out = Make(x[0].dims, [&](Index at) { return Ordered(x[0], along[0], at, name == "sort"); });
    } else if (name == "sum" || name == "amax" || name == "amin") {
      out = Fold(name, x[0], along);
    } else if (name == "clip") {
      out = Make(x[0].dims, [&](const Index& at) {
        const double value = std::max(Element(x[0], at).value, op.at("min").get<double>());
        return Bounded{std::min(value, op.at("max").get<double>()), 0};
      });
    } else if (name == "convert") {
      out = Make(x[0].dims, [&](const Index& at) {
        const double value = Element(x[0], at).value;
        return Bounded{value, std::fabs(value) / 1024};
      });
    } else if (name == "where") {
      out = Make(Union(x), [&](const Index& at) {
        return Element(x[0], at).value != 0 ? Element(x[1], at) : Element(x[2], at);
      });
    } else if (x.size() == 2 && name != "index_select") {
      out = Make(Union(x), [&](const Index& at) {
        return Bounded{Combine(name, Element(x[0], at).value, Element(x[1], at).value), 0};
      });
    } else if (name == "neg" || name == "abs") {
      out = Make(x[0].dims, [&](const Index& at) {
        const double value = Element(x[0], at).value;
        return Bounded{name == "neg" ? -value : std::fabs(value), 0};
      });
    } else {
      return false;
    }
    out.whole = x[0].whole || (name == "where" && x[1].whole);
    if (name == "lesserthan" || name == "equal" || name == "convert") out.whole = false;
    return true;
  }

 private:
  using Index = std::map<std::string, int64_t>;

  Bounded Element(const OracleTensor& tensor, const Index& at) const {
    int64_t place = 0;
    for (const std::string& dim : tensor.dims) place = place * sizes_.at(dim) + at.at(dim);
    return tensor.data[static_cast<size_t>(place)];
  }

  void ForEach(const Names& dims, Index at, const std::function<void(const Index&)>& body,
               size_t from = 0) const {
    if (from == dims.size()) return body(at);
    for (int64_t i = 0; i < sizes_.at(dims[from]); ++i) {
      at[dims[from]] = i;
      ForEach(dims, at, body, from + 1);
    }
  }

  OracleTensor Make(const Names& dims, const std::function<Bounded(const Index&)>& element) const {
    OracleTensor tensor{dims, {}};
    ForEach(dims, {}, [&](const Index& at) { tensor.data.push_back(element(at)); });
    return tensor;
  }

  static Names Union(const std::vector<OracleTensor>& operands) {
    Names dims;
    for (const OracleTensor& operand : operands) {
      for (const std::string& dim : operand.dims)
        if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
    }
    return dims;
  }

  Bounded SumUpTo(const OracleTensor& x, const std::string& dim, Index& at) const {
    double sum = 0, error = 0;
    for (int64_t last = at.at(dim); last >= 0; --last) {
      at[dim] = last;
      const Bounded e = Element(x, at);
      if (!e.known()) return e;
      sum += e.value;
      error += e.error;
    }
    return x.whole ? Bounded{sum, 0} : Rounded(sum, error);
  }

  // Of numbers that are off by at most so much, the one of a rank is.
  Bounded Largest(const OracleTensor& x, const std::string& dim, int64_t rank, Index& at) const {
    std::vector<double> line;
    double error = 0;
    for (at[dim] = 0; at[dim] < sizes_.at(dim); ++at[dim]) {
      const Bounded e = Element(x, at);
      if (!e.known()) return e;
      line.push_back(e.value);
      error = std::max(error, e.error);
    }
    std::sort(line.rbegin(), line.rend());
    return {line[static_cast<size_t>(rank)], error};
  }

  // The element, or its place, that has as many smaller or equal ones before it as its own place.
  Bounded Ordered(const OracleTensor& x, const std::string& dim, Index& at, bool value) const {
    const int64_t rank = at.at(dim);
    const int64_t size = sizes_.at(dim);
    std::vector<double> line;
    for (at[dim] = 0; at[dim] < size; ++at[dim]) line.push_back(Element(x, at).value);
    for (int64_t i = 0; i < size; ++i) {
      int64_t before = 0;
      const double own = line[static_cast<size_t>(i)];
      for (int64_t k = 0; k < size; ++k) {
        const double other = line[static_cast<size_t>(k)];
        if (other < own || (other == own && k < i)) ++before;
      }
      if (before == rank) return {value ? own : static_cast<double>(i), 0};
    }
    return {0, std::numeric_limits<double>::infinity()};
  }

  OracleTensor Fold(const std::string& name, const OracleTensor& x, const Names& along) const {
    Names left;
    for (const std::string& dim : x.dims)
      if (std::find(along.begin(), along.end(), dim) == along.end()) left.push_back(dim);
    return Make(left, [&](const Index& at) {
      double total = name == "sum" ? 0 : name == "amax" ? -HUGE_VAL : HUGE_VAL;
      ForEach(along, at, [&](const Index& inner) {
        const double value = Element(x, inner).value;
        total = name == "sum"    ? total + value
                : name == "amax" ? std::max(total, value)
                                 : std::min(total, value);
      });
      return Bounded{total, 0};
    });
  }

  static double Combine(const std::string& name, double a, double b) {
    if (name == "add") return a + b;
    if (name == "sub") return a - b;
    if (name == "mul") return a * b;
    if (name == "floordiv") return std::floor(a / b);
    if (name == "maximum") return std::max(a, b);
    if (name == "minimum") return std::min(a, b);
    if (name == "lesserthan") return a < b ? 1 : 0;
    if (name == "equal") return a == b ? 1 : 0;
    return std::numeric_limits<double>::quiet_NaN();
  }

  const Sizes& sizes_;
};

}  // namespace spyre::fuzz
