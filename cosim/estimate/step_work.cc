// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/step_work.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/estimate/operand_runs.h"
#include "cosim/estimate/stream_tiles.h"
#include "cosim/estimate/work_choices.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::cosim {
namespace {

using compiler::OpFunc;
using compiler::OpFuncClass;
using compiler::OpFuncStep;
using compiler::SdscDim;
using compiler::SdscTensor;
using compiler::SuperDsc;
using model::MatmulWork;
using model::VectorLoop;
using model::VectorWork;

bool Walks(const SdscTensor& tensor, size_t dim) {
  return compiler::Walks(tensor, static_cast<int>(dim));
}

// The stick dimension is there, but only the first element of each stick means anything.
bool IsSparse(const SdscTensor& tensor) {
  return AnyFits(tensor.scale, [](int s) { return s == -2; });
}

uint64_t ElementsOf(const SuperDsc& dsc, const SdscTensor& tensor) {
  uint64_t elements = 1;
  for (size_t dim = 0; dim < dsc.dims.size(); ++dim)
    if (Walks(tensor, dim)) elements *= static_cast<uint64_t>(dsc.dims[dim].size);
  return elements;
}

// In device memory, once.
uint64_t BytesOf(const SuperDsc& dsc, const SdscTensor& tensor) {
  if (tensor.in_lx) return 0;
  const bool alone = IsSparse(tensor) || tensor.stick_dims.empty();
  return ElementsOf(dsc, tensor) *
         (alone ? compiler::kStick : static_cast<uint64_t>(tensor.word_bytes));
}

// A SuperDSC as work.
class StepOfBundle {
 public:
  StepOfBundle(const SuperDsc& dsc, uint64_t lx_bytes)
      : dsc_(dsc), op_(compiler::RequireOpFunc(dsc.op)), lx_bytes_(lx_bytes) {}

  model::KernelWork Work() const {
    if (dsc_.inputs.empty() || dsc_.outputs.empty()) {
      throw BadInput(
          "{} ('{}') has {} inputs and {} outputs; a closed form needs one of each at least: "
          "card.fidelity = \"timed\" simulates it",
          dsc_.name, dsc_.op, dsc_.inputs.size(), dsc_.outputs.size());
    }
    if (op_.op_class == OpFuncClass::kMatmul) return Matmul();
    return Vector();
  }

 private:
  const SdscTensor& Input(size_t i) const { return dsc_.tensors[dsc_.inputs[i]]; }
  const SdscTensor& Output() const { return dsc_.tensors[dsc_.outputs.front()]; }

  MatmulWork Matmul() const {
    MatmulWork work;
    const SdscTensor &first = Input(0), &second = Input(1);
    const int m = RowDim(), n = StickDim(Output());
    int k = -1;
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim) {
      const SdscDim& d = dsc_.dims[dim];
      const int at = static_cast<int>(dim);
      const bool a = Walks(first, dim), b = Walks(second, dim), out = Walks(Output(), dim);
      if (!out && (k < 0 || at == StickDim(first) || at == StickDim(second))) k = at;
      const auto divide = [&d](uint64_t& size, uint64_t& parts) {
        size *= static_cast<uint64_t>(d.size);
        parts *= static_cast<uint64_t>(d.slices);
      };
      if (!out) {
        divide(work.k, work.k_parts);
      } else if (a && b) {
        divide(work.batch, work.batch_parts);
      } else if (a) {
        at == m ? divide(work.m, work.m_parts) : divide(work.outer, work.outer_parts);
      } else {
        at == n ? divide(work.n, work.n_parts) : divide(work.inner, work.inner_parts);
      }
    }
    work.a_in_lx = first.in_lx;
    work.b_in_lx = second.in_lx;
    work.out_in_lx = Output().in_lx;
    ChooseTile(work, lx_bytes_);
    const auto stride = [](const std::vector<int64_t>& of_tensor, int dim) {
      return dim < 0 ? 0 : of_tensor[static_cast<size_t>(dim)];
    };
    const std::vector<int64_t> a = compiler::DimStrides(dsc_, first),
                               b = compiler::DimStrides(dsc_, second),
                               out = compiler::DimStrides(dsc_, Output());
    MatmulStrides strides;
    strides.a_transposed = k >= 0 && StickDim(first) != k;
    strides.b_transposed = k >= 0 && StickDim(second) == k;
    strides.a_m = stride(a, m);
    strides.a_k = stride(a, k);
    strides.b_k = stride(b, k);
    strides.b_n = stride(b, n);
    strides.out_m = stride(out, m);
    strides.out_n = stride(out, n);
    SetRuns(work, strides);
    if (work.a_sharers() > 1) work.a_hops = HopsOf(first);
    if (work.b_sharers() > 1) work.b_hops = HopsOf(second);
    return work;
  }

