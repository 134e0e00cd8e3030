// SPDX-License-Identifier: Apache-2.0
// Bundles of one operation in random shapes, layouts, work divisions and places, with identities
// around it that bring operands to LX and back, and loops. Deterministic for a seed.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim::random_bundles {

using compiler::Bundle;
using compiler::BundleExecute;
using compiler::BundleLoop;
using compiler::SdscDim;
using compiler::SdscTensor;
using compiler::SuperDsc;

inline constexpr int64_t kLane = 64;

class RandomBundle {
 public:
  explicit RandomBundle(uint32_t seed) : random_(seed) { bundle_.name = "random"; }

  int64_t Pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // Tensors made from now on have sticks of 32 fp32.
  void UseFp32() { lanes_ = kLane / 2; }
  void UseSen169() { lanes_ = kLane; }
  bool Chance(int percent) { return Pick(1, 100) <= percent; }

  // `names` with sizes; in_sticks: divided in whole sticks.
  struct Dim {
    std::string name;
    int64_t size;
    bool in_sticks;
    bool may_split = true;
  };
  SuperDsc Op(const std::string& op, const std::vector<Dim>& dims, int most_cores = 12) {
    SuperDsc dsc;
    dsc.op = op;
    dsc.name = op;
    dsc.unit = op == "batchmatmul" ? "pt" : "sfp";
    int cores = 1;
    for (const Dim& dim : dims) {
      const int64_t units = dim.in_sticks ? dim.size / kLane : dim.size;
      std::vector<int> splits = {1};
      for (int s = 2; dim.may_split && s <= units && s * cores <= most_cores; ++s) {
        if (units % s == 0) splits.push_back(s);
      }
      const int slices =
          splits[static_cast<size_t>(Pick(0, static_cast<int64_t>(splits.size()) - 1))];
      dsc.dims.push_back({dim.name, dim.size, dim.size / slices, slices});
      cores *= slices;
    }
    const int first = static_cast<int>(Pick(0, 3));
    for (int core = 0; core < cores; ++core) {
      dsc.cores.push_back(first + core);
      std::vector<int> slice;
      int rest = core;
      for (const SdscDim& dim : dsc.dims) {
        slice.push_back(rest % dim.slices);
        rest /= dim.slices;
      }
      dsc.slice.push_back(slice);
    }
    return dsc;
  }

  // A tensor over `walked` dims of the operation, `stick` inside the sticks; broadcast: dims of
  // `walked` that it does not have (their scale is -1, of the stick -2).
  SdscTensor Tensor(const SuperDsc& dsc, std::vector<int> walked, int stick,
                    const std::vector<int>& broadcast = {}) {
    SdscTensor tensor;
    tensor.name = "Tensor" + std::to_string(next_tensor_++);
    tensor.type = "OUTPUT";
    std::shuffle(walked.begin(), walked.end(), random_);
    tensor.dim_order = walked;
    for (int dim : walked) {
      const bool absent = std::count(broadcast.begin(), broadcast.end(), dim) > 0;
      tensor.scale.push_back(!absent ? 1 : dim == stick ? -2 : -1);
    }
    tensor.stick_dims = {stick};
    tensor.stick_sizes = {lanes_};
    if (lanes_ != kLane) {
      tensor.format = DataFormat::kIeeeFp32;
      tensor.word_bytes = 4;
    }
    if (Chance(20)) {
      const int dim = walked[static_cast<size_t>(Pick(0, static_cast<int64_t>(walked.size()) - 1))];
      if (dim != stick) tensor.back_gap[dim] = Pick(1, 5);
    }
    tensor.start.assign(dsc.cores.size(), 0);
    return tensor;
  }

