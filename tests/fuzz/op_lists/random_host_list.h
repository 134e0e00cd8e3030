// SPDX-License-Identifier: Apache-2.0
// Random lists of which the host computes a part: integers, sines, sums up to each element, orders
// and choices of elements, between operations of the card. In the JSON that users write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace spyre::fuzz {

class RandomHostList {
 public:
  using Json = nlohmann::ordered_json;

  explicit RandomHostList(uint32_t seed) : random_(seed) {}

  Json Make() {
    for (const char* dim : {"A", "B", "C", "N"}) list_["dims"][dim] = Pick({1, 2, 3, 5, 8, 33, 64});
    if (Below(3) != 0) list_["dims"]["C"] = 64;
    floats_ = {Input("x0", {"A", "C"}, false),
               Input("x1", Below(2) == 0 ? Names{"C"} : Names{"A", "C"}, false)};
    wholes_ = {Input("i0", {"A", "C"}, true), Input("i1", {Below(2) == 0 ? "A" : "C"}, true)};
    vectors_ = {Input("n0", {"N"}, true)};
    const int ops = 3 + Below(8);
    while (count_ < ops) Add();
    Finish();
    return list_;
  }

 private:
  using Names = std::vector<std::string>;
  struct Tensor {
    std::string name;
    Names dims;
  };

  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  template <class T>
  T Pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }
  int Pick(std::initializer_list<int> from) { return Pick(std::vector<int>(from)); }
  std::string Name(std::initializer_list<const char*> from) {
    return Pick(std::vector<std::string>(from.begin(), from.end()));
  }

  Tensor Input(const std::string& name, const Names& dims, bool whole) {
    Json tensor = {{"name", name}, {"dims", dims}};
    if (whole) tensor["dtype"] = "int32";
    list_["tensors"].push_back(tensor);
    return {name, dims};
  }

  Tensor Op(const std::string& op, const Json& inputs, const Names& dims,
            Json keys = Json::object()) {
    const std::string name = "t" + std::to_string(count_++);
    Json entry = {{"op", op}, {"inputs", inputs}};
    entry.update(keys);
    entry["output"] = name;
    list_["ops"].push_back(entry);
    return {name, dims};
  }

  static Names Union(const Tensor& a, const Tensor& b) {
    Names dims = a.dims.size() >= b.dims.size() ? a.dims : b.dims;
    for (const Tensor* one : {&a, &b})
      for (const std::string& dim : one->dims)
        if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
    return dims;
  }

  void Add() {
    const Tensor f = Below(2) == 0 ? floats_.back() : Pick(floats_);
    const Tensor i = Below(2) == 0 ? wholes_.back() : Pick(wholes_);
    switch (Below(15)) {
      case 0:
        floats_.push_back(Op(Name({"sin", "cos"}), {f.name}, f.dims));
        return;
      case 1:
        floats_.push_back(Op(Name({"tanh", "neg", "sigmoid", "abs"}), {f.name}, f.dims));
        return;
      case 2: {
        const Tensor other = Pick(floats_);
        floats_.push_back(
            Op(Name({"add", "mul", "maximum"}), {f.name, other.name}, Union(f, other)));
        return;
      }
      case 3:
        if (f.dims.empty()) return;
        floats_.push_back(Op("cumsum", {f.name}, f.dims, {{"dim", Pick(f.dims)}}));
        return;
      case 4:
        if (f.dims.size() < 2) return;
        floats_.push_back(Op(Name({"tril", "triu"}), {f.name}, f.dims,
                             {{"dim", {f.dims[0], f.dims[1]}}, {"diagonal", Below(5) - 2}}));
        return;
      case 5: {
        const Tensor other = Pick(wholes_);
        wholes_.push_back(
            Op(Name({"add", "sub", "maximum", "minimum"}), {i.name, other.name}, Union(i, other)));
        return;
      }
      case 6:
        wholes_.push_back(Op("floordiv", {i.name, Pick({2, 3, 7, -5})}, i.dims));
        return;
      case 7: {
        const Tensor truth =
            Op(Name({"lesserthan", "equal"}), {i.name, Below(2000) - 1000}, i.dims);
        floats_.push_back(Op("mul", {truth.name, f.name}, Union(truth, f)));
        wholes_.push_back(Op("where", {truth.name, i.name, 17}, i.dims));
        return;
      }
      case 8:
        if (i.dims.empty()) return;
        wholes_.push_back(
            Op(Name({"sort", "argsort", "cumsum"}), {i.name}, i.dims, {{"dim", Pick(i.dims)}}));
        return;
      case 9: {
        const Tensor small = Op("clip", {i.name}, i.dims, {{"min", -100}, {"max", 100}});
        floats_.push_back(Op("convert", {small.name}, i.dims, {{"dtype", "float16"}}));
        return;
      }
      case 10:  // rows by integers that the host has made
        if (std::find(f.dims.begin(), f.dims.end(), "A") == f.dims.end()) return;
        {
          const Tensor n =
              Op("clip", {vectors_.back().name}, {"N"}, {{"min", 0}, {"max", Size("A") - 1}});
          Names dims = f.dims;
          std::replace(dims.begin(), dims.end(), std::string("A"), std::string("N"));
          results_.push_back(Op("index_select", {f.name, n.name}, dims, {{"dim", "A"}}));
        }
        return;
      case 11:
        vectors_.push_back(
            Op(Name({"add", "mul", "sub"}), {vectors_.back().name, Pick({1, 2, -3})}, {"N"}));
        return;
      case 13: {
        if (f.dims.empty()) return;
        const std::string dim = Pick(f.dims);
        const std::string rank = "K" + std::to_string(count_);
        list_["dims"][rank] = 1 + Below(static_cast<int>(std::min<int64_t>(Size(dim), 4)));
        ranks_.push_back(rank);
        Names dims = f.dims;
        std::replace(dims.begin(), dims.end(), dim, rank);
        results_.push_back(Op("topkvalue", {f.name}, dims, {{"dim", dim}, {"into", rank}}));
        return;
      }
      case 12:
        if (i.dims.size() < 2) return;
        results_.push_back(
            Op(Name({"sum", "amax", "amin"}), {i.name}, {i.dims[1]}, {{"dim", i.dims[0]}}));
        return;
      default: {
        if (f.dims.size() != 2 || i.dims.size() != 2) return;
        // Along C by integers with a dimension of their own.
        const Tensor n =
            Op("clip", {vectors_.back().name}, {"N"}, {{"min", 0}, {"max", Size("C") - 1}});
        results_.push_back(
            Op("gather", {f.name, n.name}, {"N", "A"}, {{"dim", "C"}, {"dims", {"N", "A"}}}));
        return;
      }
    }
  }

  int64_t Size(const std::string& dim) const { return list_.at("dims").at(dim).get<int64_t>(); }

  // Inputs that nothing reads go; the last result of each kind is an output.
  void Finish() {
    Json outputs = Json::array();
    const auto computed = [&](const std::vector<Tensor>& tensors) {
      for (const Tensor& tensor : tensors)
        if (tensor.name[0] == 't') outputs.push_back(tensor.name);
    };
    computed(floats_);
    computed(wholes_);
    computed(vectors_);
    computed(results_);
    list_["outputs"] = outputs;
    Json kept = Json::array();
    Names dims = ranks_;
    for (const Json& tensor : list_["tensors"]) {
      for (const Json& op : list_["ops"]) {
        const Json& inputs = op.at("inputs");
        if (std::find(inputs.begin(), inputs.end(), tensor.at("name")) == inputs.end()) continue;
        kept.push_back(tensor);
        for (const Json& dim : tensor.at("dims")) dims.push_back(dim.get<std::string>());
        break;
      }
    }
    list_["tensors"] = kept;
    Json sizes = Json::object();
    for (const auto& [dim, size] : list_["dims"].items())
      if (std::find(dims.begin(), dims.end(), dim) != dims.end()) sizes[dim] = size;
    list_["dims"] = sizes;
  }

  std::mt19937 random_;
  Json list_;
  int count_ = 0;
  Names ranks_;  // dimensions
  std::vector<Tensor> floats_, wholes_, vectors_, results_;
};

}  // namespace spyre::fuzz
