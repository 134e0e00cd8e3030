// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cosim/reference/reference_functions.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kChunk = 64;  // terms that are added before they join the others
constexpr double kMasked = -1073741824.0;

std::vector<float> Values(const uint16_t* half, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<float>(SenValue(SenOfHalf(half[i])));
  return values;
}

float Rounded(float value) { return static_cast<float>(SenValue(NearestSen(double{value}))); }

class AttentionReference final : public Reference {
 public:
  explicit AttentionReference(const AttentionProblem& problem)
      : p_(problem),
        q_(Values(p_.q, p_.heads * p_.sequence * p_.depth)),
        k_(Values(p_.k, p_.kv_heads * p_.context * p_.depth)),
        v_(Values(p_.v, p_.kv_heads * p_.context * p_.depth)),
        scale_(1 / std::sqrt(static_cast<double>(p_.depth))),
        exp_(1 << 16) {
    const UnaryFunction exp = FindUnary("exp");
    for (int code = 0; code < 1 << 16; ++code)
      exp_[code] =
          static_cast<float>(SenValue(NearestSen(exp(SenValue(static_cast<uint16_t>(code))))));
  }

  int64_t elements() const override { return p_.heads * p_.sequence * p_.depth; }
  int64_t ideal_cost() const override { return 2 * p_.context * (p_.depth + 16); }

  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    for (int64_t row = begin / p_.depth; row * p_.depth < end; ++row) {
      const int64_t from = std::max(begin, row * p_.depth);
      const int64_t to = std::min(end, (row + 1) * p_.depth);
      ComputeRow(row, from - row * p_.depth, to - row * p_.depth, results + (from - begin));
    }
  }

  double Ideal(int64_t element) const override {
    const std::vector<double> weights = Weights(element / p_.depth);
    double sum = 0;
    for (size_t j = 0; j < weights.size(); ++j)
      sum += weights[j] * Value(element, static_cast<int64_t>(j));
    return sum;
  }

  // Each weight is off by what its score and the distance to the largest are off, and by its own
  // rounding; the sum of weights is off by as much as the weights are.
  double Rounding(int64_t element) const override {
    const int64_t row = element / p_.depth;
    const std::vector<double> scores = Scores(row), weights = Weights(row);
    const double most = *std::max_element(scores.begin(), scores.end());
    double error = 0, ideal = 0, all = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      const double value = Value(element, static_cast<int64_t>(j));
      const double off = OneRounding(scores[j]) + OneRounding(most) +
                         OneRounding(most - scores[j] + OneRounding(most)) + OneRounding(1);
      error += weights[j] * std::abs(value) * off;
      all += weights[j] * off;
      ideal += weights[j] * value;
    }
    // Larger than the first order of the exponential of what is off.
    constexpr double kSecondOrder = 1.25;
    return kSecondOrder * (error + std::abs(ideal) * all) + OneRounding(ideal);
  }

 private:
  int64_t KvHead(int64_t row) const { return row / p_.sequence / (p_.heads / p_.kv_heads); }
  int64_t Visible(int64_t row) const {
    return p_.causal ? p_.context - p_.sequence + row % p_.sequence + 1 : p_.context;
  }
  const float* Key(int64_t row, int64_t key) const {
    return &k_[static_cast<size_t>((KvHead(row) * p_.context + key) * p_.depth)];
  }
  double Value(int64_t element, int64_t key) const {
    const int64_t at = (KvHead(element / p_.depth) * p_.context + key) * p_.depth;
    return v_[static_cast<size_t>(at + element % p_.depth)];
  }

  std::vector<double> Scores(int64_t row) const {
    std::vector<double> scores;
    const float* q = &q_[static_cast<size_t>(row * p_.depth)];
    for (int64_t key = 0; key < Visible(row); ++key) {
      double sum = 0;
      for (int64_t d = 0; d < p_.depth; ++d) sum += double{q[d]} * Key(row, key)[d];
      scores.push_back(sum * scale_);
    }
    return scores;
  }
  std::vector<double> Weights(int64_t row) const {
    std::vector<double> weights = Scores(row);
    const double most = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - most);
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  float Score(int64_t row, int64_t key) const {
    const float* q = &q_[static_cast<size_t>(row * p_.depth)];
    const float* k = Key(row, key);
    float sum = 0;
    for (int64_t at = 0; at < p_.depth; at += kChunk) {
      float chunk = 0;
      for (int64_t d = at; d < std::min(at + kChunk, p_.depth); ++d)
        chunk = std::fma(q[d], k[d], chunk);
      sum += chunk;
    }
    return Rounded(sum * static_cast<float>(scale_));
  }

  // Elements [from, to) of a row.
  void ComputeRow(int64_t row, int64_t from, int64_t to, uint16_t* results) const {
    const int64_t visible = Visible(row);
    std::vector<float> sums(static_cast<size_t>(to - from), 0);
    std::vector<float> p(static_cast<size_t>(p_.tile));
    float most = 0, total = 0;
    for (int64_t first = 0; first < visible; first += p_.tile) {
      const int64_t keys = std::min(p_.tile, p_.context - first);
      const float before = most;
      float largest = -std::numeric_limits<float>::infinity();
      for (int64_t j = 0; j < keys; ++j) {
        p[static_cast<size_t>(j)] =
            first + j < visible ? Score(row, first + j) : static_cast<float>(kMasked);
        largest = std::max(largest, p[static_cast<size_t>(j)]);
      }
      most = first == 0 ? largest : std::max(most, largest);
      for (int64_t j = 0; j < keys; ++j) {
        float& value = p[static_cast<size_t>(j)];
        value = exp_[NearestSen(double{value - most})];
      }
      const float factor = first == 0 ? 0 : static_cast<float>(std::exp(double{before - most}));
      total *= factor;
      for (float& sum : sums) sum *= factor;
      for (int64_t at = 0; at < keys; at += kChunk) Add(row, first, at, keys, p, from, total, sums);
    }
    const float scale = static_cast<float>(1.0 / total);
    for (size_t d = 0; d < sums.size(); ++d)
      results[d] = HalfOfSen(NearestSen(double{sums[d] * scale}));
  }

  // A chunk of a tile's keys, from `at` on.
  void Add(int64_t row, int64_t first, int64_t at, int64_t keys, const std::vector<float>& p,
           int64_t from, float& total, std::vector<float>& sums) const {
    const int64_t end = std::min(at + kChunk, keys);
    float chunk = 0;
    for (int64_t j = at; j < end; ++j) chunk += p[static_cast<size_t>(j)];
    total += chunk;
    std::vector<float> chunks(sums.size(), 0);
    for (int64_t j = at; j < end; ++j) {
      const int64_t key = (KvHead(row) * p_.context + first + j) * p_.depth + from;
      for (size_t d = 0; d < sums.size(); ++d)
        chunks[d] =
            std::fma(p[static_cast<size_t>(j)], v_[static_cast<size_t>(key) + d], chunks[d]);
    }
    for (size_t d = 0; d < sums.size(); ++d) sums[d] += chunks[d];
  }

  const AttentionProblem p_;
  const std::vector<float> q_, k_, v_;
  const double scale_;
  std::vector<float> exp_;
};

}  // namespace

std::unique_ptr<Reference> MakeAttentionReference(const AttentionProblem& problem) {
  return std::make_unique<AttentionReference>(problem);
}

}  // namespace spyre::cosim