  // Places the tensor in a new argument (symbolic start addresses), or in LX.
  void PlaceInMemory(const SuperDsc& dsc, SdscTensor& tensor, BundleExecute& execute) {
    tensor.in_lx = false;
    tensor.symbolic = true;
    const int argument = static_cast<int>(bundle_.arguments.size());
    bundle_.arguments.push_back(
        {compiler::BundleArgument::Kind::kTensor, "arg_" + std::to_string(argument), 0, 1});
    Bind(dsc, tensor, execute, argument);
  }
  void Bind(const SuperDsc& dsc, SdscTensor& tensor, BundleExecute& execute, int argument) {
    const std::vector<int64_t> stride = compiler::DimStrides(dsc, tensor);
    for (size_t i = 0; i < dsc.cores.size(); ++i) {
      int64_t start = 0;
      for (size_t d = 0; d < dsc.dims.size(); ++d) {
        const bool in_stick = tensor.stick_dims.front() == static_cast<int>(d);
        const int64_t first = dsc.slice[i][d] * dsc.dims[d].per_core;
        start += (in_stick ? first / tensor.stick_sizes.front() : first) * stride[d];
      }
      tensor.start[i] = --next_symbol_;
      execute.symbols[next_symbol_] = {argument, start, {}};
    }
  }
  void PlaceInLx(const SuperDsc& dsc, SdscTensor& tensor) {
    tensor.in_lx = true;
    tensor.symbolic = false;
    std::fill(tensor.start.begin(), tensor.start.end(), lx_);
    lx_ += FootprintWithGaps(dsc, tensor) + 128 * Pick(0, 2);
  }

  // An identity from or to memory for a tensor of `dsc` that is in LX. Its dims are those that the
  // tensor walks.
  void Identity(const SuperDsc& dsc, const SdscTensor& tensor, bool to_lx) {
    SuperDsc copy = dsc;
    copy.op = copy.name = "identity";
    copy.unit = "sfp";
    copy.masks.clear();
    copy.constants.clear();
    BundleExecute execute;
    // Dimensions that the tensor does not walk do not take part: they get one element.
    for (size_t d = 0; d < copy.dims.size(); ++d) {
      const auto it =
          std::find(tensor.dim_order.begin(), tensor.dim_order.end(), static_cast<int>(d));
      const bool walked = it != tensor.dim_order.end() &&
                          tensor.scale[static_cast<size_t>(it - tensor.dim_order.begin())] > 0;
      if (walked) continue;
      copy.dims[d] = {copy.dims[d].name, 1, 1, 1};
      for (auto& slice : copy.slice) slice[d] = 0;
    }
    SdscTensor in_lx = tensor;
    SdscTensor in_memory = tensor;
    in_memory.name += "m";
    in_memory.back_gap.clear();
    if (to_lx) {
      PlaceInMemory(copy, in_memory, execute);
      copy.tensors = {in_memory, in_lx};
    } else {
      PlaceInMemory(copy, in_memory, execute);
      copy.tensors = {in_lx, in_memory};
    }
    copy.inputs = {0};
    copy.outputs = {1};
    Append(copy, execute);
  }

  void Append(const SuperDsc& dsc, BundleExecute execute) {
    execute.dsc = static_cast<int>(bundle_.dscs.size());
    bundle_.files.push_back("sdsc_" + std::to_string(execute.dsc) + ".json");
    bundle_.dscs.push_back(dsc);
    bundle_.body.emplace_back(std::move(execute));
  }

  // Finishes an operation whose tensors are unplaced: each goes to memory or to LX, `lx_percent` of
  // them; those in LX come from memory before it and go back after it.
  Bundle Finish(SuperDsc dsc, int lx_percent) {
    BundleExecute execute;
    std::vector<int> before, after;
    for (size_t i = 0; i < dsc.tensors.size(); ++i) {
      const bool output = static_cast<int>(i) == dsc.outputs.front();
      if (!Chance(lx_percent)) {
        PlaceInMemory(dsc, dsc.tensors[i], execute);
        continue;
      }
      PlaceInLx(dsc, dsc.tensors[i]);
      (output ? after : before).push_back(static_cast<int>(i));
    }
    for (int i : before) Identity(dsc, dsc.tensors[static_cast<size_t>(i)], true);
    Append(dsc, execute);
    for (int i : after) Identity(dsc, dsc.tensors[static_cast<size_t>(i)], false);
    return std::move(bundle_);
  }

 private:
  static int64_t FootprintWithGaps(const SuperDsc& dsc, const SdscTensor& tensor) {
    return compiler::FootprintBytes(dsc, tensor);
  }

  std::mt19937 random_;
  Bundle bundle_;
  int next_tensor_ = 0;
  int64_t lanes_ = kLane;
  int64_t next_symbol_ = 0;
  int64_t lx_ = 0;
};

