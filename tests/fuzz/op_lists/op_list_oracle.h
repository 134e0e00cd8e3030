// SPDX-License-Identifier: Apache-2.0
// What a list of operations means, worked out from its JSON in float64 with a bound for what
// rounding may add up to: simple loops over named dimensions that share no code with the compiler,
// its data structures or the references of the product.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fuzz/op_lists/bounded.h"
#include "tests/fuzz/op_lists/host_oracle.h"

namespace spyre::fuzz {

using Json = nlohmann::ordered_json;

class OpListOracle {
 public:
  // inputs: by name, exact. tiles: of a sum, each of which may be rounded by itself.
  OpListOracle(const Json& list, std::map<std::string, OracleTensor> inputs, int64_t tiles = 1)
      : list_(list), tiles_(tiles), tensors_(std::move(inputs)) {
    for (const auto& [name, size] : list.at("dims").items()) {
      sizes_[name] = size.get<int64_t>();
      places_.try_emplace(name, places_.size());
    }
    for (const Json& op : list.at("ops")) Run(op);
  }

  const OracleTensor& At(const std::string& name) const { return tensors_.at(name); }

 private:
  using Index = std::vector<int64_t>;  // by the places of the dimensions; kNone: it does not matter
  static constexpr int64_t kNone = -1;
  using Names = std::vector<std::string>;

