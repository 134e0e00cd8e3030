// SPDX-License-Identifier: Apache-2.0
// Random lists of operations with tiling hints, in the JSON that users write. Most are valid; what
// the compiler refuses, it must refuse with a sentence. All is in one file because every kind of
// operation draws from the tensors and dimensions of one list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/ranges.h"

namespace spyre::fuzz {

class RandomOpList {
 public:
  using Json = nlohmann::ordered_json;

  explicit RandomOpList(uint32_t seed) : random_(seed) {}

  Json Make() {
    MakeDims();
    if (OneIn(6)) types_ = Pick(std::vector<Names>{{"float32"}, {"float16", "float32"}});
    const int inputs = Between(1, 4);
    for (int i = 0; i < inputs; ++i) MakeInput(i);
    const int ops = Between(1, 9);
    for (int i = 0, tries = 0; i < ops && tries < 200; ++tries)
      if (MakeOp(i)) ++i;
    DropUnused();
    MakeHints();
    MakeOutputs();
    return list_;
  }

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  template <typename T>
  T Pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

 private:
  using Names = std::vector<std::string>;
  static constexpr int64_t kMaxElements = 16384;
  static constexpr int64_t kMaxProducts = 1 << 19;  // of a matmul

  struct Tensor {
    std::string name;
    Names dims;
    bool positive = false;
  };