// The bundle inside one or two loops, whose iterations move every tensor in memory by some sticks:
// what one iteration has written, a later one may read or write again.
inline Bundle InLoops(Bundle bundle, uint32_t seed) {
  RandomBundle r(seed);
  const auto levels = static_cast<size_t>(r.Pick(1, 2));
  for (compiler::BundleNode& node : bundle.body) {
    for (auto& [id, address] : std::get<BundleExecute>(node).symbols) {
      // The parts of all cores move together.
      std::mt19937 random(seed + static_cast<uint32_t>(address.argument));
      for (size_t i = 0; i < levels; ++i) {
        address.loop_stride.push_back(static_cast<int64_t>(random() % 8 * kStickBytes));
      }
    }
  }
  for (size_t i = 0; i < levels; ++i) {
    BundleLoop loop;
    loop.count = r.Pick(1, 3);
    loop.body = std::move(bundle.body);
    bundle.body.clear();
    bundle.body.emplace_back(std::move(loop));
  }
  return bundle;
}

// For the operations that need some.
inline std::vector<compiler::SdscConstant> Constants(const std::string& op) {
  const auto constant = [](const char* name, float value) {
    return compiler::SdscConstant{name, DataFormat::kSen169Fp16, DlfFromFloat(value)};
  };
  if (op == "clip") return {constant("clipMin", -0.5F), constant("clipMax", 0.75F)};
  if (op == "softplus") return {constant("softplusBeta", 2.0F), constant("softplusThresh", 1.0F)};
  if (op == "mean" || op == "meannonstick") return {constant("scaling_factor", 0.125F)};
  if (op == "exx2" || op == "exx2_zeromean") return {constant("exx2scale", 0.0625F)};
  if (op == "quantscalepertokenfp8") {
    return {constant("clipMin", 0.001F), constant("clipMax", 0.004F), constant("mulConst", 0.002F)};
  }
  return {};
}

// A pointwise operation of `inputs` inputs, some of them broadcast.
inline Bundle RandomPointwise(const std::string& op, int inputs, uint32_t seed, bool fp32 = false) {
  RandomBundle r(seed);
  if (fp32) r.UseFp32();
  std::vector<RandomBundle::Dim> dims;
  const int rank = static_cast<int>(r.Pick(1, 4));
  for (int d = 0; d + 1 < rank; ++d)
    dims.push_back({"d" + std::to_string(d), r.Pick(1, 12), false});
  dims.push_back({"out", kLane * r.Pick(1, 6), true});
  SuperDsc dsc = r.Op(op, dims);
  std::vector<int> all(dims.size());
  std::iota(all.begin(), all.end(), 0);
  const int stick = rank - 1;
  for (int i = 0; i < inputs; ++i) {
    std::vector<int> broadcast;
    for (int d = 0; d < rank; ++d) {
      if (inputs > 1 && r.Chance(25)) broadcast.push_back(d);
    }
    dsc.tensors.push_back(r.Tensor(dsc, all, stick, broadcast));
    dsc.inputs.push_back(i);
  }
  dsc.tensors.push_back(r.Tensor(dsc, all, stick));
  dsc.outputs = {inputs};
  dsc.constants = Constants(op);
  return r.Finish(dsc, 40);
}

inline Bundle RandomReduction(const std::string& op, bool over_stick, uint32_t seed,
                              bool fp32 = false) {
  RandomBundle r(seed);
  if (fp32) r.UseFp32();
  std::vector<RandomBundle::Dim> dims;
  const int rank = static_cast<int>(r.Pick(over_stick ? 1 : 2, 4));
  for (int d = 0; d + 1 < rank; ++d)
    dims.push_back({"d" + std::to_string(d), r.Pick(2, 20), false});
  dims.push_back({"out", kLane * r.Pick(1, 8), true});
  SuperDsc dsc = r.Op(op, dims);
  std::vector<int> all(dims.size());
  std::iota(all.begin(), all.end(), 0);
  const int stick = rank - 1;
  const int reduced = over_stick ? stick : static_cast<int>(r.Pick(0, rank - 2));
  dsc.tensors = {r.Tensor(dsc, all, stick), r.Tensor(dsc, all, stick, {reduced})};
  dsc.constants = Constants(op);
  dsc.inputs = {0};
  dsc.outputs = {1};
  if (over_stick && dsc.dims[static_cast<size_t>(reduced)].slices == 1 && r.Chance(50)) {
    const int64_t size = dsc.dims[static_cast<size_t>(reduced)].size;
    const int64_t masked = r.Pick(1, kLane - 1);
    dsc.masks.push_back({reduced, size - masked, masked});
  }
  // A combined result that stays in LX would be on the last core of its chain only.
  const bool divided = dsc.dims[static_cast<size_t>(reduced)].slices > 1;
  return r.Finish(dsc, divided ? 0 : 40);
}

