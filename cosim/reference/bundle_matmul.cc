// SPDX-License-Identifier: Apache-2.0
// Matrix products. Cores that share the second operand share its gathered form too, so that a
// product divided over 32 cores costs no more than one that is not.
#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/matmul_block.h"

namespace spyre::cosim {
namespace {

using compiler::SuperDsc;

constexpr int64_t kPanelsAtOnce = 16;  // panels of b that are gathered together
constexpr int64_t kTermsInChunk = 64;  // terms that are added before they meet the others
constexpr int64_t kAbsent = -1;        // a place of no term

// Byte offsets of an operand for every combination of some dimensions.
std::vector<int64_t> Offsets(const SuperDsc& dsc, const StepOperand& operand,
                             const std::vector<int>& dims) {
  std::vector<int64_t> offsets;
  ForEachIndex(dsc, dims, [&](const std::vector<int64_t>& index) {
    offsets.push_back(OffsetAt(operand, index));
  });
  return offsets;
}

class MatmulRunner {
 public:
  MatmulRunner(const BoundStep& step, BundleMemory& memory) : step_(step), memory_(memory) {
    if (step.inputs.size() < 2) throw BadInput("{}: two inputs are expected", step.name);
    const SuperDsc& dsc = *step.dsc;
    for (int dim = 0; dim < static_cast<int>(dsc.dims.size()); ++dim) Classify(dim);
    // Within each position of a window the terms follow each other in the sticks of a.
    const auto inner = std::find(k_dims_.begin(), k_dims_.end(), a().stick_dim);
    if (inner != k_dims_.end()) std::rotate(inner, inner + 1, k_dims_.end());
    for (const std::vector<int>& chain : CoreChains(dsc, k_dims_)) {
      std::vector<std::pair<int, int64_t>> key;
      key.reserve(chain.size());
      for (const int core : chain) key.emplace_back(b().place[core].image, b().place[core].start);
      groups_[key].push_back(results_.size());
      results_.push_back({chain, {}, {}});
    }
    a_m_ = Offsets(dsc, a(), m_dims_);
    a_k_ = Terms(a());
    b_k_ = Terms(b());
    b_n_ = Offsets(dsc, b(), n_dims_);
    m_ = static_cast<int64_t>(a_m_.size());
    n_ = static_cast<int64_t>(b_n_.size());
    k_ = static_cast<int64_t>(a_k_.size());
    run_ = k_;
    if (k_dims_.size() > 1) run_ = AlignUp(dsc.dims[k_dims_.back()].per_core, kTermsInChunk);
    batches_ = static_cast<int64_t>(Offsets(dsc, a(), batch_dims_).size());
  }

  void Run() {
    for (Result& result : results_) {
      result.bits.resize(static_cast<size_t>(batches_ * m_ * n_));
      if (memory_.has_ideal()) result.ideal.resize(result.bits.size());
    }
    for (const auto& [key, members] : groups_) {
      int64_t batch = 0;
      ForEachIndex(*step_.dsc, batch_dims_, [&, &members = members](const auto& index) {
        Product<float>(members, batch, index);
        if (memory_.has_ideal()) Product<double>(members, batch, index);
        ++batch;
      });
    }
    for (const Result& result : results_) Commit(result);
  }

 private:
  struct Result {
    std::vector<int> chain;      // cores, in order of their slices of k
    std::vector<uint32_t> bits;  // [batch][m][n]
    std::vector<double> ideal;
  };

  const StepOperand& a() const { return step_.inputs[0]; }
  const StepOperand& b() const { return step_.inputs[1]; }

  void Classify(int dim) {
    const bool in_a = a().walks[dim];
    const bool in_b = b().walks[dim];
    if (step_.output.walks[dim]) {
      (in_a == in_b ? batch_dims_ : in_a ? m_dims_ : n_dims_).push_back(dim);
    } else if (in_a && in_b) {
      k_dims_.push_back(dim);
    } else if ((in_a || in_b) && step_.dsc->dims[dim].size > 1) {
      throw BadInput("{}: dimension '{}' is in one operand only", step_.name,
                     step_.dsc->dims[dim].name);
    }
  }