  static bool Has(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  int64_t Size(const std::string& dim) const { return list_.at("dims").at(dim).get<int64_t>(); }
  int64_t Elements(const Names& dims) const {
    int64_t elements = 1;
    for (const std::string& dim : dims) elements *= Size(dim);
    return elements;
  }

  void MakeDims() {
    static const std::vector<int> kSizes = {1,  2,  3,  4,  6,  8,   16,  16,  32, 33,
                                            64, 64, 64, 65, 96, 128, 128, 192, 256};
    const int count = Between(2, 6);
    for (int i = 0; i < count; ++i) {
      dims_.push_back(std::string(1, static_cast<char>('A' + i)));
      list_["dims"][dims_.back()] = Pick(kSizes);
    }
    // Sticks of whole 64 elements are the rule.
    if (!OneIn(6)) list_["dims"][dims_.back()] = 64 * Between(1, 4);
  }

  Names SomeDims() {
    for (;;) {
      Names dims = dims_;
      std::shuffle(dims.begin(), dims.end(), random_);
      dims.resize(
          static_cast<size_t>(Between(1, static_cast<int>(std::min<size_t>(dims.size(), 3)))));
      // The last of all is the usual one inside the stick.
      if (!OneIn(4)) std::sort(dims.begin(), dims.end());
      if (Elements(dims) <= kMaxElements) return dims;
    }
  }

  void MakeInput(int number) {
    Tensor tensor{"x" + std::to_string(number), SomeDims(), OneIn(2)};
    Json json = {{"name", tensor.name}, {"dims", tensor.dims}};
    if (!types_.empty()) json["dtype"] = Pick(types_);
    if (OneIn(8)) json["stick"] = Pick(tensor.dims);
    list_["tensors"].push_back(std::move(json));
    tensors_.push_back(std::move(tensor));
  }

  static Names Union(const std::vector<const Tensor*>& operands) {
    Names dims;
    for (const Tensor* operand : operands)
      for (const std::string& dim : operand->dims)
        if (!Has(dims, dim)) dims.push_back(dim);
    return dims;
  }

  // A tensor, the newest ones more often.
  Tensor Operand() {
    if (OneIn(2)) return tensors_.back();
    return Pick(tensors_);
  }

  bool MakeOp(int number) {
    const int kind = Between(0, 104);
    Json op;
    Names dims;
    bool positive = false;
    const Tensor a = Operand();
    if (kind >= 64 && a.dims.empty()) return false;  // nothing to work along
    if (types_.size() > 1 && OneIn(4)) {
      const std::string type = OneIn(4) ? "float8_e4m3fn" : Pick(types_);
      op = {{"op", "convert"}, {"inputs", {a.name}}, {"dtype", type}};
      positive = a.positive && type != "float8_e4m3fn";  // which may be 0
      dims = a.dims;
    } else if (kind < 30) {
      std::vector<std::string> names = {"abs",  "copy",    "neg",  "relu", "exp",
                                        "tanh", "sigmoid", "gelu", "silu", "clip"};
      if (a.positive)
        names.insert(names.end(), {"sqrt", "log", "reciprocal", "rsqrt", "sqrt", "rsqrt"});
      const std::string name = Pick(names);
      positive = name == "exp" || name == "sigmoid" ||
                 (a.positive &&
                  (name == "copy" || name == "sqrt" || name == "reciprocal" || name == "rsqrt"));
      op = {{"op", name}, {"inputs", {a.name}}};
      if (name == "clip") {
        op["min"] = -0.5;
        op["max"] = 0.75;
      }
      dims = a.dims;
    } else if (kind < 60) {
      const Tensor b = OneIn(6) ? a : Pick(tensors_);
      const std::string name = Pick(Names{"add", "sub", "mul", "maximum", "minimum", "add", "mul",
                                          "div", "equal", "greaterequal", "swiglu"});
      if (name == "div" && !b.positive) return false;
      op = {{"op", name}, {"inputs", {a.name, b.name}}};
      if (OneIn(5) && name != "swiglu" && !a.dims.empty() && !b.dims.empty())
        op["inputs"][name == "div" ? 0 : 1] = Pick(std::vector<double>{0.5, 2, 1.5, -1});
      positive = a.positive && b.positive && op["inputs"][0].is_string() &&
                 op["inputs"][1].is_string() &&
                 (name == "add" || name == "mul" || name == "div" || name == "maximum" ||
                  name == "minimum");
      dims = op["inputs"][1].is_string() ? (op["inputs"][0].is_string() ? Union({&a, &b}) : b.dims)
                                         : a.dims;
    } else if (kind < 64) {
      const Tensor b = Pick(tensors_);
      const Tensor c = Pick(tensors_);
      op = {{"op", "where"}, {"inputs", {a.name, b.name, c.name}}};
      dims = Union({&a, &b, &c});
    } else if (kind == 76 || kind == 77) {
      const bool made = OneIn(3) ? MakeWrite(number, a, op, dims) : MakeChoice(number, a, op, dims);
      if (!made) return false;
    } else if (kind >= 102) {
      if (!MakeWindows(number, a, op, dims)) return false;
    } else if (kind == 101 || (kind >= 78 && kind < 82)) {
      if (!MakeCat(number, a, op, dims)) return false;
    } else if (kind < 82) {
      const std::string along = Pick(a.dims);
      Names names = {"sum", "mean", "amax", "amin"};
      if (Size(along) <= 8) names.insert(names.end(), {"prod", "prod"});
      const std::string name = Pick(names);
      op = {{"op", name}, {"inputs", {a.name}}, {"dim", along}};
      positive = a.positive && name != "sum";
      for (const std::string& dim : a.dims)
        if (dim != along) dims.push_back(dim);
      if (dims.empty() && !OneIn(10)) return false;
    } else if (kind < 92) {
      const std::string name = Pick(Names{"softmax", "layernorm", "rmsnorm"});
      op = {{"op", name}, {"inputs", {a.name}}, {"dim", Pick(a.dims)}};
      if (name != "softmax") op["eps"] = 0.01;
      dims = a.dims;
    } else if (kind >= 100) {
      const std::string along = Pick(a.dims);
      const int64_t size = Size(along);
      const bool sticks = size > 64 && !OneIn(4);
      const int64_t unit = sticks ? 64 : 1;
      const int64_t start = Between(0, static_cast<int>((size - 1) / unit)) * unit;
      int64_t length = Between(1, static_cast<int>(size - start));
      if (sticks && !OneIn(4)) length = std::min(size - start, (length + 63) / 64 * 64);
      const std::string into = "S" + std::to_string(number);
      list_["dims"][into] = length;
      dims_.push_back(into);
      op = {{"op", "slice"}, {"inputs", {a.name}}, {"dim", along}, {"into", into}};
      if (start > 0 || OneIn(2)) op["start"] = start;
      dims = a.dims;
      std::replace(dims.begin(), dims.end(), along, into);
      positive = a.positive;
    } else {
      const Tensor b = Pick(tensors_);
      const std::string along = Pick(a.dims);
      if (!Has(b.dims, along)) return false;
      const auto own = [](const Tensor& x, const Tensor& y) {
        return std::count_if(x.dims.begin(), x.dims.end(),
                             [&](const std::string& dim) { return !Has(y.dims, dim); });
      };
      if (own(a, b) + own(b, a) < 1) return false;
      for (const std::string& dim : Union({&a, &b}))
        if (dim != along) dims.push_back(dim);
      op = {{"op", "matmul"}, {"inputs", {a.name, b.name}}, {"dim", along}, {"dims", dims}};
      if (Elements(dims) * Size(along) > kMaxProducts) return false;
    }
    if (dims.size() > 6 || Elements(dims) > kMaxElements) return false;
    Tensor out{"t" + std::to_string(number), dims, positive};
    op["output"] = out.name;
    list_["ops"].push_back(std::move(op));
    tensors_.push_back(std::move(out));
    return true;
  }

  // By indices that are an input of their own.
  bool MakeChoice(int number, const Tensor& table, Json& op, Names& dims) {
    const std::string along = Pick(table.dims);
    Names positions;
    for (int i = OneIn(3) ? 2 : 1; i > 0; --i) {
      positions.push_back("I" + std::to_string(number) + std::to_string(i));
      list_["dims"][positions.back()] = Pick(std::vector<int>{1, 2, 5, 32, 33, 64, 96});
    }
    for (const std::string& dim : table.dims) {
      if (dim == along) {
        dims.insert(dims.end(), positions.begin(), positions.end());
      } else {
        dims.push_back(dim);
      }
    }
    const std::string indices = "i" + std::to_string(number);
    op = {{"op", "index_select"}, {"inputs", {table.name, indices}}, {"dim", along}};
    if (dims.size() > 5 || Elements(dims) > kMaxElements) return false;
    list_["tensors"].push_back({{"name", indices}, {"dims", positions}, {"dtype", "int32"}});
    dims_.insert(dims_.end(), positions.begin(), positions.end());
    if (OneIn(3)) {
      std::shuffle(dims.begin(), dims.end(), random_);
      op["dims"] = dims;
    }
    return true;
  }

  // What is written by indices is an input of its own.
  bool MakeWrite(int number, const Tensor& table, Json& op, Names& dims) {
    const std::string along = Pick(table.dims);
    const std::string position = "I" + std::to_string(number);
    const std::string indices = "i" + std::to_string(number), source = "w" + std::to_string(number);
    list_["dims"][position] = Pick(std::vector<int>{1, 2, 5, 32, 64});
    dims = table.dims;
    Names written = table.dims;
    std::replace(written.begin(), written.end(), along, position);
    op = {{"op", "index_copy"}, {"inputs", {table.name, indices, source}}, {"dim", along}};
    if (dims.size() > 5 || Elements(written) > kMaxElements) return false;
    list_["tensors"].push_back({{"name", indices}, {"dims", {position}}, {"dtype", "int32"}});
    list_["tensors"].push_back({{"name", source}, {"dims", written}});
    dims_.push_back(position);
    return true;
  }

  // Of tensors that have a dimension of their own, or are broadcast, and of numbers.
  bool MakeCat(int number, const Tensor& first, Json& op, Names& dims) {
    const std::string into = "S" + std::to_string(number);
    const std::string along = Pick(first.dims);
    op = {{"op", "cat"}, {"inputs", Json::array()}, {"dim", Json::array()}, {"into", into}};
    Names joined;
    int64_t size = 0;
    const auto add = [&](const Json& input, const Names& has, const std::string& own) {
      op["inputs"].push_back(input);
      op["dim"].push_back(own);
      joined.push_back(own);
      size += Size(own);
      for (const std::string& dim : has)
        if (dim != own && !Has(dims, dim)) dims.push_back(dim);
    };
    add(first.name, first.dims, along);
    const int more = Between(0, 3);
    for (int i = 0; i < more; ++i) {
      const Tensor b = Pick(tensors_);
      const auto other =
          FindIf(b.dims, [&](const std::string& dim) { return !Has(first.dims, dim); });
      const bool has_own = Has(b.dims, along) || other == b.dims.end();
      if (OneIn(5)) {
        add(Pick(std::vector<double>{0, -1, 0.5}), {}, along);
      } else {
        add(b.name, b.dims, has_own ? along : *other);
      }
    }
    dims.insert(dims.begin() + Between(0, static_cast<int>(dims.size())), into);
    list_["dims"][into] = size;
    if (OneIn(3)) op["dims"] = dims;
    dims_.push_back(into);
    return NoneFits(joined, [&](const std::string& own) { return Has(dims, own); });
  }

  // Windows that overlap: slices from neighbouring elements on, which are combined.
  bool MakeWindows(int number, const Tensor& a, Json& op, Names& dims) {
    const std::string along = Pick(a.dims);
    const int places = Between(2, 4), step = OneIn(3) ? 64 : 1;
    const int64_t length = Size(along) - step * (places - 1);
    if (length < 1) return false;
    const std::string into = "W" + std::to_string(number);
    dims = a.dims;
    std::replace(dims.begin(), dims.end(), along, into);
    list_["dims"][into] = length;
    dims_.push_back(into);
    const std::string combine = Pick(Names{"add", "maximum", "minimum", "mul"});
    const auto name = [&](const char* kind, int place) {
      return "t" + std::to_string(number) + kind + std::to_string(place);
    };
    std::string whole;
    for (int place = 0; place < places; ++place) {
      Json slice = {{"op", "slice"}, {"inputs", {a.name}}, {"dim", along}, {"into", into}};
      slice["start"] = place * step;
      slice["output"] = name("s", place);
      list_["ops"].push_back(slice);
      op = {{"op", combine}, {"inputs", {whole, name("s", place)}}};
      if (place > 0 && place + 1 < places) {
        op["output"] = name("w", place);
        list_["ops"].push_back(op);
      }
      whole = place == 0 ? name("s", 0) : name("w", place);
    }
    return true;
  }

  bool IsRead(const std::string& name) const {
    for (const Json& op : list_.at("ops"))
      for (const Json& input : op.at("inputs"))
        if (input == name) return true;
    return false;
  }

  void DropUnused() {
    Json kept = Json::array();
    for (const Json& tensor : list_.at("tensors"))
      if (IsRead(tensor.at("name"))) kept.push_back(tensor);
    list_["tensors"] = std::move(kept);
    Json dims = Json::object();
    for (const auto& [name, size] : list_.at("dims").items()) {
      for (const Json& tensor : list_.at("tensors"))
        for (const Json& dim : tensor.at("dims"))
          if (dim == name) dims[name] = size;
      for (const Json& op : list_.at("ops"))
        if (op.value("into", "") == name) dims[name] = size;
    }
    list_["dims"] = std::move(dims);
  }

  void MakeHints() {
    if (OneIn(4)) return;
    const Json& ops = list_.at("ops");
    int first = 0;
    int last = static_cast<int>(ops.size()) - 1;
    const int hints = Between(1, 2);
    for (int i = 0; i < hints; ++i) {
      // Hints nest, or follow each other.
      if (OneIn(2)) {
        first = Between(first, last);
        last = Between(first, last);
      }
      Json slices = Json::object();
      const int count = Between(1, 2);
      for (int s = 0; s < count; ++s) {
        const std::string dim = Pick(dims_);
        if (!list_.at("dims").contains(dim)) continue;
        slices[dim] = Slices(Size(dim));
      }
      if (slices.empty()) continue;
      Json hint = {{"slices", std::move(slices)}};
      if (first > 0 || last + 1 < static_cast<int>(ops.size())) {
        for (int o = first; o <= last; ++o)
          hint["ops"].push_back(ops[static_cast<size_t>(o)].at("output"));
      }
      list_["hints"].push_back(std::move(hint));
    }
  }

  int64_t Slices(int64_t size) {
    if (OneIn(20)) return Between(1, 5);  // perhaps no divisor
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= std::min<int64_t>(size, 8); ++d)
      if (size % d == 0) divisors.push_back(d);
    return Pick(divisors);
  }

  void MakeOutputs() {
    if (!OneIn(3)) return;
    Json outputs = Json::array();
    for (const Json& op : list_.at("ops")) {
      const auto name = op.at("output").get<std::string>();
      const bool dead = OneIn(6);  // where nothing reads it
      if ((!IsRead(name) && !dead) || OneIn(3)) outputs.push_back(name);
    }
    if (outputs.empty()) return;
    list_["outputs"] = std::move(outputs);
  }

  std::mt19937 random_;
  Json list_ = Json::object();
  Names dims_;
  Names types_;  // of tensors; empty: none is named
  std::vector<Tensor> tensors_;
};

}  // namespace spyre::fuzz
