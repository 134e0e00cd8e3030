// SPDX-License-Identifier: Apache-2.0
// EvaluateGraph; in one file because it is the definition of every operation of a list.
#include "cosim/reference/graph_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "cosim/reference/matmul_block.h"
#include "cosim/reference/reference_functions.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;
using compiler::NamedTensor;
using compiler::OpEntry;

constexpr int64_t kOutputGrain = 1024;  // output elements that one thread takes at a time
// The same where an element is one operation: fewer cost less than to start a thread.
constexpr int64_t kPointwiseGrain = 1 << 13;

// A tensor with the dimensions that walk it.
struct Operand {
  const double* data;
  std::vector<int> dims;
};

class Evaluator {
 public:
  Evaluator(const NamedGraph& graph, std::map<int, DoubleTensor> values, Rounding rounding)
      : graph_(graph), values_(std::move(values)), rounds_(rounding == Rounding::kEveryResult) {}

  std::map<int, DoubleTensor> Run(const ResultHook& hook) {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const NamedTensor& tensor = graph_.tensors[i];
      if (tensor.origin == NamedTensor::Origin::kConstant)
        values_[static_cast<int>(i)] = {tensor.value};
    }
    const std::set<int> wanted = Wanted();
    for (const NamedOp& op : graph_.ops)
      if (wanted.count(op.output) != 0) {
        values_[op.output] = EvaluateIn(op);
        if (hook) hook(op.output, values_.at(op.output));
      }
    std::map<int, DoubleTensor> outputs;
    for (const int output : graph_.outputs) outputs[output] = std::move(values_.at(output));
    return outputs;
  }

 private:
  using Combine = std::function<double(const std::vector<double>&)>;

  // Tensors that the outputs depend on; the caller need not have the others.
  std::set<int> Wanted() const {
    std::set<int> wanted(graph_.outputs.begin(), graph_.outputs.end());
    for (auto op = graph_.ops.rbegin(); op != graph_.ops.rend(); ++op)
      if (wanted.count(op->output) != 0) wanted.insert(op->inputs.begin(), op->inputs.end());
    return wanted;
  }

  double Rounded(double value) const {
    if (!rounds_) return value;
    if (format_ == DataFormat::kSen143Fp8) return Float8(value);
    if (format_ == DataFormat::kIeeeInt32) return value;  // whole already
    return format_ == DataFormat::kIeeeFp32 ? static_cast<double>(static_cast<float>(value))
                                            : SenValue(NearestSen(value));
  }

  // e4m3fn: 3 bits of fraction, a step of 2^-9 below 2^-6, nothing above 448.
  static double Float8(double value) {
    constexpr double kLargest = 448;
    constexpr int kLeastExponent = -6;
    if (!std::isfinite(value) || value == 0) return value;
    const double step = std::ldexp(1, std::max(std::ilogb(value), kLeastExponent) - 3);
    return std::clamp(std::nearbyint(value / step) * step, -kLargest, kLargest);
  }

  // A number has the type of the operation; the host compares integers with it as it is.
  DoubleTensor EvaluateIn(const NamedOp& op) {
    format_ = Tensor(op.output).format;
    for (const int input : op.inputs)
      if (Tensor(input).origin == NamedTensor::Origin::kConstant)
        values_[input] = {op.on_host ? Tensor(input).value : Rounded(Tensor(input).value)};
    tiles_.clear();
    if (rounds_) FindTiles(op);
    return Evaluate(op);
  }

  // Loops of hints that divide what the operation sums over.
  void FindTiles(const NamedOp& op) {
    const auto position = static_cast<int>(&op - graph_.ops.data());
    for (const compiler::NamedHint& hint : graph_.hints) {
      if (std::find(hint.ops.begin(), hint.ops.end(), position) == hint.ops.end()) continue;
      for (const compiler::NamedHint::Slice& slice : hint.slices) {
        if (compiler::HasDim(op.reduced, slice.dim))
          tiles_.emplace(slice.dim, 1).first->second *= slice.count;
      }
    }
  }

  const NamedTensor& Tensor(int index) const { return graph_.tensors[static_cast<size_t>(index)]; }

  int64_t Size(int dim) const { return graph_.dims[static_cast<size_t>(dim)].size; }
  int64_t Elements(const std::vector<int>& dims) const {
    int64_t count = 1;
    for (const int dim : dims) count *= Size(dim);
    return count;
  }
  Operand In(const NamedOp& op, size_t i) const {
    const int tensor = op.inputs[i];
    return {values_.at(tensor).data(), graph_.tensors[static_cast<size_t>(tensor)].dims};
  }
  const std::vector<int>& OutputDims(const NamedOp& op) const {
    return graph_.tensors[static_cast<size_t>(op.output)].dims;
  }

  // Elements of the operand from one index of `dim` to the next; 0: it does not have it.
  int64_t Stride(const Operand& operand, int dim) const {
    int64_t stride = 1;
    for (auto it = operand.dims.rbegin(); it != operand.dims.rend(); ++it) {
      if (*it == dim) return stride;
      stride *= Size(*it);
    }
    return 0;
  }

  // Where each operand is for output element `index`.
  std::vector<int64_t> Offsets(const std::vector<Operand>& operands, const std::vector<int>& dims,
                               int64_t index) const {
    std::vector<int64_t> offsets(operands.size(), 0);
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      const int64_t at = index % Size(*dim);
      index /= Size(*dim);
      for (size_t i = 0; i < operands.size(); ++i) offsets[i] += at * Stride(operands[i], *dim);
    }
    return offsets;
  }

  DoubleTensor Pointwise(const std::vector<Operand>& operands, const std::vector<int>& dims,
                         const Combine& combine) const {
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    if (result.empty()) return result;
    // Along the last dimension each operand goes on by its stride.
    const int64_t run = dims.empty() ? 1 : Size(dims.back());
    std::vector<int64_t> steps;
    steps.reserve(operands.size());
    for (const Operand& operand : operands)
      steps.push_back(dims.empty() ? 0 : Stride(operand, dims.back()));
    const int64_t runs = Elements(dims) / run;
    ParallelFor(runs, std::max<int64_t>(1, kPointwiseGrain / run), [&](int64_t begin, int64_t end) {
      std::vector<double> in(operands.size());
      for (int64_t i = begin; i < end; ++i) {
        const std::vector<int64_t> at = Offsets(operands, dims, i * run);
        for (int64_t j = 0; j < run; ++j) {
          for (size_t k = 0; k < in.size(); ++k) in[k] = operands[k].data[at[k] + j * steps[k]];
          result[static_cast<size_t>(i * run + j)] = Rounded(combine(in));
        }
      }
    });
    return result;
  }

  // Where the operand is for every index of some dimensions, the last one fastest.
  std::vector<int64_t> Places(const Operand& operand, const std::vector<int>& dims) const {
    std::vector<int64_t> places = {0};
    for (const int dim : dims) {
      std::vector<int64_t> next;
      next.reserve(places.size() * static_cast<size_t>(Size(dim)));
      for (const int64_t place : places) {
        for (int64_t i = 0; i < Size(dim); ++i) next.push_back(place + i * Stride(operand, dim));
      }
      places = std::move(next);
    }
    return places;
  }

  // The places of the terms of a sum, tile by tile: each tile has a sum of its own, which is
  // rounded before it is added to those before.
  std::vector<std::vector<int64_t>> Tiles(const Operand& operand,
                                          const std::vector<int>& reduced) const {
    std::vector<size_t> tile_of = {0};
    size_t count = 1;
    for (const int dim : reduced) {
      const auto found = tiles_.find(dim);
      const int64_t tiles = found == tiles_.end() ? 1 : std::min(found->second, Size(dim));
      std::vector<size_t> next;
      next.reserve(tile_of.size() * static_cast<size_t>(Size(dim)));
      for (const size_t tile : tile_of) {
        for (int64_t i = 0; i < Size(dim); ++i) {
          const int64_t within = i * tiles / Size(dim);
          next.push_back(tile * static_cast<size_t>(tiles) + static_cast<size_t>(within));
        }
      }
      tile_of = std::move(next);
      count *= static_cast<size_t>(tiles);
    }
    std::vector<std::vector<int64_t>> places(count);
    const std::vector<int64_t> terms = Places(operand, reduced);
    for (size_t i = 0; i < terms.size(); ++i) places[tile_of[i]].push_back(terms[i]);
    return places;
  }

  // Sum over `reduced` of the product of two operands, for each output element. Rows are the
  // dimensions of the output that only the first operand has, columns all that the second one has;
  // of a product of matrices in batches, which both have, they are set apart.
  DoubleTensor Contract(const std::vector<Operand>& operands, const std::vector<int>& dims,
                        const std::vector<int>& reduced) const {
    const Operand& a = operands[0];
    const Operand& b = operands[1];
    std::vector<int> batch_dims, row_dims, column_dims;
    for (const int dim : dims) {
      const auto has = [dim](const Operand& operand) {
        return std::find(operand.dims.begin(), operand.dims.end(), dim) != operand.dims.end();
      };
      (!has(b) ? row_dims : has(a) ? batch_dims : column_dims).push_back(dim);
    }
    DoubleTensor result;
    const std::vector<std::vector<int64_t>> a_tiles = Tiles(a, reduced),
                                            b_tiles = Tiles(b, reduced);
    for (size_t tile = 0; tile < a_tiles.size(); ++tile) {
      DoubleTensor sums(static_cast<size_t>(Elements(dims)));
      const Operand out{sums.data(), dims};
      cosim::Contract(
          {a.data, Places(a, batch_dims), Places(a, row_dims), a_tiles[tile]},
          {b.data, Places(b, batch_dims), Places(b, column_dims), b_tiles[tile]},
          {sums.data(), Places(out, batch_dims), Places(out, row_dims), Places(out, column_dims)},
          [this](double sum) { return Rounded(sum); });
      for (size_t i = 0; i < result.size(); ++i) sums[i] = Rounded(result[i] + sums[i]);
      result = std::move(sums);
    }
    return result;
  }

  // fold(all elements along `reduced`), for each output element.
  DoubleTensor Fold(const Operand& operand, const std::vector<int>& dims,
                    const std::vector<int>& reduced, std::string_view name) const {
    const FoldFunction<double>& fold = *FindFold<double>(name);
    const std::vector<std::vector<int64_t>> tiles = Tiles(operand, reduced);
    // Sums that are narrower than float32 are kept in more bits than their result has.
    const bool every_sum = rounds_ && format_ == DataFormat::kIeeeFp32;
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    ParallelFor(Elements(dims), kOutputGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = Offsets({operand}, dims, i)[0];
        double whole = fold.start;
        for (const std::vector<int64_t>& terms : tiles) {
          double value = fold.start;
          for (const int64_t term : terms) {
            value = fold.combine(value, fold.element(operand.data[at + term]));
            if (every_sum) value = Rounded(value);
          }
          whole = tiles.size() == 1 ? value : Rounded(fold.combine(whole, Rounded(value)));
        }
        result[static_cast<size_t>(i)] = Rounded(whole);
      }
    });
    return result;
  }

  static std::vector<int> Without(const std::vector<int>& dims, const std::vector<int>& removed) {
    std::vector<int> left;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(left), [&](int dim) {
      return std::find(removed.begin(), removed.end(), dim) == removed.end();
    });
    return left;
  }

  DoubleTensor Mean(const Operand& x, const std::vector<int>& dims,
                    const std::vector<int>& reduced) const {
    DoubleTensor mean = Fold(x, dims, reduced, "sum");
    for (double& value : mean) value = Rounded(value / static_cast<double>(Elements(reduced)));
    return mean;
  }

  DoubleTensor Softmax(const Operand& x, const std::vector<int>& reduced) const {
    const std::vector<int> rows = Without(x.dims, reduced);
    const DoubleTensor max = Fold(x, rows, reduced, "max");
    const DoubleTensor exp =
        Pointwise({x, {max.data(), rows}}, x.dims,
                  [](const std::vector<double>& in) { return std::exp(in[0] - in[1]); });
    const DoubleTensor sum = Fold({exp.data(), x.dims}, rows, reduced, "sum");
    return Pointwise({{exp.data(), x.dims}, {sum.data(), rows}}, x.dims,
                     [](const std::vector<double>& in) { return in[0] / in[1]; });
  }

  // (x - centre) / sqrt(mean((x - centre)^2) + eps) * weight + bias; rmsnorm has no centre.
  DoubleTensor Norm(const NamedOp& op, bool centred) const {
    const Operand x = In(op, 0);
    const std::vector<int> rows = Without(x.dims, op.reduced);
    DoubleTensor mean(static_cast<size_t>(Elements(rows)), 0);
    if (centred) mean = Mean(x, rows, op.reduced);
    const DoubleTensor square =
        Pointwise({x, {mean.data(), rows}}, x.dims,
                  [](const std::vector<double>& in) { return (in[0] - in[1]) * (in[0] - in[1]); });
    DoubleTensor variance = Mean({square.data(), x.dims}, rows, op.reduced);
    if (rounds_ && centred) variance = DifferenceOfMeans(x, mean, rows, op.reduced);
    const auto given = op.constants.find("eps");
    const double eps = given == op.constants.end() ? 1e-5 : given->second;
    std::vector<Operand> operands = {x, {mean.data(), rows}, {variance.data(), rows}};
    for (size_t i = 1; i < op.inputs.size(); ++i) operands.push_back(In(op, i));
    return Pointwise(operands, x.dims, [this, eps](const std::vector<double>& in) {
      const double scale = Rounded(1 / std::sqrt(in[2] + eps));
      double value = Rounded(Rounded(in[0] - in[1]) * scale);
      if (in.size() > 3) value = Rounded(value * in[3]);
      if (in.size() > 4) value += in[4];
      return value;
    });
  }

  // E[x^2] - E[x]^2: what is left of the first loses digits where the mean is large.
  DoubleTensor DifferenceOfMeans(const Operand& x, const DoubleTensor& mean,
                                 const std::vector<int>& rows,
                                 const std::vector<int>& reduced) const {
    const DoubleTensor squares =
        Pointwise({x}, x.dims, [](const std::vector<double>& in) { return in[0] * in[0]; });
    DoubleTensor variance = Mean({squares.data(), x.dims}, rows, reduced);
    for (size_t i = 0; i < variance.size(); ++i)
      variance[i] = std::max(0.0, variance[i] - mean[i] * mean[i]);
    return variance;
  }

  DoubleTensor Attention(const NamedOp& op) const {
    const Operand q = In(op, 0), k = In(op, 1), v = In(op, 2);
    const auto given = op.constants.find("scale");
    const double scale = given == op.constants.end()
                             ? 1 / std::sqrt(static_cast<double>(Elements(op.reduced)))
                             : given->second;
    std::vector<int> dims = Without(q.dims, op.reduced);
    const std::vector<int> keys = Without(Without(k.dims, dims), op.reduced);
    dims.insert(dims.end(), keys.begin(), keys.end());
    DoubleTensor scores = Contract({q, k}, dims, op.reduced);
    for (double& value : scores) value = Rounded(value * scale);
    if (op.inputs.size() > 3) {
      scores = Pointwise({{scores.data(), dims}, In(op, 3)}, dims,
                         [](const std::vector<double>& in) { return in[0] + in[1]; });
    }
    const DoubleTensor weights = Softmax({scores.data(), dims}, keys);
    return Contract({{weights.data(), dims}, v}, OutputDims(op), keys);
  }

  DoubleTensor Reduce(const NamedOp& op) const {
    const Operand x = In(op, 0);
    if (op.op == "mean") return Mean(x, OutputDims(op), op.reduced);
    return Fold(x, OutputDims(op), op.reduced, op.op);
  }

  static double Clip(const NamedOp& op, double x) {
    return std::min(std::max(x, op.constants.at("min")), op.constants.at("max"));
  }

  Combine Function(const NamedOp& op) const {
    using In = const std::vector<double>&;
    const bool whole = format_ == DataFormat::kIeeeInt32;
    if (op.op == "convert" && whole) return [](In in) { return std::trunc(in[0]); };
    if (op.op == "convert" || op.op == "restickify") return [](In in) { return in[0]; };
    if (op.op == "where") return [](In in) { return in[0] != 0 ? in[1] : in[2]; };
    if (op.op == "swiglu")
      return [silu = FindRealFunction<double>("silu")](In in) { return silu(in[0]) * in[1]; };
    if (op.op == "clip") return [op](In in) { return Clip(op, in[0]); };
    if (const auto function = FindRealFunction<double>(op.op))
      return [function](In in) { return function(in[0]); };
    if (const BinaryFunction function = FindBinary(op.op))
      return [function](In in) { return function(in[0], in[1]); };
    throw BadInput("'{}' has no float64 definition", op.op);
  }

  DoubleTensor Evaluate(const NamedOp& op) const {
    const OpEntry& operation = *compiler::FindNamedOperation(op.op);
    if (operation.kind == OpEntry::Kind::kMatmul)
      return Contract({In(op, 0), In(op, 1)}, OutputDims(op), op.reduced);
    if (operation.kind == OpEntry::Kind::kReduction) return Reduce(op);
    if (operation.kind == OpEntry::Kind::kTopK) return Largest(op);
    if (operation.kind == OpEntry::Kind::kView) return Slice(op);
    if (operation.kind == OpEntry::Kind::kCat) return Cat(op);
    if (operation.kind == OpEntry::Kind::kGather) return Gather(op);
    if (operation.kind == OpEntry::Kind::kScatter) return Scatter(op);
    if (op.op == "softmax") return Reordered(Softmax(In(op, 0), op.reduced), op);
    if (op.op == "layernorm" || op.op == "rmsnorm")
      return Reordered(Norm(op, op.op == "layernorm"), op);
    if (op.op == "attention") return Attention(op);
    if (op.op == "gather") return Gather(op);
    if (op.op == "scatter") return Scatter(op);
    if (op.op == "cumsum") return Sums(op);
    if (op.op == "sort" || op.op == "argsort") return Ordered(op);
    if (op.op == "tril" || op.op == "triu") return Part(op);
    if (op.op == "argmax" || op.op == "argmin") return First(op);
    std::vector<Operand> operands;
    for (size_t i = 0; i < op.inputs.size(); ++i) operands.push_back(In(op, i));
    return Pointwise(operands, OutputDims(op), Function(op));
  }

  // What stands at index `along` of `dim` where output element `index` is.
  double Other(const Operand& x, const std::vector<int>& dims, int64_t index, int dim,
               int64_t along) const {
    const int64_t own = IndexOf(index, dims, dim);
    return x.data[Offsets({x}, dims, index)[0] + (along - own) * Stride(x, dim)];
  }
  int64_t IndexOf(int64_t index, const std::vector<int>& dims, int dim) const {
    return index / Stride({nullptr, dims}, dim) % Size(dim);
  }

  DoubleTensor Sums(const NamedOp& op) const {
    const std::vector<int>& dims = OutputDims(op);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    const int64_t step = Stride({nullptr, dims}, op.reduced[0]);
    for (int64_t i = 0; i < Elements(dims); ++i) {
      const int64_t own = IndexOf(i, dims, op.reduced[0]);
      const double before = own == 0 ? 0 : result[static_cast<size_t>(i - step)];
      result[static_cast<size_t>(i)] = before + Other(In(op, 0), dims, i, op.reduced[0], own);
    }
    for (double& value : result) value = Rounded(value);
    return result;
  }

  // The element that has as many before it as its place says.
  DoubleTensor Ordered(const NamedOp& op) const {
    const std::vector<int>& dims = OutputDims(op);
    const int dim = op.reduced[0];
    const int64_t step = Stride({nullptr, dims}, dim);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    for (int64_t i = 0; i < Elements(dims); ++i) {
      if (IndexOf(i, dims, dim) != 0) continue;
      std::vector<std::pair<double, int64_t>> line;
      for (int64_t k = 0; k < Size(dim); ++k)
        line.emplace_back(Other(In(op, 0), dims, i, dim, k), k);
      std::sort(line.begin(), line.end());
      for (int64_t k = 0; k < Size(dim); ++k) {
        const auto& [value, place] = line[static_cast<size_t>(k)];
        result[static_cast<size_t>(i + k * step)] =
            op.op == "sort" ? value : static_cast<double>(place);
      }
    }
    return result;
  }

  DoubleTensor Part(const NamedOp& op) const {
    const std::vector<int>& dims = OutputDims(op);
    const auto given = op.constants.find("diagonal");
    const double diagonal = given == op.constants.end() ? 0 : given->second;
    DoubleTensor result = Pointwise({In(op, 0)}, dims, [](const auto& in) { return in[0]; });
    for (int64_t i = 0; i < Elements(dims); ++i) {
      const auto row = static_cast<double>(IndexOf(i, dims, op.reduced[0]));
      const auto column = static_cast<double>(IndexOf(i, dims, op.reduced[1]));
      if (op.op == "tril" ? column > row + diagonal : column < row + diagonal)
        result[static_cast<size_t>(i)] = 0;
    }
    return result;
  }

  // As many as `into` has, largest first; of equal ones the first.
  DoubleTensor Largest(const NamedOp& op) const {
    const std::vector<int>& dims = OutputDims(op);
    const Operand x = In(op, 0);
    const int64_t along = Stride(x, op.reduced[0]), step = Stride({nullptr, dims}, op.into);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    for (int64_t i = 0; i < Elements(dims); ++i) {
      if (IndexOf(i, dims, op.into) != 0) continue;
      const int64_t first = Offsets({x}, dims, i)[0];
      std::vector<std::pair<double, int64_t>> line;  // the largest is the least
      for (int64_t k = 0; k < Size(op.reduced[0]); ++k)
        line.emplace_back(-x.data[first + k * along], k);
      std::sort(line.begin(), line.end());
      for (int64_t k = 0; k < Size(op.into); ++k) {
        const auto& [value, place] = line[static_cast<size_t>(k)];
        result[static_cast<size_t>(i + k * step)] =
            Rounded(op.op == "topkvalue" ? -value : static_cast<double>(place));
      }
    }
    return result;
  }

  // Places of the reduced dimensions count in the operand's order.
  DoubleTensor First(const NamedOp& op) const {
    const Operand x = In(op, 0);
    const std::vector<int>& dims = OutputDims(op);
    std::vector<int> along;
    for (const int dim : x.dims)
      if (compiler::HasDim(op.reduced, dim)) along.push_back(dim);
    const std::vector<int64_t> terms = Places(x, along);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    for (int64_t i = 0; i < Elements(dims); ++i) {
      const int64_t at = Offsets({x}, dims, i)[0];
      const auto less = [&](int64_t a, int64_t b) { return x.data[at + a] < x.data[at + b]; };
      const auto found = op.op == "argmax" ? std::max_element(terms.begin(), terms.end(), less)
                                           : std::min_element(terms.begin(), terms.end(), less);
      result[static_cast<size_t>(i)] = static_cast<double>(found - terms.begin());
    }
    return result;
  }

  // Elements [start, start + size) of a dimension, which has another name behind it.
  DoubleTensor Slice(const NamedOp& op) const {
    Operand x = In(op, 0);
    x.data += compiler::SliceStart(op) * Stride(x, op.reduced[0]);
    const std::vector<int>& dims = OutputDims(op);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    for (int64_t i = 0; i < Elements(dims); ++i) {
      int64_t rest = i, at = 0;
      for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
        at += rest % Size(*dim) * Stride(x, *dim == op.into ? op.reduced[0] : *dim);
        rest /= Size(*dim);
      }
      result[static_cast<size_t>(i)] = x.data[at];
    }
    return result;
  }

  // Each element is that of the operand whose part it is in, which has another dimension there.
  DoubleTensor Cat(const NamedOp& op) const {
    const std::vector<int>& dims = OutputDims(op);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    for (int64_t i = 0; i < Elements(dims); ++i) {
      int64_t along = i / Stride({nullptr, dims}, op.into) % Size(op.into);
      size_t part = 0;
      while (along >= Size(op.reduced[part])) along -= Size(op.reduced[part++]);
      const Operand x = In(op, part);
      int64_t rest = i, at = 0;
      for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
        const bool joined = *dim == op.into;
        at += joined ? along * Stride(x, op.reduced[part]) : rest % Size(*dim) * Stride(x, *dim);
        rest /= Size(*dim);
      }
      result[static_cast<size_t>(i)] = x.data[at];
    }
    return result;
  }

  // Each element is that of the table at the number which the indices have there.
  DoubleTensor Gather(const NamedOp& op) const {
    const Operand table = In(op, 0), indices = In(op, 1);
    const std::vector<int>& dims = OutputDims(op);
    DoubleTensor result(static_cast<size_t>(Elements(dims)));
    for (int64_t i = 0; i < Elements(dims); ++i) {
      const std::vector<int64_t> at = Offsets({table, indices}, dims, i);
      const int64_t row = Row(op, indices.data[at[1]]);
      result[static_cast<size_t>(i)] = table.data[at[0] + row * Stride(table, op.reduced[0])];
    }
    return result;
  }

  int64_t Row(const NamedOp& op, double index) const {
    const auto row = static_cast<int64_t>(index);
    if (row >= 0 && row < Size(op.reduced[0])) return row;
    throw BadInput("'{}': index {} of '{}' is not below {}", Tensor(op.output).name, row,
                   Tensor(op.inputs[1]).name, Size(op.reduced[0]));
  }

  // The table, in which blocks of the source take the places that the indices number, in order.
  DoubleTensor Scatter(const NamedOp& op) const {
    const Operand indices = In(op, 1), source = In(op, 2);
    DoubleTensor result =
        Pointwise({In(op, 0)}, OutputDims(op), [](const std::vector<double>& in) { return in[0]; });
    const Operand out{result.data(), OutputDims(op)};
    std::vector<int> dims = indices.dims;
    for (const int dim : out.dims)
      if (dim != op.reduced[0] && !compiler::HasDim(dims, dim)) dims.push_back(dim);
    for (int64_t i = 0; i < Elements(dims); ++i) {
      const std::vector<int64_t> at = Offsets({out, indices, source}, dims, i);
      const int64_t row = Row(op, indices.data[at[1]]);
      result[static_cast<size_t>(at[0] + row * Stride(out, op.reduced[0]))] = source.data[at[2]];
    }
    return result;
  }

  // Reorders the dimensions of the first operand into those of the output.
  DoubleTensor Reordered(const DoubleTensor& value, const NamedOp& op) const {
    return Pointwise({{value.data(), In(op, 0).dims}}, OutputDims(op),
                     [](const std::vector<double>& in) { return in[0]; });
  }

  const NamedGraph& graph_;
  std::map<int, DoubleTensor> values_;
  bool rounds_;
  DataFormat format_ = DataFormat::kIeeeFp16;  // of the operation at hand
  std::map<int, int64_t> tiles_;               // of its sums, by the dimension; absent: one
};

}  // namespace

std::map<int, DoubleTensor> EvaluateGraph(const NamedGraph& graph,
                                          std::map<int, DoubleTensor> inputs, Rounding rounding,
                                          const ResultHook& hook) {
  return Evaluator(graph, std::move(inputs), rounding).Run(hook);
}

}  // namespace spyre::cosim
