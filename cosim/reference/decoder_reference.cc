// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/decoder_reference.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kRotaryBase = 10000;

class Decoder {
 public:
  Decoder(const DecoderShape& shape, Rounding rounding)
      : s_(shape), rounds_(rounding == Rounding::kEveryResult) {}

  DoubleTensor Run(const DecoderInputs& inputs) const {
    DoubleTensor x = inputs.x;
    for (const DecoderLayer& layer : inputs.layers) x = Layer(layer, x);
    if (s_.vocabulary == 0) return x;
    const DoubleTensor last(x.end() - s_.batch * s_.hidden, x.end());
    return Product(Norm(last, inputs.norm), inputs.head, s_.hidden, s_.vocabulary);
  }

 private:
  double Round(double value) const { return rounds_ ? SenValue(NearestSen(value)) : value; }

  DoubleTensor Layer(const DecoderLayer& w, const DoubleTensor& x) const {
    const DoubleTensor n = Norm(x, w.norm1);
    const int64_t queries = s_.heads * s_.head_size, keys = s_.kv_heads * s_.head_size;
    const DoubleTensor q = Rotated(Product(n, w.wq, s_.hidden, queries), s_.heads);
    const DoubleTensor k = Rotated(Product(n, w.wk, s_.hidden, keys), s_.kv_heads);
    const DoubleTensor v = Product(n, w.wv, s_.hidden, keys);
    const DoubleTensor a = Attention(q, WithPast(w.keys, k), WithPast(w.values, v));
    const DoubleTensor h = Sum(x, Product(a, w.wo, queries, s_.hidden));
    const DoubleTensor m = Norm(h, w.norm2);
    DoubleTensor gate = Product(m, w.gate, s_.hidden, s_.mlp);
    const DoubleTensor up = Product(m, w.up, s_.hidden, s_.mlp);
    for (size_t i = 0; i < gate.size(); ++i) {
      const double silu = gate[i] / Round(1 + Round(std::exp(-gate[i])));
      gate[i] = Round(Round(silu) * up[i]);
    }
    return Sum(h, Product(gate, w.down, s_.mlp, s_.hidden));
  }