  static bool Has(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Dimensions whose names have been looked up, once for all elements.
  struct Dim {
    size_t place;
    int64_t size;
  };
  std::vector<Dim> Found(const Names& names) const {
    std::vector<Dim> dims;
    for (const std::string& name : names) dims.push_back({places_.at(name), sizes_.at(name)});
    return dims;
  }

  class Elements {
   public:
    Elements(std::vector<Dim> dims, const OracleTensor& tensor)
        : dims_(std::move(dims)), tensor_(tensor) {}
    const Bounded& operator()(const Index& index) const {
      int64_t at = 0;
      for (const Dim& dim : dims_) {
        if (index[dim.place] == kNone) throw std::out_of_range("oracle: a dimension is not walked");
        at = at * dim.size + index[dim.place];
      }
      return tensor_.data[static_cast<size_t>(at)];
    }

   private:
    std::vector<Dim> dims_;
    const OracleTensor& tensor_;  // outlives this
  };
  Elements Of(const OracleTensor& tensor) const { return {Found(tensor.dims), tensor}; }

  using Body = std::function<void(const Index&)>;
  static void ForEach(const std::vector<Dim>& dims, Index index, const Body& body) {
    Walk(dims, 0, index, body);
  }
  static void Walk(const std::vector<Dim>& dims, size_t from, Index& index, const Body& body) {
    if (from == dims.size()) return body(index);
    int64_t& at = index[dims[from].place];
    for (at = 0; at < dims[from].size; ++at) Walk(dims, from + 1, index, body);
  }

  OracleTensor Make(const Names& dims, const std::function<Bounded(const Index&)>& element) const {
    OracleTensor tensor{dims, {}};
    ForEach(Found(dims), Index(places_.size(), kNone),
            [&](const Index& index) { tensor.data.push_back(element(index)); });
    return tensor;
  }

  OracleTensor Operand(const Json& input) const {
    if (!input.is_number()) return tensors_.at(input.get<std::string>());
    const double value = input.get<double>();
    return {{}, {{value, std::fabs(value) / 1024}}};
  }

  static Names Union(const std::vector<OracleTensor>& operands) {
    Names dims;
    for (const OracleTensor& operand : operands) {
      for (const std::string& dim : operand.dims)
        if (!Has(dims, dim)) dims.push_back(dim);
    }
    return dims;
  }

  // ------------------------------------------------------------- functions
  // A function that changes by at most `slope` times a change of its argument near it.
  static Bounded Smooth(const Bounded& x, double value, double slope) {
    return Rounded(value, slope * x.error);
  }
  static Bounded Unknown() { return {0, std::numeric_limits<double>::infinity()}; }

  static Bounded Unary(const std::string& op, const Json& keys, const Bounded& x) {
    if (!x.known()) return Unknown();
    const double v = x.value;
    const double low = v - x.error;
    if (op == "abs") return Smooth(x, std::fabs(v), 1);
    if (op == "convert" && keys.at("dtype") == "float8_e4m3fn") {
      if (std::fabs(v) + x.error > 448) return Unknown();
      return {v, x.error + (std::fabs(v) + x.error) / 16 + 1.0 / 1024};  // 3 bits of fraction
    }
    if (op == "copy" || op == "convert" || op == "restickify") return Smooth(x, v, 1);
    if (op == "neg") return Smooth(x, -v, 1);
    if (op == "relu") return Smooth(x, std::max(v, 0.0), 1);
    if (op == "clip")
      return Smooth(
          x, std::min(std::max(v, keys.at("min").get<double>()), keys.at("max").get<double>()), 1);
    if (op == "exp") return Rounded(std::exp(v), std::exp(v) * std::expm1(x.error));
    if (op == "tanh") return Smooth(x, std::tanh(v), 1);
    if (op == "sigmoid") return Smooth(x, 1 / (1 + std::exp(-v)), 0.25);
    if (op == "gelu") {
      Bounded gelu = Smooth(x, v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))), 1.2);
      gelu.error += 4e-3;  // the card may take the tanh form
      return gelu;
    }
    if (op == "silu") return Divide(x, Add({1, 0}, Unary("exp", keys, Unary("neg", keys, x))));
    if (low <= 0) return Unknown();
    if (op == "sqrt") return Smooth(x, std::sqrt(v), 0.5 / std::sqrt(low));
    if (op == "log") return Smooth(x, std::log(v), 1 / low);
    if (op == "reciprocal") return Smooth(x, 1 / v, 1 / (low * low));
    if (op == "rsqrt") return Smooth(x, 1 / std::sqrt(v), 0.5 / (low * std::sqrt(low)));
    throw std::invalid_argument("oracle: " + op);
  }

  static Bounded Add(const Bounded& a, const Bounded& b) {
    return Rounded(a.value + b.value, a.error + b.error);
  }
  static Bounded Subtract(const Bounded& a, const Bounded& b) {
    return Rounded(a.value - b.value, a.error + b.error);
  }
  static Bounded Multiply(const Bounded& a, const Bounded& b) {
    return Rounded(a.value * b.value,
                   std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error);
  }
  static Bounded Divide(const Bounded& a, const Bounded& b) {
    const double low = std::fabs(b.value) - b.error;
    if (!(low > 0)) return Unknown();
    return Rounded(a.value / b.value,
                   a.error / low + (std::fabs(a.value) + a.error) * b.error / (low * low));
  }
  static Bounded Larger(const Bounded& a, const Bounded& b) {
    return {std::max(a.value, b.value), std::max(a.error, b.error)};
  }
  static Bounded Smaller(const Bounded& a, const Bounded& b) {
    return {std::min(a.value, b.value), std::max(a.error, b.error)};
  }
  static Bounded Truth(bool value, bool sure) {
    return sure ? Bounded{value ? 1.0 : 0.0, 0} : Unknown();
  }

  static Bounded Binary(const std::string& op, const Bounded& a, const Bounded& b) {
    if (!a.known() || !b.known()) return Unknown();
    const double distance = std::fabs(a.value - b.value);
    const double doubt = a.error + b.error;
    const bool exact = doubt == 0;
    if (op == "add") return Add(a, b);
    if (op == "sub") return Subtract(a, b);
    if (op == "mul") return Multiply(a, b);
    if (op == "div") return Divide(a, b);
    if (op == "maximum") return Larger(a, b);
    if (op == "minimum") return Smaller(a, b);
    if (op == "equal") return Truth(a.value == b.value, exact || distance > doubt);
    if (op == "notequal") return Truth(a.value != b.value, exact || distance > doubt);
    if (op == "greaterequal") return Truth(a.value >= b.value, exact || distance > doubt);
    if (op == "lesserequal") return Truth(a.value <= b.value, exact || distance > doubt);
    throw std::invalid_argument("oracle: " + op);
  }

  // Of fp32 accumulators that are rounded once; of tiles, each and each sum of some of them.
  Bounded Sum(const std::vector<Bounded>& terms) const {
    double sum = 0, error = 0, magnitude = 0;
    for (const Bounded& term : terms) {
      if (!term.known()) return Unknown();
      sum += term.value;
      error += term.error;
      magnitude += std::fabs(term.value) + term.error;
    }
    constexpr double kOfATile = 2.0 / 1024;
    constexpr double kLeastOfATile = 1.0 / (1 << 14);
    if (tiles_ > 1) error += static_cast<double>(tiles_) * (kOfATile * magnitude + kLeastOfATile);
    return Rounded(sum, error + magnitude * static_cast<double>(terms.size() + 2) / (1 << 22));
  }

  // Each factor may find a rounded product before it.
  static Bounded Product(const std::vector<Bounded>& terms) {
    Bounded product = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      const Bounded& term = terms[i];
      if (!product.known() || !term.known()) return Unknown();
      product = Rounded(product.value * term.value,
                        std::fabs(product.value) * term.error +
                            (std::fabs(term.value) + term.error) * product.error);
    }
    return product;
  }

  Bounded Reduce(const std::string& op, const std::vector<Bounded>& terms) const {
    if (op == "sum") return Sum(terms);
    if (op == "mean") {
      const auto count = static_cast<double>(terms.size());
      Bounded sum = Sum(terms);
      // Divided before it is rounded.
      return sum.known() ? Bounded{sum.value / count, sum.error / count + 1.0 / (1 << 14)} : sum;
    }
    if (op == "prod") return Product(terms);
    Bounded result = terms[0];
    for (const Bounded& term : terms) {
      if (!term.known()) return Unknown();
      result = op == "amax" ? Larger(result, term) : Smaller(result, term);
    }
    return result;
  }

  // ------------------------------------------------------------- operations
  OracleTensor Map(const std::string& op, const Json& keys, const OracleTensor& x) const {
    const Elements xs = Of(x);
    return Make(x.dims, [&](const Index& i) { return Unary(op, keys, xs(i)); });
  }
  OracleTensor Zip(const std::string& op, const OracleTensor& a, const OracleTensor& b) const {
    const Elements as = Of(a), bs = Of(b);
    return Make(Union({a, b}), [&](const Index& i) { return Binary(op, as(i), bs(i)); });
  }
  OracleTensor Fold(const std::string& op, const OracleTensor& x, const Names& along) const {
    Names left;
    for (const std::string& dim : x.dims)
      if (!Has(along, dim)) left.push_back(dim);
    const Elements xs = Of(x);
    const std::vector<Dim> folded = Found(along);
    return Make(left, [&](const Index& i) {
      std::vector<Bounded> terms;
      ForEach(folded, i, [&](const Index& j) { terms.push_back(xs(j)); });
      return Reduce(op, terms);
    });
  }
  static OracleTensor Scalar(double value) { return {{}, {{value, std::fabs(value) / 1024}}}; }

  OracleTensor Multiplied(const OracleTensor& a, const OracleTensor& b,
                          const std::string& along) const {
    Names dims;
    for (const std::string& dim : Union({a, b}))
      if (dim != along) dims.push_back(dim);
    const Elements as = Of(a), bs = Of(b);
    const std::vector<Dim> summed = Found({along});
    return Make(dims, [&](const Index& i) {
      std::vector<Bounded> terms;
      ForEach(summed, i, [&](const Index& j) {
        const Bounded& x = as(j);
        const Bounded& y = bs(j);
        terms.push_back({x.value * y.value, std::fabs(x.value) * y.error +
                                                std::fabs(y.value) * x.error + x.error * y.error});
      });
      return Sum(terms);
    });
  }

  OracleTensor Softmax(const OracleTensor& x, const Names& along) const {
    const OracleTensor e = Map("exp", {}, Zip("sub", x, Fold("amax", x, along)));
    return Zip("div", e, Fold("sum", e, along));
  }

  OracleTensor Norm(const std::string& op, const Json& keys, const std::vector<OracleTensor>& x,
                    const Names& along) const {
    const OracleTensor centred =
        op == "rmsnorm" ? x[0] : Zip("sub", x[0], Fold("mean", x[0], along));
    const OracleTensor square = Fold("mean", Zip("mul", centred, centred), along);
    const OracleTensor scale =
        Map("rsqrt", {}, Zip("add", square, Scalar(keys.at("eps").get<double>())));
    OracleTensor result = Zip("mul", centred, scale);
    if (x.size() > 1) result = Zip("mul", result, x[1]);
    if (x.size() > 2) result = Zip("add", result, x[2]);
    return result;
  }

  OracleTensor Cat(const std::vector<OracleTensor>& x, const Names& along,
                   const std::string& into) const {
    Names dims = {into};
    for (size_t i = 0; i < x.size(); ++i)
      for (const std::string& dim : x[i].dims)
        if (dim != along[i] && !Has(dims, dim)) dims.push_back(dim);
    std::vector<Elements> parts;
    for (const OracleTensor& part : x) parts.push_back(Of(part));
    const std::vector<Dim> joined = Found(along);
    const size_t whole = places_.at(into);
    return Make(dims, [&](Index i) {
      int64_t at = i[whole];
      size_t part = 0;
      for (; at >= joined.at(part).size; ++part) at -= joined[part].size;
      i[joined[part].place] = at;
      return parts[part](i);
    });
  }

  void Run(const Json& op) {
    const auto name = op.at("op").get<std::string>();
    std::vector<OracleTensor> x;
    for (const Json& input : op.at("inputs")) x.push_back(Operand(input));
    Names along;
    if (op.contains("dim") && op.at("dim").is_array()) {
      along = op.at("dim").get<Names>();
    } else if (op.contains("dim")) {
      along = {op.at("dim").get<std::string>()};
    }
    OracleTensor& out = tensors_[op.at("output").get<std::string>()];
    if (HostOracle(sizes_).Run(name, op, x, along, out)) return;
    if (name == "matmul") {
      out = Multiplied(x[0], x[1], along.empty() ? x[0].dims.back() : along[0]);
    } else if (name == "softmax") {
      out = Softmax(x[0], along);
    } else if (name == "layernorm" || name == "rmsnorm") {
      out = Norm(name, op, x, along);
    } else if (name == "sum" || name == "mean" || name == "amax" || name == "amin" ||
               name == "prod") {
      out = Fold(name, x[0], along);
    } else if (name == "slice") {
      const auto into = op.at("into").get<std::string>();
      const int64_t start = op.value("start", int64_t{0});
      Names dims = x[0].dims;
      std::replace(dims.begin(), dims.end(), along[0], into);
      const Elements xs = Of(x[0]);
      const size_t from = places_.at(along[0]), to = places_.at(into);
      out = Make(dims, [&](Index i) {
        i[from] = start + i[to];
        return xs(i);
      });
    } else if (name == "cat") {
      out = Cat(x, along, op.at("into"));
    } else if (name == "index_select") {
      Names dims = x[1].dims;
      for (const std::string& dim : x[0].dims)
        if (dim != along[0]) dims.push_back(dim);
      const Elements rows = Of(x[0]), indices = Of(x[1]);
      const size_t chosen = places_.at(along[0]);
      out = Make(dims, [&](Index i) {
        i[chosen] = static_cast<int64_t>(indices(i).value);
        return rows(i);
      });
    } else if (name == "index_copy") {
      const Elements rows = Of(x[0]), indices = Of(x[1]), written = Of(x[2]);
      const Dim position = Found({x[1].dims[0]}).front();
      const size_t chosen = places_.at(along[0]);
      out = Make(x[0].dims, [&](Index i) {
        for (int64_t at = position.size - 1; at >= 0; --at) {
          i[position.place] = at;
          if (static_cast<int64_t>(indices(i).value) == i[chosen]) return written(i);
        }
        return rows(i);
      });
    } else if (name == "swiglu") {
      out = Zip("mul", Map("silu", {}, x[0]), x[1]);
    } else if (name == "where") {
      const Elements conditions = Of(x[0]), yes = Of(x[1]), no = Of(x[2]);
      out = Make(Union(x), [&](const Index& i) {
        const Bounded& condition = conditions(i);
        if (!condition.known() ||
            (condition.error > 0 && std::fabs(condition.value) <= condition.error))
          return Unknown();
        return condition.value != 0 ? yes(i) : no(i);
      });
    } else if (x.size() == 2) {
      out = Zip(name, x[0], x[1]);
    } else {
      out = Map(name, op, x[0]);
    }
  }

  const Json& list_;
  int64_t tiles_;
  std::map<std::string, int64_t> sizes_;
  std::map<std::string, size_t> places_;  // of the dimensions
  std::map<std::string, OracleTensor> tensors_;
};

}  // namespace spyre::fuzz