  // Of the groups of cores that have the same part of a tensor.
  uint64_t HopsOf(const SdscTensor& tensor) const {
    std::map<std::vector<int>, uint32_t> groups;
    for (size_t i = 0; i < dsc_.cores.size(); ++i) {
      std::vector<int> part;
      for (size_t dim = 0; dim < dsc_.dims.size(); ++dim)
        if (Walks(tensor, dim)) part.push_back(dsc_.slice[i][dim]);
      groups[part] |= 1u << dsc_.cores[i];
    }
    std::vector<uint32_t> masks;
    masks.reserve(groups.size());
    for (const auto& [part, mask] : groups) masks.push_back(mask);
    return FarthestHops(masks);
  }

  static int StickDim(const SdscTensor& tensor) {
    return tensor.stick_dims.empty() ? -1 : tensor.stick_dims.back();
  }

  // The dimension whose elements are rows of the tiles: the longest of those that the second
  // operand does not have, or the one in the sticks of the first. -1: there is none.
  int RowDim() const {
    int rows = -1;
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim) {
      if (!Walks(Input(0), dim) || Walks(Input(1), dim) || !Walks(Output(), dim)) continue;
      const int at = static_cast<int>(dim);
      if (at == StickDim(Input(0))) return at;
      if (rows < 0 || dsc_.dims[dim].per_core > dsc_.dims[static_cast<size_t>(rows)].per_core)
        rows = at;
    }
    return rows;
  }

  uint64_t Elements(const SdscTensor& tensor) const { return ElementsOf(dsc_, tensor); }
  uint64_t Bytes(const SdscTensor& tensor) const { return BytesOf(dsc_, tensor); }

  VectorLoop Loop() const {
    switch (op_.op_class) {
      case OpFuncClass::kStickReduction:
        return VectorLoop::kReduce;
      case OpFuncClass::kNonstickReduction:
        return VectorLoop::kBinary;
      case OpFuncClass::kRestickify:
      case OpFuncClass::kShuffle:
        return VectorLoop::kBroadcast;
      case OpFuncClass::kPointwise:
      case OpFuncClass::kNormScale:
        return Pointwise();
      default:
        return VectorLoop::kUnary;
    }
  }

  VectorLoop Pointwise() const {
    const bool function = AnyFits(op_.steps, [](const OpFuncStep& step) {
      return step.op == Op::kVunary && !IsStep(static_cast<UnaryFn>(step.fn & kFnMask));
    });
    if (function) return VectorLoop::kFunction;
    if (dsc_.inputs.size() < 2) return VectorLoop::kUnary;
    const uint64_t whole = Elements(Output());
    uint64_t least = whole;
    for (size_t i = 0; i < dsc_.inputs.size(); ++i) least = std::min(least, Elements(Input(i)));
    if (least == 1 && whole > 1) return VectorLoop::kConstant;
    return least < whole ? VectorLoop::kBroadcast : VectorLoop::kBinary;
  }

  VectorWork Vector() const {
    VectorWork work;
    work.loop = Loop();
    work.cores = dsc_.cores.size();
    const SdscTensor* largest = &Output();
    for (size_t i = 0; i < dsc_.inputs.size(); ++i) {
      if (Elements(Input(i)) > Elements(*largest)) largest = &Input(i);
      work.bytes_read += Bytes(Input(i));  // what several cores read counts once
    }
    work.bytes_written = Bytes(Output());
    if (dsc_.op == "identity" && work.bytes_written == 0 && work.bytes_read != 0)
      work.loop = VectorLoop::kNone;
    work.elements = Elements(*largest);
    work.rows_per_core = RowsPerCore(*largest);
    if (!largest->in_lx) work.run_bytes = RunBytes(*largest);
    Stream(work);
    return work;
  }

  // The tile that one loop passes, and how its loads and stores meet memory.
  void Stream(VectorWork& work) const {
    std::vector<size_t> tensors(dsc_.inputs.begin(), dsc_.inputs.end());
    tensors.push_back(static_cast<size_t>(dsc_.outputs.front()));
    std::vector<std::vector<int64_t>> strides;
    strides.reserve(tensors.size());
    for (const size_t tensor : tensors)
      strides.push_back(compiler::DimStrides(dsc_, dsc_.tensors[tensor]));
    std::vector<StreamAxis> axes;
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim) {
      if (dsc_.dims[dim].size == 1) continue;
      int64_t stick = 1;  // elements
      for (const size_t tensor : tensors) {
        if (StickDim(dsc_.tensors[tensor]) == static_cast<int>(dim))
          stick = std::max(stick, dsc_.tensors[tensor].stick_sizes.back());
      }
      StreamAxis& axis = axes.emplace_back();
      axis.slice =
          PartsOf(static_cast<uint64_t>(dsc_.dims[dim].per_core), static_cast<uint64_t>(stick));
      axis.reduced = !Walks(Output(), dim);
      for (size_t i = 0; i < tensors.size(); ++i) {
        const bool own = StickDim(dsc_.tensors[tensors[i]]) == static_cast<int>(dim);
        axis.stride.push_back(own ? strides[i][dim] : strides[i][dim] * stick);
      }
    }
    const size_t out = tensors.size() - 1;
    const uint64_t whole = Elements(Output());
    bool through = !Output().in_lx, in_lx = Output().in_lx;
    size_t loaded = out;  // an input that comes from memory, as large as any
    work.loads = 0;
    for (size_t i = 0; i < out; ++i) {
      const SdscTensor& input = Input(i);
      through = through && !input.in_lx;
      in_lx = in_lx && input.in_lx;
      if (input.in_lx || Elements(input) < whole) continue;
      loaded = i;
      ++work.loads;
    }
    if (op_.op_class == OpFuncClass::kRestickify || op_.op_class == OpFuncClass::kShuffle) {
      // Blocks of 64 x 64 elements.
      const uint64_t sticks = PartsOf(work.elements, compiler::kStickElements * work.cores);
      work.loop_sticks = static_cast<uint64_t>(compiler::PublicStreamSticks(
          static_cast<int64_t>(sticks), compiler::kPublicWideTile, static_cast<int64_t>(sticks)));
      return;
    }
    const bool along_sticks = op_.op_class == OpFuncClass::kStickReduction;
    const StreamTile tile =
        along_sticks || op_.op_class == OpFuncClass::kNonstickReduction
            ? ChooseReductionTile(axes, 0, in_lx, along_sticks)
            : ChooseStreamTile(axes, out, in_lx, StreamTileOf(work.loop, through));
    work.loop_sticks = tile.sticks();
    if (along_sticks) work.round_rows = tile.row_tile;
    if (loaded != out) work.load_runs = LoadRuns(axes, tile, loaded);
    if (!Output().in_lx && work.loop != VectorLoop::kReduce)
      work.store_runs = StoreRuns(axes, tile, out);
  }

  double RowsPerCore(const SdscTensor& tensor) const {
    double rows = 1;
    const int stick = tensor.stick_dims.empty() ? -1 : tensor.stick_dims.front();
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim) {
      if (static_cast<int>(dim) != stick && Walks(tensor, dim))
        rows *= static_cast<double>(dsc_.dims[dim].per_core);
    }
    return rows;
  }

  // What follows each other in device memory of a core's part: sticks along the innermost
  // dimensions, up to the first that is divided.
  uint64_t RunBytes(const SdscTensor& tensor) const {
    uint64_t sticks = 1;
    for (const int dim : tensor.dim_order) {
      if (!Walks(tensor, static_cast<size_t>(dim))) continue;
      const SdscDim& d = dsc_.dims[static_cast<size_t>(dim)];
      const bool in_stick = !tensor.stick_dims.empty() && dim == tensor.stick_dims.front();
      const auto per_core = static_cast<uint64_t>(d.per_core);
      sticks *= in_stick ? PartsOf(per_core, static_cast<uint64_t>(tensor.stick_sizes.front()))
                         : per_core;
      if (d.slices > 1) break;
    }
    return sticks * compiler::kStick;
  }

  const SuperDsc& dsc_;
  const OpFunc& op_;
  uint64_t lx_bytes_;
};

}  // namespace

model::KernelWork WorkOfStep(const SuperDsc& dsc, uint64_t lx_bytes) {
  return StepOfBundle(dsc, lx_bytes).Work();
}

}  // namespace spyre::cosim