  // x [rows, from] by w [from, to].
  DoubleTensor Product(const DoubleTensor& x, const DoubleTensor& w, int64_t from,
                       int64_t to) const {
    const auto rows = static_cast<int64_t>(x.size()) / from;
    DoubleTensor out(static_cast<size_t>(rows * to));
    ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        double* const row = out.data() + r * to;
        for (int64_t i = 0; i < from; ++i)
          for (int64_t j = 0; j < to; ++j)
            row[j] += x[static_cast<size_t>(r * from + i)] * w[static_cast<size_t>(i * to + j)];
        for (int64_t j = 0; j < to; ++j) row[j] = Round(row[j]);
      }
    });
    return out;
  }

  DoubleTensor Sum(const DoubleTensor& x, const DoubleTensor& y) const {
    DoubleTensor out(x.size());
    for (size_t i = 0; i < x.size(); ++i) out[i] = Round(x[i] + y[i]);
    return out;
  }

  DoubleTensor Norm(const DoubleTensor& x, const DoubleTensor& weight) const {
    const size_t width = weight.size();
    DoubleTensor out(x.size());
    for (size_t row = 0; row < x.size(); row += width) {
      double squares = 0;
      for (size_t i = 0; i < width; ++i) squares += Round(x[row + i] * x[row + i]);
      const double mean = Round(squares / static_cast<double>(width));
      const double factor = Round(1 / std::sqrt(Round(mean + kEpsilon)));
      for (size_t i = 0; i < width; ++i)
        out[row + i] = Round(Round(x[row + i] * factor) * weight[i]);
    }
    return out;
  }

  // x [sequence, batch, heads, head_size], the halves of each head turned by its token's angles.
  DoubleTensor Rotated(const DoubleTensor& x, int64_t heads) const {
    const int64_t half = s_.head_size / 2;
    DoubleTensor out(x.size());
    for (int64_t token = 0; token < s_.sequence; ++token) {
      const auto position = static_cast<double>(s_.context - s_.sequence + token);
      for (int64_t i = 0; i < half; ++i) {
        const double rate = std::pow(
            kRotaryBase, -2.0 * static_cast<double>(i) / static_cast<double>(s_.head_size));
        const double cos = Round(std::cos(position * rate));
        const double sin = Round(std::sin(position * rate));
        for (int64_t head = 0; head < s_.batch * heads; ++head) {
          const auto low =
              static_cast<size_t>((token * s_.batch * heads + head) * s_.head_size + i);
          const size_t high = low + static_cast<size_t>(half);
          out[low] = Round(Round(x[low] * cos) - Round(x[high] * sin));
          out[high] = Round(Round(x[high] * cos) + Round(x[low] * sin));
        }
      }
    }
    return out;
  }

  // The rows of the tokens before the new ones, then those.
  DoubleTensor WithPast(const DoubleTensor& past, const DoubleTensor& fresh) const {
    const int64_t rows = s_.context - s_.sequence;
    DoubleTensor all(past.begin(), past.begin() + (past.empty() ? 0 : rows * RowOfCache()));
    all.insert(all.end(), fresh.begin(), fresh.end());
    return all;
  }
  int64_t RowOfCache() const { return s_.batch * s_.kv_heads * s_.head_size; }

  // Every token sees those before it and itself.
  DoubleTensor Attention(const DoubleTensor& q, const DoubleTensor& keys,
                         const DoubleTensor& values) const {
    DoubleTensor out(q.size());
    ParallelFor(s_.sequence, 1, [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token)
        for (int64_t b = 0; b < s_.batch; ++b)
          for (int64_t head = 0; head < s_.heads; ++head)
            Attend(q, keys, values, token, b, head, out);
    });
    return out;
  }

  void Attend(const DoubleTensor& q, const DoubleTensor& keys, const DoubleTensor& values,
              int64_t token, int64_t b, int64_t head, DoubleTensor& out) const {
    const int64_t seen = s_.context - s_.sequence + token + 1;
    const int64_t kv_head = head / (s_.heads / s_.kv_heads);
    const int64_t query = ((token * s_.batch + b) * s_.heads + head) * s_.head_size;
    const auto at = [&](int64_t t, int64_t i) {
      return static_cast<size_t>(((t * s_.batch + b) * s_.kv_heads + kv_head) * s_.head_size + i);
    };
    const double scale = Round(1 / std::sqrt(static_cast<double>(s_.head_size)));
    std::vector<double> scores(static_cast<size_t>(seen));
    double most = -INFINITY;
    for (int64_t t = 0; t < seen; ++t) {
      double sum = 0;
      for (int64_t i = 0; i < s_.head_size; ++i)
        sum += q[static_cast<size_t>(query + i)] * keys[at(t, i)];
      scores[static_cast<size_t>(t)] = Round(Round(sum) * scale);
      most = std::max(most, scores[static_cast<size_t>(t)]);
    }
    double total = 0;
    for (double& score : scores) {
      score = Round(std::exp(Round(score - most)));
      total += score;
    }
    total = Round(total);
    for (double& score : scores) score = Round(score / total);
    for (int64_t i = 0; i < s_.head_size; ++i) {
      double sum = 0;
      for (int64_t t = 0; t < seen; ++t) sum += scores[static_cast<size_t>(t)] * values[at(t, i)];
      out[static_cast<size_t>(query + i)] = Round(sum);
    }
  }

  const DecoderShape& s_;
  const bool rounds_;
};

}  // namespace

DoubleTensor EvaluateDecoder(const DecoderShape& shape, const DecoderInputs& inputs,
                             Rounding rounding) {
  return Decoder(shape, rounding).Run(inputs);
}

}  // namespace spyre::cosim
