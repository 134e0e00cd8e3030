// SPDX-License-Identifier: Apache-2.0
// Small bundles made by hand, for tests of what executes them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::test {

// One SuperDSC whose cores are numbered by mixed radix over the slices, the first dimension
// fastest.
class DscBuilder {
 public:
  DscBuilder(std::string op, std::vector<compiler::SdscDim> dims) {
    dsc_.name = "0_" + op;
    dsc_.op = std::move(op);
    dsc_.dims = std::move(dims);
    int cores = 1;
    for (compiler::SdscDim& dim : dsc_.dims) {
      dim.per_core = dim.size / dim.slices;
      cores *= dim.slices;
    }
    for (int core = 0; core < cores; ++core) {
      dsc_.cores.push_back(core);
      std::vector<int> slice;
      int rest = core;
      for (const compiler::SdscDim& dim : dsc_.dims) {
        slice.push_back(rest % dim.slices);
        rest /= dim.slices;
      }
      dsc_.slice.push_back(std::move(slice));
    }
  }

  // A tensor in argument `argument`: dimensions innermost first, the stick dimension by name. Its
  // start addresses are symbols; returns its position.
  int Hbm(int argument, const std::vector<std::string>& order, const std::string& stick,
          int64_t stick_elements = 64, DataFormat format = DataFormat::kSen169Fp16) {
    compiler::SdscTensor tensor = Tensor(order, stick, stick_elements, format);
    tensor.symbolic = true;
    const std::vector<int64_t> strides = compiler::DimStrides(dsc_, tensor);
    for (size_t c = 0; c < dsc_.cores.size(); ++c) {
      int64_t offset = 0;
      for (size_t d = 0; d < dsc_.dims.size(); ++d) {
        const bool in_stick = !tensor.stick_dims.empty() && tensor.stick_dims[0] == int(d);
        offset +=
            dsc_.slice[c][d] * dsc_.dims[d].per_core / (in_stick ? stick_elements : 1) * strides[d];
      }
      const int64_t id = -1 - static_cast<int64_t>(execute_.symbols.size());
      execute_.symbols[id] = {argument, offset, {}};
      tensor.start.push_back(id);
    }
    return Add(std::move(tensor));
  }
  // A tensor at the same place in the LX of every core.
  int Lx(int64_t start, const std::vector<std::string>& order, const std::string& stick) {
    compiler::SdscTensor tensor = Tensor(order, stick, 64, DataFormat::kSen169Fp16);
    tensor.in_lx = true;
    tensor.start.assign(dsc_.cores.size(), start);
    return Add(std::move(tensor));
  }
  // The tensor is not walked along a dimension: broadcast or reduced.
  DscBuilder& Scale(int tensor, const std::string& dim, int scale) {
    compiler::SdscTensor& t = dsc_.tensors[tensor];
    for (size_t i = 0; i < t.dim_order.size(); ++i)
      if (t.dim_order[i] == dsc_.FindDim(dim)) t.scale[i] = scale;
    return *this;
  }
  // The cores have divided the tensor into other slices than the operation does, numbered likewise;
  // more cores than slices begin again.
  DscBuilder& Divide(int tensor, const std::vector<int>& slices) {
    compiler::SdscTensor& t = dsc_.tensors[tensor];
    t.slices = slices;
    for (size_t core = 0; core < dsc_.cores.size(); ++core) {
      std::vector<int> slice;
      auto rest = static_cast<int>(core);
      for (const int of_dim : slices) {
        slice.push_back(rest % of_dim);
        rest /= of_dim;
      }
      t.slice.push_back(std::move(slice));
    }
    return *this;
  }
  // An element of `index` chooses where the dimensions of `tensor` lie, the last ones of its order.
  DscBuilder& Choose(int tensor, const std::vector<std::string>& dims, int index) {
    for (const std::string& dim : dims) Scale(tensor, dim, 0);
    dsc_.index = index;
    return *this;
  }
  DscBuilder& Mask(const std::string& dim, int64_t start, int64_t count) {
    dsc_.masks.push_back({dsc_.FindDim(dim), start, count});
    return *this;
  }
  DscBuilder& Constant(const std::string& name, DataFormat format, uint32_t bits) {
    dsc_.constants.push_back({name, format, bits});
    return *this;
  }
  DscBuilder& LoopStride(int argument, std::vector<int64_t> stride) {
    for (auto& [id, address] : execute_.symbols)
      if (address.argument == argument) address.loop_stride = stride;
    return *this;
  }

  // Appends the operation to a body of the bundle; the last tensor is the output.
  void AppendTo(compiler::Bundle& bundle, std::vector<compiler::BundleNode>& body) {
    for (int i = 0; i + 1 < static_cast<int>(dsc_.tensors.size()); ++i)
      if (i != dsc_.index) dsc_.inputs.push_back(i);
    dsc_.outputs = {static_cast<int>(dsc_.tensors.size()) - 1};
    execute_.dsc = static_cast<int>(bundle.dscs.size());
    bundle.files.push_back("sdsc_" + std::to_string(execute_.dsc) + ".json");
    bundle.dscs.push_back(dsc_);
    body.push_back(execute_);
  }

 private:
  compiler::SdscTensor Tensor(const std::vector<std::string>& order, const std::string& stick,
                              int64_t stick_elements, DataFormat format) const {
    compiler::SdscTensor tensor;
    tensor.name = "Tensor" + std::to_string(dsc_.tensors.size());
    tensor.format = format;
    tensor.word_bytes = BitsPerElement(format) / 8;
    for (const std::string& dim : order) tensor.dim_order.push_back(dsc_.FindDim(dim));
    tensor.scale.assign(order.size(), 1);
    tensor.stick_dims = {dsc_.FindDim(stick)};
    tensor.stick_sizes = {stick_elements};
    return tensor;
  }
  int Add(compiler::SdscTensor tensor) {
    dsc_.tensors.push_back(std::move(tensor));
    return static_cast<int>(dsc_.tensors.size()) - 1;
  }

  compiler::SuperDsc dsc_;
  compiler::BundleExecute execute_;
};

inline compiler::Bundle BundleWithTensors(int count) {
  compiler::Bundle bundle;
  bundle.name = "test";
  for (int i = 0; i < count; ++i)
    bundle.arguments.push_back(
        {compiler::BundleArgument::Kind::kTensor, "arg_" + std::to_string(i), 0, 1});
  return bundle;
}

}  // namespace spyre::test