  // Offsets of the terms; those of each position of a window are filled up to whole chunks.
  std::vector<int64_t> Terms(const StepOperand& operand) const {
    std::vector<int64_t> terms = Offsets(*step_.dsc, operand, k_dims_);
    if (k_dims_.size() < 2) return terms;
    const int64_t run = step_.dsc->dims[k_dims_.back()].per_core;
    std::vector<int64_t> filled;
    for (size_t i = 0; i < terms.size(); ++i) {
      filled.push_back(terms[i]);
      if (static_cast<int64_t>(i + 1) % run == 0)
        filled.resize((filled.size() + kTermsInChunk - 1) / kTermsInChunk * kTermsInChunk, kAbsent);
    }
    return filled;
  }

  // Terms of a core that hold data, of each run of `run_`: the masked end of the contraction counts
  // as zeros.
  int64_t Present(int core) const {
    const SuperDsc& dsc = *step_.dsc;
    int64_t present = run_;
    for (const compiler::SdscMask& mask : dsc.masks) {
      if (k_dims_.empty() || mask.dim != k_dims_.back())
        throw BadInput("{}: a mask of dimension '{}', which is not the one that is summed over",
                       step_.name, dsc.dims[mask.dim].name);
      const int64_t begin = dsc.slice[core][mask.dim] * dsc.dims[mask.dim].per_core;
      present = std::clamp<int64_t>(mask.start - begin, 0, present);
    }
    return present;
  }

  template <class Real>
  Real ValueAt(const StepOperand& operand, int core, int64_t offset) const {
    const StepOperand::Place& place = operand.place[core];
    const int64_t at = place.start + offset;
    if constexpr (sizeof(Real) == sizeof(double)) {
      if (memory_.HasIdeal(place.image))
        return memory_.Ideal(place.image, at, operand.format, operand.bytes);
    }
    const uint8_t* data = memory_.image(place.image).data() + at;
    return static_cast<Real>(DeviceValue(operand.format, LoadBits(data, operand.bytes)));
  }

  // Members are chains with the same b; index: that of the batch dimensions.
  template <class Real>
  void Product(const std::vector<size_t>& members, int64_t batch,
               const std::vector<int64_t>& index) {
    const auto slices = static_cast<int64_t>(results_[members.front()].chain.size());
    const int64_t depth = slices * k_;
    std::vector<int64_t> slice_ends;
    for (int64_t slice = 1; slice <= slices; ++slice) slice_ends.push_back(slice * k_);
    const int64_t rows = (m_ + kMatmulRows - 1) / kMatmulRows * kMatmulRows;
    const std::vector<Real> left = GatherA<Real>(members, rows, depth, OffsetAt(a(), index));
    const int64_t panels = (n_ + kMatmulPanel - 1) / kMatmulPanel;
    std::vector<Real> right;
    for (int64_t first = 0; first < panels; first += kPanelsAtOnce) {
      const int64_t count = std::min(kPanelsAtOnce, panels - first);
      GatherB(results_[members.front()].chain, first, count, depth, OffsetAt(b(), index), right);
      const int64_t blocks = static_cast<int64_t>(members.size()) * (rows / kMatmulRows);
      ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
        Real values[kMatmulRows * kMatmulPanel];
        // A panel stays in the cache while all rows use it.
        for (int64_t panel = 0; panel < count; ++panel) {
          for (int64_t block = begin; block < end; ++block) {
            const int64_t row = block * kMatmulRows;
            MatmulBlock(&left[row * depth], &right[panel * depth * kMatmulPanel], depth, slice_ends,
                        values);
            Result& result = results_[members[row / rows]];
            Keep(values, batch * m_ + row % rows, (batch + 1) * m_, (first + panel) * kMatmulPanel,
                 result);
          }
        }
      });
    }
  }

