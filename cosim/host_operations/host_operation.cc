// SPDX-License-Identifier: Apache-2.0
#include "cosim/host_operations/host_operation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;
using compiler::NamedTensor;
using Numbers = std::vector<double>;

constexpr double kHalfMost = 65504;  // of float16

double Bits(double a, double b, int64_t (*combine)(int64_t, int64_t)) {
  return static_cast<double>(combine(static_cast<int64_t>(a), static_cast<int64_t>(b)));
}

using Elementwise = double (*)(const Numbers& in);

// Of each name: what becomes of the elements at one place.
const std::map<std::string_view, Elementwise>& ElementwiseFunctions() {
  static const std::map<std::string_view, Elementwise> functions = {
      {"sin", [](const Numbers& in) { return std::sin(in[0]); }},
      {"cos", [](const Numbers& in) { return std::cos(in[0]); }},
      {"copy", [](const Numbers& in) { return in[0]; }},
      {"neg", [](const Numbers& in) { return -in[0]; }},
      {"abs", [](const Numbers& in) { return std::abs(in[0]); }},
      {"relu", [](const Numbers& in) { return in[0] < 0 ? 0 : in[0]; }},
      {"add", [](const Numbers& in) { return in[0] + in[1]; }},
      {"sub", [](const Numbers& in) { return in[0] - in[1]; }},
      {"mul", [](const Numbers& in) { return in[0] * in[1]; }},
      {"floordiv", [](const Numbers& in) { return std::floor(in[0] / in[1]); }},
      {"maximum", [](const Numbers& in) { return in[0] < in[1] ? in[1] : in[0]; }},
      {"minimum", [](const Numbers& in) { return in[1] < in[0] ? in[1] : in[0]; }},
      {"equal", [](const Numbers& in) { return static_cast<double>(in[0] == in[1]); }},
      {"notequal", [](const Numbers& in) { return static_cast<double>(in[0] != in[1]); }},
      {"greaterthan", [](const Numbers& in) { return static_cast<double>(in[0] > in[1]); }},
      {"greaterequal", [](const Numbers& in) { return static_cast<double>(in[0] >= in[1]); }},
      {"lesserthan", [](const Numbers& in) { return static_cast<double>(in[0] < in[1]); }},
      {"lesserequal", [](const Numbers& in) { return static_cast<double>(in[0] <= in[1]); }},
      {"where", [](const Numbers& in) { return in[0] != 0 ? in[1] : in[2]; }},
      {"bitwise_and",
       [](const Numbers& in) {
         return Bits(in[0], in[1], [](int64_t a, int64_t b) { return a & b; });
       }},
      {"bitwise_or",
       [](const Numbers& in) {
         return Bits(in[0], in[1], [](int64_t a, int64_t b) { return a | b; });
       }},
      {"bitwise_xor",
       [](const Numbers& in) {
         return Bits(in[0], in[1], [](int64_t a, int64_t b) { return a ^ b; });
       }},
  };
  return functions;
}

class HostComputation {
 public:
  HostComputation(const NamedGraph& graph, const NamedOp& op,
                  const std::vector<const HostData*>& inputs)
      : graph_(graph), op_(op), result_(Count(output().dims)) {
    for (size_t i = 0; i < op.inputs.size(); ++i) numbers_.push_back(Read(input(i), inputs[i]));
  }

  HostData Compute() {
    Evaluate();
    const DataFormat format = output().format;
    HostData data(result_.size() * static_cast<size_t>(HostFormatOf(format).bytes));
    if (format == DataFormat::kIeeeInt32) RequireWithin(INT32_MIN, INT32_MAX);
    if (op_.op == "convert" && format == DataFormat::kIeeeFp16)
      RequireWithin(-kHalfMost, kHalfMost);
    StoreHost(format, result_.data(), static_cast<int64_t>(result_.size()), data.data(), 0);
    return data;
  }