inline Bundle RandomMatmul(uint32_t seed) {
  RandomBundle r(seed);
  std::vector<RandomBundle::Dim> dims;
  const int batch = static_cast<int>(r.Pick(0, 2));
  for (int d = 0; d < batch; ++d) dims.push_back({"x" + std::to_string(d), r.Pick(1, 4), false});
  const int mb = batch, out = batch + 1, in = batch + 2;
  dims.push_back({"mb", r.Pick(1, 70), false});
  dims.push_back({"out", kLane * r.Pick(1, 4), true});
  dims.push_back({"in", kLane * r.Pick(1, 4), true});
  SuperDsc dsc = r.Op("batchmatmul", dims);
  std::vector<int> batches(static_cast<size_t>(batch));
  std::iota(batches.begin(), batches.end(), 0);
  const bool shared_b = r.Chance(30);
  const auto with = [&](std::vector<int> list, int a, int b) {
    list.push_back(a);
    list.push_back(b);
    return list;
  };
  dsc.tensors = {r.Tensor(dsc, with(batches, mb, in), in),
                 r.Tensor(dsc, with(shared_b ? std::vector<int>{} : batches, in, out), out),
                 r.Tensor(dsc, with(batches, mb, out), out)};
  dsc.inputs = {0, 1};
  dsc.outputs = {2};
  const bool split_k = dsc.dims[static_cast<size_t>(in)].slices > 1;
  return r.Finish(dsc, split_k ? 0 : 40);
}

// SEN169 to fp32 and back.
inline Bundle RandomConversion(bool to_fp32, uint32_t seed) {
  RandomBundle r(seed);
  std::vector<RandomBundle::Dim> dims;
  const int rank = static_cast<int>(r.Pick(1, 3));
  for (int d = 0; d + 1 < rank; ++d) dims.push_back({"d" + std::to_string(d), r.Pick(1, 9), false});
  dims.push_back({"out", kLane * r.Pick(1, 6), true});
  SuperDsc dsc = r.Op(to_fp32 ? "dl16tofp32" : "fp32todl16", dims);
  std::vector<int> all(dims.size());
  std::iota(all.begin(), all.end(), 0);
  for (const bool fp32 : {!to_fp32, to_fp32}) {
    if (fp32) {
      r.UseFp32();
    } else {
      r.UseSen169();
    }
    dsc.tensors.push_back(r.Tensor(dsc, all, rank - 1));
  }
  dsc.inputs = {0};
  dsc.outputs = {1};
  return r.Finish(dsc, 0);
}

inline Bundle RandomRestickify(uint32_t seed) {
  RandomBundle r(seed);
  std::vector<RandomBundle::Dim> dims;
  const int rank = static_cast<int>(r.Pick(2, 3));
  if (rank == 3) dims.push_back({"x", r.Pick(1, 4), false});
  dims.push_back({"mb", kLane * r.Pick(1, 4), true});
  dims.push_back({"out", kLane * r.Pick(1, 4), true});
  SuperDsc dsc = r.Op("ReStickifyOpHBM", dims);
  std::vector<int> all(dims.size());
  std::iota(all.begin(), all.end(), 0);
  dsc.tensors = {r.Tensor(dsc, all, rank - 1), r.Tensor(dsc, all, rank - 2)};
  dsc.inputs = {0};
  dsc.outputs = {1};
  return r.Finish(dsc, 0);
}

}  // namespace spyre::cosim::random_bundles
