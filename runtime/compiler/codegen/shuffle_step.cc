// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/shuffle_step.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kStickSize = kStickBytes;

// One side of the relayout: which units of each dimension a core has, and where they lie. Units are
// sticks of the dimension inside the sticks, elements of the others.
class RelayoutSide {
 public:
  RelayoutSide(const SuperDsc& dsc, const SdscTensor& tensor, const std::string& step)
      : dsc_(dsc), tensor_(tensor), strides_(DimStrides(dsc, tensor)) {
    if (!tensor.in_lx) {
      throw BadInput("{}: {} is in device memory; a shuffle moves data from LX to LX", step,
                     tensor.name);
    }
    if (tensor.stick_dims.size() != 1) {
      throw BadInput("{}: the sticks of {} hold {} dimensions; one is supported", step, tensor.name,
                     tensor.stick_dims.size());
    }
    const auto stick = static_cast<size_t>(tensor.stick_dims.front());
    if (slices(stick) > 1 && dsc.PerCore(tensor, stick) % tensor.stick_sizes.front() != 0) {
      throw BadInput("{}: {} elements of dimension '{}' on each core are not whole sticks of {}",
                     step, dsc.PerCore(tensor, stick), dsc.dims[stick].name,
                     tensor.stick_sizes.front());
    }
  }

  int slices(size_t dim) const {
    return tensor_.slices.empty() ? dsc_.dims[dim].slices : tensor_.slices[dim];
  }
  const std::vector<int>& slice(size_t core) const {
    return tensor_.slices.empty() ? dsc_.slice[core] : tensor_.slice[core];
  }
  // 0 where the tensor does not walk the dimension.
  int64_t stride(size_t dim) const { return strides_[dim]; }
  // Of a core's slice.
  int64_t units(size_t dim) const {
    if (strides_[dim] == 0) return 1;
    const bool inside = static_cast<int>(dim) == tensor_.stick_dims.front();
    const int64_t elements = inside ? tensor_.stick_sizes.front() : 1;
    return (dsc_.PerCore(tensor_, dim) + elements - 1) / elements;
  }
  int64_t first_unit(size_t core, size_t dim) const { return slice(core)[dim] * units(dim); }
  int64_t begin(size_t core) const { return tensor_.start[core]; }
  int64_t end(size_t core) const { return begin(core) + FootprintBytes(dsc_, tensor_); }

 private:
  const SuperDsc& dsc_;
  const SdscTensor& tensor_;
  std::vector<int64_t> strides_;
};

// A box of sticks for one core from another. Cores are positions in SuperDsc::cores.
struct Piece {
  size_t to = 0;
  int64_t source = 0;  // addresses in the LX of the one and of the other
  int64_t destination = 0;
  std::vector<int64_t> count;  // units of each dimension
};

