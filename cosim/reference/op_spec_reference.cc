// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/op_spec_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/parallel.h"
#include "base/ranges.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/matmul_block.h"
#include "cosim/reference/op_spec_functions.h"
#include "cosim/reference/op_spec_places.h"
#include "runtime/compiler/ir/checked.h"

namespace spyre::cosim {
namespace {

using compiler::LoopSpec;
using compiler::OpSpec;
using compiler::SpecNode;
using compiler::TensorArg;
using compiler::UnimplementedOp;

constexpr int64_t kPointGrain = 64;

int64_t TripsOf(const LoopSpec& loop) {
  if (const auto* trips = std::get_if<int64_t>(&loop.count)) return *trips;
  throw BadInput("a loop of {} trips: the number is not in the OpSpec source",
                 std::get<std::string>(loop.count));
}

double WorkOf(const std::vector<SpecNode>& nodes) {
  double work = 0;
  for (const SpecNode& node : nodes) {
    if (const auto* loop = std::get_if<LoopSpec>(&node))
      work += static_cast<double>(TripsOf(*loop)) * WorkOf(loop->body);
    const auto* op = std::get_if<OpSpec>(&node);
    if (op == nullptr) continue;
    double points = 1;
    for (const compiler::IterationSymbol& symbol : op->iteration_space)
      points *= static_cast<double>(symbol.range);
    work += points;
  }
  return work;
}

}  // namespace

// One operation in one iteration of the loops around it.
class OpSpecReference::Execution {
 public:
  Execution(OpSpecReference& reference, const OpSpec& op)
      : reference_(reference), op_(op), meaning_(MeaningOf(op)) {
    auto inputs = static_cast<size_t>(std::count_if(
        op.args.begin(), op.args.end(), [](const TensorArg& arg) { return arg.is_input; }));
    if (inputs + 1 != op.args.size()) Refuse("it has more than one output");
    for (size_t i = 0; i < inputs; ++i) {
      const int chosen = op.args[i].related_value_tensor_idx;
      if (chosen < 0) continue;
      if (index_ || op.args.size() != 3 || chosen == static_cast<int>(i) || chosen >= 3 ||
          op.op != "identity")
        Refuse("an index tensor chooses from another argument of an 'identity' with three");
      index_ = i;
      --inputs;
    }
    if (inputs < meaning_.least_inputs || inputs > meaning_.most_inputs) {
      Refuse(fmt::format("it has {} inputs; {} to {} are expected", inputs, meaning_.least_inputs,
                         meaning_.most_inputs));
    }
    for (const OpMeaning::Constant& constant : meaning_.constants)
      constants_.push_back(ValueOf(constant));
    for (const TensorArg& arg : op.args) operands_.push_back(OperandOf(arg));
    const DataFormat format = op.args.back().device_format;
    round_ = [](double value) { return value; };
    if (reference.rounds_)
      round_ = [format](double value) { return DeviceValue(format, DeviceBits(format, value)); };
  }

  void Run() {
    std::vector<size_t> kept, folded;
    for (size_t symbol = 0; symbol < op_.iteration_space.size(); ++symbol) {
      const auto walks = [&](const Operand& operand) { return operand.place.Walks(symbol); };
      if (walks(operands_.back())) {
        kept.push_back(symbol);
      } else if (AnyFits(operands_, walks)) {
        folded.push_back(symbol);
      }
    }
    switch (meaning_.kind) {
      case OpMeaning::Kind::kProduct:
        return Product(kept, folded);
      case OpMeaning::Kind::kReduction:
      case OpMeaning::Kind::kTwoTotals:
        return Reduction(kept, folded);
      default:
        if (index_) return Choose();
        if (!folded.empty()) {
          Refuse(fmt::format("an input walks '{}', which the result does not have",
                             op_.iteration_space[folded.front()].name));
        }
        return Elements(kept);
    }
  }

 private:
  struct Operand {
    OpSpecMemory::Region* region;
    OpSpecPlace place;
    DataFormat format;
    int bytes;
  };

  static const OpMeaning& MeaningOf(const OpSpec& op) {
    if (const OpMeaning* meaning = FindOpMeaning(op.op)) return *meaning;
    throw BadInput("operation '{}' has no float64 definition", op.op);
  }
  [[noreturn]] void Refuse(const std::string& why) const {
    throw BadInput("operation '{}': {}", op_.op, why);
  }

  double ValueOf(const OpMeaning::Constant& constant) const {
    for (const compiler::OpConstant& given : op_.constants) {
      if (given.name == constant.name) return given.value;
    }
    if (constant.required) Refuse(fmt::format("the constant '{}' is missing", constant.name));
    return constant.value;
  }