 private:
  const NamedTensor& output() const { return graph_.tensors[static_cast<size_t>(op_.output)]; }
  const NamedTensor& input(size_t i) const {
    return graph_.tensors[static_cast<size_t>(op_.inputs[i])];
  }
  // Infinities and NaN of float16 stay what they are.
  void RequireWithin(double least, double most) const {
    for (const double value : result_) {
      const bool is_special = !std::isfinite(value) && output().format != DataFormat::kIeeeInt32;
      if (is_special || (value >= least && value <= most)) continue;
      throw BadInput("'{}' ({}) has {}, which is beyond {}", output().name, op_.op, value,
                     compiler::HostTypeName(output().format));
    }
  }
  int64_t Size(int dim) const { return graph_.dims[static_cast<size_t>(dim)].size; }
  size_t Count(const std::vector<int>& dims) const {
    int64_t count = 1;
    for (const int dim : dims) count *= Size(dim);
    return static_cast<size_t>(count);
  }

  Numbers Read(const NamedTensor& tensor, const HostData* data) const {
    if (tensor.origin == NamedTensor::Origin::kConstant) return {tensor.value};
    Numbers numbers(Count(tensor.dims));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint64_t bits = HostBits(tensor.format, data->data(), static_cast<int64_t>(i));
      numbers[i] = tensor.format == DataFormat::kIeeeFp16
                       ? DlfToFloat(DlfFromHalf(static_cast<uint16_t>(bits)))
                       : HostValue(tensor.format, bits);
    }
    return numbers;
  }

  // Elements of a tensor from one index of `dim` to the next; 0: it does not have it.
  int64_t Stride(const NamedTensor& tensor, int dim) const {
    int64_t stride = 1;
    for (auto own = tensor.dims.rbegin(); own != tensor.dims.rend(); ++own) {
      if (*own == dim) return stride;
      stride *= Size(*own);
    }
    return 0;
  }
  std::vector<int64_t> Strides(const NamedTensor& tensor, const std::vector<int>& dims) const {
    std::vector<int64_t> strides;
    strides.reserve(dims.size());
    for (const int dim : dims) strides.push_back(Stride(tensor, dim));
    return strides;
  }

  // visit(index of each dimension) for all of them, the last one fastest.
  void ForEach(const std::vector<int>& dims,
               const std::function<void(const std::vector<int64_t>&)>& visit) const {
    std::vector<int64_t> index(dims.size(), 0);
    for (size_t left = Count(dims); left > 0; --left) {
      visit(index);
      for (size_t place = dims.size(); place-- > 0;) {
        if (++index[place] < Size(dims[place])) break;
        index[place] = 0;
      }
    }
  }
  static size_t At(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
    return static_cast<size_t>(
        std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}));
  }

  void Evaluate() {
    const std::string_view name = op_.op;
    if (name == "slice") return Slice();
    if (name == "cat") return Cat();
    if (name == "index_select" || name == "gather") return Select();
    if (name == "index_copy" || name == "scatter") return Copy();
    if (name == "cumsum")
      return Along([](Numbers& line) {
        double total = 0;  // of which -0 is no part
        for (double& x : line) x = total += x;
      });
    if (name == "sort")
      return Along([](Numbers& line) { std::stable_sort(line.begin(), line.end()); });
    if (name == "argsort")
      return Along([](Numbers& line) {
        std::vector<size_t> order(line.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&line](size_t a, size_t b) { return line[a] < line[b]; });
        std::copy(order.begin(), order.end(), line.begin());
      });
    if (name == "tril" || name == "triu") return Triangle(name == "tril");
    if (name == "sum") return Reduce(0, [](double a, double b) { return a + b; });
    if (name == "prod") return Reduce(1, [](double a, double b) { return a * b; });
    if (name == "amax") return Reduce(-HUGE_VAL, [](double a, double b) { return a < b ? b : a; });
    if (name == "amin") return Reduce(HUGE_VAL, [](double a, double b) { return b < a ? b : a; });
    if (name == "argmax") return Where([](double best, double x) { return x > best; });
    if (name == "argmin") return Where([](double best, double x) { return x < best; });
    if (name == "clip")
      return Each([this](const Numbers& in) {
        return std::min(std::max(in[0], op_.constants.at("min")), op_.constants.at("max"));
      });
    const bool whole = output().format == DataFormat::kIeeeInt32;
    if (name == "convert")
      return Each([whole](const Numbers& in) { return whole ? std::trunc(in[0]) : in[0]; });
    const auto found = ElementwiseFunctions().find(name);
    if (found == ElementwiseFunctions().end())
      throw InternalError("the host does not know '{}'", name);
    if (name == "floordiv" && whole &&
        std::find(numbers_[1].begin(), numbers_[1].end(), 0.0) != numbers_[1].end())
      throw BadInput("'{}' divides an integer by 0", output().name);
    Each(found->second);
  }

  void Each(const std::function<double(const Numbers&)>& function) {
    std::vector<std::vector<int64_t>> strides;
    for (size_t i = 0; i < op_.inputs.size(); ++i)
      strides.push_back(Strides(input(i), output().dims));
    Numbers in(op_.inputs.size());
    size_t at = 0;
    ForEach(output().dims, [&](const std::vector<int64_t>& index) {
      for (size_t i = 0; i < in.size(); ++i) in[i] = numbers_[i][At(index, strides[i])];
      result_[at++] = function(in);
    });
  }

  void Slice() {
    std::vector<int> dims = output().dims;
    std::replace(dims.begin(), dims.end(), op_.into, op_.reduced[0]);
    const std::vector<int64_t> strides = Strides(input(0), dims);
    const auto first = static_cast<size_t>(SliceStart(op_) * Stride(input(0), op_.reduced[0]));
    size_t at = 0;
    ForEach(output().dims, [&](const std::vector<int64_t>& index) {
      result_[at++] = numbers_[0][first + At(index, strides)];
    });
  }

  // Each operand in turn, into its part of the result.
  void Cat() {
    const std::vector<int64_t> starts = CatStarts(graph_, op_);
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      std::vector<int> dims = output().dims;
      std::replace(dims.begin(), dims.end(), op_.into, op_.reduced[i]);
      const std::vector<int64_t> from = Strides(input(i), dims);
      const std::vector<int64_t> to = Strides(output(), output().dims);
      const auto first = static_cast<size_t>(starts[i] * Stride(output(), op_.into));
      ForEach(dims, [&](const std::vector<int64_t>& index) {
        result_[first + At(index, to)] = numbers_[i][At(index, from)];
      });
    }
  }

  size_t Row(double number) const {
    if (number >= 0 && number < static_cast<double>(Size(op_.reduced[0])))
      return static_cast<size_t>(number);
    throw BadInput("'{}': index {} of '{}' is not below {}", output().name, number, input(1).name,
                   Size(op_.reduced[0]));
  }

  void Select() {
    const std::vector<int64_t> table = Strides(input(0), output().dims);
    const std::vector<int64_t> chooses = Strides(input(1), output().dims);
    const auto step = static_cast<size_t>(Stride(input(0), op_.reduced[0]));
    size_t at = 0;
    ForEach(output().dims, [&](const std::vector<int64_t>& index) {
      const size_t row = Row(numbers_[1][At(index, chooses)]);
      result_[at++] = numbers_[0][At(index, table) + row * step];
    });
  }

  void Copy() {
    const std::vector<int64_t> table = Strides(input(0), output().dims);
    size_t at = 0;
    ForEach(output().dims, [&](const std::vector<int64_t>& index) {
      result_[at++] = numbers_[0][At(index, table)];
    });
    std::vector<int> dims = input(1).dims;
    for (const int dim : output().dims)
      if (dim != op_.reduced[0] && !compiler::HasDim(dims, dim)) dims.push_back(dim);
    const std::vector<int64_t> to = Strides(output(), dims), source = Strides(input(2), dims);
    const std::vector<int64_t> chooses = Strides(input(1), dims);
    const auto step = static_cast<size_t>(Stride(output(), op_.reduced[0]));
    ForEach(dims, [&](const std::vector<int64_t>& index) {
      const size_t row = Row(numbers_[1][At(index, chooses)]);
      result_[At(index, to) + row * step] = numbers_[2][At(index, source)];
    });
  }

  // change(the elements along `dim`), for each line of the operand.
  void Along(const std::function<void(Numbers&)>& change) {
    const int dim = op_.reduced[0];
    std::vector<int> others = output().dims;
    others.erase(std::find(others.begin(), others.end(), dim));
    const std::vector<int64_t> from = Strides(input(0), others), to = Strides(output(), others);
    const auto read = static_cast<size_t>(Stride(input(0), dim));
    const auto write = static_cast<size_t>(Stride(output(), dim));
    Numbers line(static_cast<size_t>(Size(dim)));
    ForEach(others, [&](const std::vector<int64_t>& index) {
      for (size_t i = 0; i < line.size(); ++i) line[i] = numbers_[0][At(index, from) + i * read];
      change(line);
      for (size_t i = 0; i < line.size(); ++i) result_[At(index, to) + i * write] = line[i];
    });
  }

  void Triangle(bool lower) {
    const auto given = op_.constants.find("diagonal");
    const auto diagonal =
        given == op_.constants.end() ? int64_t{0} : static_cast<int64_t>(given->second);
    const std::vector<int>& dims = output().dims;
    const auto place = [&](int dim) {
      return static_cast<size_t>(std::find(dims.begin(), dims.end(), dim) - dims.begin());
    };
    const size_t row = place(op_.reduced[0]), column = place(op_.reduced[1]);
    const std::vector<int64_t> strides = Strides(input(0), dims);
    size_t at = 0;
    ForEach(dims, [&](const std::vector<int64_t>& index) {
      const int64_t beyond = index[column] - index[row] - diagonal;
      const bool kept = lower ? beyond <= 0 : beyond >= 0;
      result_[at++] = kept ? numbers_[0][At(index, strides)] : 0;
    });
  }

  void Reduce(double start, double (*combine)(double, double)) {
    std::fill(result_.begin(), result_.end(), start);
    const std::vector<int64_t> to = Strides(output(), input(0).dims);
    size_t at = 0;
    ForEach(input(0).dims, [&](const std::vector<int64_t>& index) {
      double& total = result_[At(index, to)];
      total = combine(total, numbers_[0][at++]);
    });
  }

  // Where, among the reduced dimensions in the operand's order, the first of the best stands.
  void Where(bool (*better)(double, double)) {
    const std::vector<int>& dims = input(0).dims;
    std::vector<int64_t> position(dims.size(), 0);
    int64_t count = 1;
    for (size_t place = dims.size(); place-- > 0;) {
      if (!compiler::HasDim(op_.reduced, dims[place])) continue;
      position[place] = count;
      count *= Size(dims[place]);
    }
    const std::vector<int64_t> to = Strides(output(), dims);
    std::vector<double> best(result_.size());
    std::vector<bool> seen(result_.size(), false);
    size_t at = 0;
    ForEach(dims, [&](const std::vector<int64_t>& index) {
      const size_t of = At(index, to);
      const double x = numbers_[0][at++];
      if (seen[of] && !better(best[of], x)) return;
      seen[of] = true;
      best[of] = x;
      result_[of] = static_cast<double>(At(index, position));
    });
  }

  const NamedGraph& graph_;
  const NamedOp& op_;
  std::vector<Numbers> numbers_;  // of each operand
  Numbers result_;
};

}  // namespace

HostData ComputeOnHost(const NamedGraph& graph, const NamedOp& op,
                       const std::vector<const HostData*>& inputs) {
  return HostComputation(graph, op, inputs).Compute();
}

uint64_t HostOperationBytes(const NamedGraph& graph, const NamedOp& op) {
  uint64_t bytes = 0;
  const auto add = [&](int index) {
    const NamedTensor& tensor = graph.tensors[static_cast<size_t>(index)];
    if (tensor.origin == NamedTensor::Origin::kConstant) return;
    bytes += static_cast<uint64_t>(graph.Elements(tensor)) *
             static_cast<uint64_t>(HostFormatOf(tensor.format).bytes);
  };
  for (const int input : op.inputs) add(input);
  add(op.output);
  return bytes;
}

}  // namespace spyre::cosim