class Shuffle {
 public:
  Shuffle(const SuperDsc& dsc, const Problem& problem)
      : dsc_(dsc),
        p_(problem),
        in_(dsc, dsc.tensors[dsc.inputs.front()], problem.name),
        out_(dsc, dsc.tensors[dsc.outputs.front()], problem.name),
        sends_(dsc.cores.size()) {
    for (size_t dim = 0; dim < dsc.dims.size(); ++dim) {
      if ((in_.stride(dim) == 0) != (out_.stride(dim) == 0)) {
        throw BadInput("{}: dimension '{}' is in one of its tensors and not in the other", p_.name,
                       dsc.dims[dim].name);
      }
      if (in_.stride(dim) == kStickSize && out_.stride(dim) == kStickSize)
        run_dim_ = static_cast<int>(dim);
    }
    for (size_t core = 0; core < dsc.cores.size(); ++core) {
      if (in_.begin(core) < out_.end(core) && out_.begin(core) < in_.end(core)) {
        throw BadInput("{}: its input and its output overlap in the LX of core {}", p_.name,
                       dsc.cores[core]);
      }
      Receive(core);
    }
    const auto cores = dsc.cores.size();
    for (size_t from = 0; from < cores; ++from) {
      const auto distance = [&](const Piece& piece) { return (piece.to + cores - from) % cores; };
      StableSort(sends_[from],
                 [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
      rounds_ = std::max(rounds_, sends_[from].size());
    }
  }

  void Emit(SectionBuilder& b) const {
    for (size_t round = 0; round < rounds_; ++round) {
      b.Scoped([&] {
        const Reg to =
            Value(b, round, 0, [&](size_t, const Piece& piece) { return dsc_.cores[piece.to]; });
        const Reg source =
            Value(b, round, 0, [](size_t, const Piece& piece) { return piece.source; });
        const Reg destination =
            Value(b, round, 0, [](size_t, const Piece& piece) { return piece.destination; });
        const Reg bytes = Value(b, round, 0, [&](size_t, const Piece& piece) {
          return kStickSize * (run_dim_ < 0 ? 1 : piece.count[static_cast<size_t>(run_dim_)]);
        });
        Messages(b, round, 0, {to, destination, source, bytes});
      });
    }
  }

 private:
  struct Message {
    Reg to, destination, source, bytes;
  };

  // Finds who has the parts of a core's slice of the output.
  void Receive(size_t core) {
    std::vector<int> source(dsc_.dims.size(), 0);
    Overlaps(core, 0, source);
  }

  void Overlaps(size_t core, size_t dim, std::vector<int>& source) {
    if (dim == dsc_.dims.size()) return Take(core, source);
    if (in_.stride(dim) == 0) return Overlaps(core, dim + 1, source);
    const int64_t begin = out_.first_unit(core, dim);
    const int64_t last = begin + out_.units(dim) - 1;
    const auto end = static_cast<int>(last / in_.units(dim)) + 1;
    for (auto slice = static_cast<int>(begin / in_.units(dim)); slice < end; ++slice) {
      source[dim] = slice;
      Overlaps(core, dim + 1, source);
    }
  }

  void Take(size_t core, const std::vector<int>& source) {
    const size_t from = Holder(core, source);
    Piece piece;
    piece.to = core;
    piece.source = in_.begin(from);
    piece.destination = out_.begin(core);
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim) {
      const int64_t in_first = in_.first_unit(from, dim);
      const int64_t out_first = out_.first_unit(core, dim);
      const int64_t first = std::max(in_first, out_first);
      const int64_t end = std::min(in_first + in_.units(dim), out_first + out_.units(dim));
      const bool walks = in_.stride(dim) != 0;
      piece.count.push_back(walks ? end - first : 1);
      if (!walks) continue;
      piece.source += (first - in_first) * in_.stride(dim);
      piece.destination += (first - out_first) * out_.stride(dim);
    }
    sends_[from].push_back(std::move(piece));
  }

  // The core itself if it has the slice, else the next one behind it that does.
  size_t Holder(size_t core, const std::vector<int>& source) const {
    const size_t cores = dsc_.cores.size();
    for (size_t distance = 0; distance < cores; ++distance) {
      const size_t from = (core + cores - distance) % cores;
      bool holds = true;
      for (size_t dim = 0; dim < source.size() && holds; ++dim)
        holds = in_.stride(dim) == 0 || in_.slice(from)[dim] == source[dim];
      if (holds) return from;
    }
    throw BadInput("{}: no core holds the part of {} that core {} needs", p_.name,
                   dsc_.tensors[dsc_.inputs.front()].name, dsc_.cores[core]);
  }

  // A value of each core's piece of a round; `absent` for a core that sends nothing in it.
  template <typename Of>
  Reg Value(SectionBuilder& b, size_t round, int64_t absent, Of of) const {
    CoreColumns::Column column{};
    bool same = true;
    int64_t first = 0;
    for (size_t core = 0; core < sends_.size(); ++core) {
      const bool sends = round < sends_[core].size();
      const int64_t value = sends ? of(core, sends_[core][round]) : absent;
      if (core == 0) first = value;
      same = same && value == first;
      column[static_cast<size_t>(dsc_.cores[core])] = value;
    }
    return same ? b.Const(first) : b.Core(p_.columns->Add(column));
  }

  // A message for each run: loops over the dimensions that are not in it.
  void Messages(SectionBuilder& b, size_t round, size_t dim, const Message& message) const {
    if (dim == dsc_.dims.size()) {
      b.Emit(Op::kSend, 0, {},
             {message.to, message.destination, message.source, message.bytes, kZero});
      return;
    }
    const auto count = [dim](size_t, const Piece& piece) { return piece.count[dim]; };
    const bool needed = AnyFits(sends_, [&](const auto& pieces) {
      return round >= pieces.size() || pieces[round].count[dim] != 1;
    });
    if (static_cast<int>(dim) == run_dim_ || !needed) return Messages(b, round, dim + 1, message);
    b.Loop(Value(b, round, 0, count), [&](Reg index) {
      Message next = message;
      next.destination = b.Add(message.destination, index, out_.stride(dim));
      next.source = b.Add(message.source, index, in_.stride(dim));
      Messages(b, round, dim + 1, next);
    });
  }

  const SuperDsc& dsc_;
  const Problem& p_;
  RelayoutSide in_, out_;
  int run_dim_ = -1;                       // whose sticks follow each other on both sides; -1: none
  std::vector<std::vector<Piece>> sends_;  // of each core
  size_t rounds_ = 0;
};

}  // namespace

uint64_t BuildShuffle(const SuperDsc& dsc, const Problem& problem, StepCode& code) {
  const Shuffle shuffle(dsc, problem);
  code.Emit(Unit::kRing, [&](SectionBuilder& b) { shuffle.Emit(b); });
  return problem.lx_base;
}

}  // namespace spyre::compiler
