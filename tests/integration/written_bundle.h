// SPDX-License-Identifier: Apache-2.0
// Bundles that a test puts together: steps that are made of plain data, written as the newest
// public front end writes them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::test {

inline constexpr int kInLx = -1;
inline constexpr int kInPool = -2;

// A step, and the argument that holds each of its tensors, or one of the places above. The starts
// of a tensor are the bytes from its argument's (the pool's, the core's LX's) first byte on.
struct WrittenStep {
  compiler::SuperDsc dsc;
  std::vector<int> argument;
};

// A tensor with the dimension `stick` in its sticks, over the dimensions `order`, innermost first.
inline compiler::SdscTensor WrittenTensor(std::string name, std::string type, DataFormat format,
                                          std::vector<int> order, int stick) {
  compiler::SdscTensor tensor;
  tensor.name = std::move(name);
  tensor.type = std::move(type);
  tensor.format = format;
  tensor.word_bytes = BitsPerElement(format) / 8;
  tensor.dim_order = std::move(order);
  tensor.scale.assign(tensor.dim_order.size(), 1);
  tensor.stick_dims = {stick};
  tensor.stick_sizes = {ElementsPerStick(format)};
  return tensor;
}

struct WrittenFile {
  std::string name;
  std::string text;
};

// The files of a bundle of these steps with so many arguments, and a pool of so many bytes.
inline std::vector<WrittenFile> WrittenBundle(std::vector<WrittenStep> steps, int arguments,
                                              int64_t pool_bytes = 0) {
  std::vector<WrittenFile> files;
  std::string header, body, calls;
  for (int a = 0; a < arguments; ++a) {
    header += fmt::format("{}%a{}: !sdscbundle.input_arg<index>", a == 0 ? "" : ", ", a);
    body += fmt::format(
        "%b{0} = sdscbundle.input_arg_extract value from %a{0} : "
        "!sdscbundle.input_arg<index> -> index\n",
        a);
  }
  if (pool_bytes > 0)
    body += fmt::format("%pool = sdscbundle.device_mem_allocate {} bytes : index\n", pool_bytes);
  int symbol = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    compiler::SuperDsc& dsc = steps[s].dsc;
    std::string values, ids;
    for (size_t t = 0; t < dsc.tensors.size(); ++t) {
      compiler::SdscTensor& tensor = dsc.tensors[t];
      const int place = steps[s].argument[t];
      tensor.in_lx = place == kInLx;
      tensor.symbolic = !tensor.in_lx;
      for (int64_t& start : tensor.start) {
        if (tensor.in_lx) continue;
        ++symbol;
        body += fmt::format(
            "%o{0} = arith.constant {1} : index\n%c{0} = arith.addi {2}, %o{0} : index\n", symbol,
            start, place == kInPool ? "%pool" : fmt::format("%b{}", place));
        values += fmt::format("{}%c{}", values.empty() ? "" : ", ", symbol);
        ids += fmt::format("{}-{}", ids.empty() ? "" : ", ", symbol);
        start = -symbol;
      }
    }
    dsc.name = fmt::format("{}_{}", s, dsc.op);
    files.push_back({fmt::format("sdsc_{}.json", s),
                     ToSdscJson(dsc, compiler::BundleDialect::kSymbolicArguments)});
    calls += fmt::format(
        "sdscbundle.sdsc_execute ({}) {{sdsc_filename=\"sdsc_{}.json\", \"symbol_ids\"=[{}]}}\n",
        values, s, ids);
  }
  files.push_back(
      {"bundle.mlir", fmt::format("module {{\nfunc.func @sdsc_bundle({}) {{\n{}{}return\n}}\n}}\n",
                                  header, body, calls)});
  return files;
}

}  // namespace spyre::test