  Operand OperandOf(const TensorArg& arg) const {
    const int bytes = DeviceElementBytes(arg.device_format);
    OpSpecPlace place;
    const TensorArg* narrow = nullptr;
    if (meaning_.kind == OpMeaning::Kind::kConversion) {
      const TensorArg& in = op_.args.front();
      const TensorArg& out = op_.args.back();
      narrow =
          DeviceElementBytes(in.device_format) < DeviceElementBytes(out.device_format) ? &in : &out;
    }
    place = narrow == nullptr || narrow == &arg
                ? PlaceOf(op_, arg, reference_.iterations_)
                : WidePlaceOf(op_, arg, *narrow, meaning_.turn, reference_.iterations_);
    return {&reference_.memory_.Of(arg), std::move(place), arg.device_format, bytes};
  }

  const Operand& out() const { return operands_.back(); }
  size_t inputs() const { return operands_.size() - 1; }
  double Read(const Operand& from, int64_t at) const {
    return from.region->Read(from.place.start + at, from.format, from.bytes, reference_.unwritten_);
  }

  // What is read is memory as it was before: results are written when all are there.
  void Commit(const std::vector<int64_t>& offsets, const std::vector<double>& results) const {
    for (size_t i = 0; i < offsets.size(); ++i)
      out().region->Write(out().place.start + offsets[i], out().bytes, results[i]);
  }

  std::vector<std::vector<int64_t>> SpreadAll(const std::vector<size_t>& symbols) const {
    std::vector<std::vector<int64_t>> offsets;
    for (const Operand& operand : operands_) offsets.push_back(Spread(operand.place, symbols));
    return offsets;
  }

  void Elements(const std::vector<size_t>& kept) const {
    const std::vector<std::vector<int64_t>> at = SpreadAll(kept);
    std::vector<double> results(at.back().size());
    const bool pairs = meaning_.kind == OpMeaning::Kind::kPairs;
    ParallelFor(static_cast<int64_t>(results.size()), kPointGrain, [&](int64_t begin, int64_t end) {
      std::vector<double> in(pairs ? 2 : inputs());
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        for (size_t k = 0; k < in.size(); ++k) {
          const size_t operand = pairs ? 0 : k;
          const int64_t lane = pairs && k == 1 ? operands_[0].bytes : 0;
          in[k] = Read(operands_[operand], at[operand][i] + lane);
        }
        results[i] = round_(meaning_.elements(in, constants_, round_));
      }
    });
    Commit(at.back(), results);
  }

  // Of a tensor in blocks, those that the indices name; of equal ones that are written the last one
  // counts.
  void Choose() const {
    std::vector<size_t> all(op_.iteration_space.size());
    std::iota(all.begin(), all.end(), size_t{0});
    std::vector<std::vector<int64_t>> at = SpreadAll(all);
    const auto chosen = static_cast<size_t>(op_.args[*index_].related_value_tensor_idx);
    int64_t block = operands_[chosen].bytes;
    for (const int64_t size : op_.args[chosen].device_size)
      block = compiler::CheckedProduct(block, size);
    std::vector<double> results(at.back().size());
    for (size_t i = 0; i < results.size(); ++i) {
      const double number = Read(operands_[*index_], at[*index_][i]);
      at[chosen][i] += block * static_cast<int64_t>(std::isfinite(number) ? number : -1);
      results[i] = round_(Read(operands_[1 - *index_], at[1 - *index_][i]));
    }
    Commit(at.back(), results);
  }