  // [member][row][slices of k one after the other], rows padded with zeros.
  template <class Real>
  std::vector<Real> GatherA(const std::vector<size_t>& members, int64_t rows, int64_t depth,
                            int64_t offset) const {
    std::vector<Real> left(members.size() * static_cast<size_t>(rows * depth));
    const auto lines = static_cast<int64_t>(members.size()) * m_;
    ParallelFor(lines, 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const std::vector<int>& chain = results_[members[line / m_]].chain;
        Real* to = &left[(line / m_ * rows + line % m_) * depth];
        for (const int core : chain) {
          const int64_t present = Present(core);
          for (int64_t kk = 0; kk < k_; ++kk, ++to)
            if (kk % run_ < present && a_k_[kk] != kAbsent)
              *to = ValueAt<Real>(a(), core, offset + a_m_[line % m_] + a_k_[kk]);
        }
      }
    });
    return left;
  }

  // [panel][slices of k][column], columns padded with zeros.
  template <class Real>
  void GatherB(const std::vector<int>& chain, int64_t first, int64_t count, int64_t depth,
               int64_t offset, std::vector<Real>& right) const {
    right.assign(static_cast<size_t>(count * depth * kMatmulPanel), 0);
    const int64_t columns = std::min(n_ - first * kMatmulPanel, count * kMatmulPanel);
    ParallelFor(depth, kMatmulPanel, [&](int64_t begin, int64_t end) {
      for (int64_t kk = begin; kk < end; ++kk) {
        const int core = chain[kk / k_];
        const int64_t term = b_k_[kk % k_];
        const int64_t row = offset + term;
        const bool masked = term == kAbsent || kk % k_ % run_ >= Present(core);
        for (int64_t j = 0; j < columns; ++j) {
          if (masked) continue;
          right[(j / kMatmulPanel * depth + kk) * kMatmulPanel + j % kMatmulPanel] =
              ValueAt<Real>(b(), core, row + b_n_[first * kMatmulPanel + j]);
        }
      }
    });
  }

  template <class Real>
  void Keep(const Real* values, int64_t row, int64_t end_row, int64_t column,
            Result& result) const {
    for (int64_t r = 0; r < kMatmulRows && row + r < end_row; ++r) {
      for (int64_t j = 0; j < kMatmulPanel && column + j < n_; ++j) {
        const auto at = static_cast<size_t>((row + r) * n_ + column + j);
        const Real value = values[r * kMatmulPanel + j];
        if constexpr (sizeof(Real) == sizeof(double)) {
          result.ideal[at] = value;
        } else {
          result.bits[at] = DeviceBits(step_.output.format, double{value});
        }
      }
    }
  }

  void Commit(const Result& result) {
    const StepOperand& out = step_.output;
    const StepOperand::Place& place = out.place[result.chain.back()];
    const std::vector<int64_t> m_offsets = Offsets(*step_.dsc, out, m_dims_);
    const std::vector<int64_t> n_offsets = Offsets(*step_.dsc, out, n_dims_);
    size_t next = 0;
    ForEachIndex(*step_.dsc, batch_dims_, [&](const std::vector<int64_t>& index) {
      const int64_t base = place.start + OffsetAt(out, index);
      for (const int64_t row : m_offsets) {
        for (const int64_t column : n_offsets) {
          const int64_t at = base + row + column;
          StoreBits(result.bits[next], memory_.image(place.image).data() + at, out.bytes);
          if (memory_.has_ideal())
            memory_.StoreIdeal(place.image, at, out.format, out.bytes, result.ideal[next]);
          ++next;
        }
      }
    });
  }

  const BoundStep& step_;
  BundleMemory& memory_;
  std::vector<int> batch_dims_, m_dims_, n_dims_, k_dims_;
  int64_t batches_ = 1, m_ = 1, n_ = 1, k_ = 1;  // of one core
  int64_t run_ = 1;                              // terms of the innermost dimension of k
  std::vector<int64_t> a_m_, a_k_, b_k_, b_n_;   // byte offsets
  std::vector<Result> results_;
  // Places of b -> results whose cores read it.
  std::map<std::vector<std::pair<int, int64_t>>, std::vector<size_t>> groups_;
};

}  // namespace

void RunMatmul(const BoundStep& step, BundleMemory& memory) { MatmulRunner(step, memory).Run(); }

}  // namespace spyre::cosim