  void Reduction(const std::vector<size_t>& kept, const std::vector<size_t>& folded) const {
    const std::vector<std::vector<int64_t>> at = SpreadAll(kept);
    const std::vector<int64_t> terms = Spread(operands_[0].place, folded);
    const bool two = meaning_.kind == OpMeaning::Kind::kTwoTotals;
    std::vector<double> results(at.back().size()), squares(two ? results.size() : 0);
    ParallelFor(static_cast<int64_t>(results.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        double total = two ? 0 : meaning_.fold->start, square = 0;
        for (const int64_t term : terms) {
          const double x = Read(operands_[0], at[0][i] + term);
          total = two ? total + x : meaning_.fold->combine(total, meaning_.fold->element(x));
          square += x * x;
        }
        results[i] = round_(meaning_.elements({total}, constants_, round_));
        if (!two) continue;
        squares[i] = round_(meaning_.elements({square}, constants_, round_));
        if (constants_[1] != 0) results[i] = 0;
      }
    });
    Commit(at.back(), results);
    std::vector<int64_t> second = at.back();
    for (int64_t& offset : second) offset += out().bytes;
    if (two) Commit(second, squares);
  }

  // Rows are what b does not walk, columns what only b does, everything else of the result is a
  // batch.
  void Product(const std::vector<size_t>& kept, const std::vector<size_t>& folded) const {
    std::vector<size_t> batch, rows, columns;
    for (const size_t symbol : kept) {
      const bool a = operands_[0].place.Walks(symbol);
      const bool b = operands_[1].place.Walks(symbol);
      (a && b ? batch : b ? columns : rows).push_back(symbol);
    }
    const std::vector<std::vector<int64_t>> at = SpreadAll(batch);
    const std::vector<int64_t> a_row = Spread(operands_[0].place, rows);
    const std::vector<int64_t> a_k = Spread(operands_[0].place, folded);
    const std::vector<int64_t> b_k = Spread(operands_[1].place, folded);
    const std::vector<int64_t> b_column = Spread(operands_[1].place, columns);
    const std::vector<int64_t> out_row = Spread(out().place, rows);
    const std::vector<int64_t> out_column = Spread(out().place, columns);
    std::vector<int64_t> offsets;
    std::vector<double> results;
    for (size_t i = 0; i < at[0].size(); ++i) {
      for (const int64_t row : out_row) {
        for (const int64_t column : out_column) offsets.push_back(at[2][i] + row + column);
      }
      const std::vector<double> product =
          Multiply(Gather(0, at[0][i], a_row, a_k), Gather(1, at[1][i], b_column, b_k),
                   static_cast<int64_t>(a_k.size()));
      results.insert(results.end(), product.begin(), product.end());
    }
    Commit(offsets, results);
  }

  // [line][k]
  std::vector<double> Gather(size_t operand, int64_t start, const std::vector<int64_t>& lines,
                             const std::vector<int64_t>& k) const {
    std::vector<double> values(lines.size() * k.size());
    ParallelFor(static_cast<int64_t>(lines.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto line = static_cast<size_t>(begin); line < static_cast<size_t>(end); ++line) {
        for (size_t i = 0; i < k.size(); ++i)
          values[line * k.size() + i] = Read(operands_[operand], start + lines[line] + k[i]);
      }
    });
    return values;
  }

  // Of every row of a with every column of b, each of k elements.
  std::vector<double> Multiply(std::vector<double> a, const std::vector<double>& b,
                               int64_t k) const {
    const auto m = static_cast<int64_t>(a.size()) / k;
    const auto n = static_cast<int64_t>(b.size()) / k;
    a.resize(static_cast<size_t>((m + kMatmulRows - 1) / kMatmulRows * kMatmulRows * k), 0);
    std::vector<double> product(static_cast<size_t>(m * n));
    ParallelFor((n + kMatmulPanel - 1) / kMatmulPanel, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> panel(static_cast<size_t>(k * kMatmulPanel));
      double block[kMatmulRows * kMatmulPanel];
      for (int64_t first = begin * kMatmulPanel; first < std::min(n, end * kMatmulPanel);
           first += kMatmulPanel) {
        const int64_t columns = std::min(kMatmulPanel, n - first);
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t j = 0; j < columns; ++j)
            panel[static_cast<size_t>(i * kMatmulPanel + j)] =
                b[static_cast<size_t>((first + j) * k + i)];
        }
        for (int64_t row = 0; row < m; row += kMatmulRows) {
          MatmulBlock(&a[static_cast<size_t>(row * k)], panel.data(), k, {k}, block);
          for (int64_t r = 0; r < std::min(kMatmulRows, m - row); ++r) {
            for (int64_t j = 0; j < columns; ++j)
              product[static_cast<size_t>((row + r) * n + first + j)] =
                  round_(block[r * kMatmulPanel + j]);
          }
        }
      }
    });
    return product;
  }

  OpSpecReference& reference_;
  const OpSpec& op_;
  const OpMeaning& meaning_;
  std::optional<size_t> index_;  // position of the index tensor
  std::vector<double> constants_;
  std::vector<Operand> operands_;  // inputs, then the output
  RoundFunction round_;
};

OpSpecReference::OpSpecReference(const compiler::KernelSource& source, const ArgumentImages& images,
                                 Rounding rounding)
    : memory_(images), rounds_(rounding == Rounding::kEveryResult) {
  Run(source.body);
}

void OpSpecReference::Run(const std::vector<SpecNode>& nodes) {
  for (const SpecNode& node : nodes) {
    if (const auto* op = std::get_if<UnimplementedOp>(&node))
      throw BadInput("'{}' is an UnimplementedOp, which has no meaning", op->op);
    if (const auto* op = std::get_if<OpSpec>(&node)) Execution(*this, *op).Run();
    const auto* loop = std::get_if<LoopSpec>(&node);
    if (loop == nullptr) continue;
    iterations_.push_back(0);
    for (; iterations_.back() < TripsOf(*loop); ++iterations_.back()) Run(loop->body);
    iterations_.pop_back();
  }
}

double OpSpecReference::Value(int argument, int64_t at, DataFormat format, int bytes) {
  TensorArg arg;
  arg.arg_index = argument;
  std::atomic<bool> ignored{false};
  return memory_.Of(arg).Read(at, format, bytes, ignored);
}

double OpSpecReference::Work(const compiler::KernelSource& source) { return WorkOf(source.body); }

}  // namespace spyre::cosim
