// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/lx_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/for_each_execute.h"

namespace spyre::compiler {
namespace {

struct LxBytes {
  int64_t begin = 0, end = 0;
};

LxBytes BytesOf(const SuperDsc& dsc, const SdscTensor& tensor, size_t core) {
  return {tensor.start[core], tensor.start[core] + FootprintBytes(dsc, tensor)};
}

// A tensor of dscs[dsc], and the first core on which nothing was written where it reads.
struct LxRead {
  size_t dsc = 0;
  const SdscTensor* tensor = nullptr;
  size_t core = 0;

  std::string Text(const Bundle& bundle) const {
    const SuperDsc& of = bundle.dscs[dsc];
    const LxBytes bytes = BytesOf(of, *tensor, core);
    return fmt::format(
        "{}, operation '{}': {} is bytes {} to {} of the LX of core {}, where no operation of the "
        "bundle writes before",
        bundle.files[dsc], of.op, tensor->name, bytes.begin, bytes.end - 1, of.cores[core]);
  }
};

std::vector<LxRead> FindLxReads(const Bundle& bundle) {
  std::vector<LxRead> reads;
  std::map<int, std::vector<LxBytes>> written;  // by core, so far
  const auto add = [&](const SuperDsc& dsc, const SdscTensor& tensor) {
    for (size_t core = 0; tensor.in_lx && core < dsc.cores.size(); ++core)
      written[dsc.cores[core]].push_back(BytesOf(dsc, tensor, core));
  };
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    const SuperDsc& dsc = bundle.dscs[i];
    for (const int input : dsc.inputs) {
      // Reductions list their output among their inputs.
      if (std::count(dsc.outputs.begin(), dsc.outputs.end(), input) > 0) continue;
      const SdscTensor& tensor = dsc.tensors[static_cast<size_t>(input)];
      for (size_t core = 0; tensor.in_lx && core < dsc.cores.size(); ++core) {
        const LxBytes read = BytesOf(dsc, tensor, core);
        const std::vector<LxBytes>& there = written[dsc.cores[core]];
        const bool some = std::any_of(there.begin(), there.end(), [&](const LxBytes& bytes) {
          return bytes.begin < read.end && read.begin < bytes.end;
        });
        if (some) continue;
        reads.push_back({i, &tensor, core});
        add(dsc, tensor);
        break;
      }
    }
    for (const int output : dsc.outputs) add(dsc, dsc.tensors[static_cast<size_t>(output)]);
  }
  return reads;
}

// A copy of each core's part from rows of sticks in device memory, which follow each other.
SuperDsc CopyToLx(const SuperDsc& dsc, const SdscTensor& tensor) {
  enum Dim : int { kRows, kLanes };
  const auto cores = static_cast<int>(dsc.cores.size());
  const int64_t sticks = FootprintBytes(dsc, tensor) / static_cast<int64_t>(kStickBytes);
  SuperDsc copy;
  copy.name = "lx_identity";
  copy.op = "identity";
  copy.unit = "sfp";
  copy.cores = dsc.cores;
  SdscTensor image;
  image.type = "OUTPUT";
  // What is not computed with is copied as 16-bit elements, which keep their bits.
  image.format = tensor.format == DataFormat::kIeeeFp32 ? tensor.format : DataFormat::kSen169Fp16;
  image.word_bytes = BitsPerElement(image.format) / 8;
  const int64_t lanes = ElementsPerStick(image.format);
  copy.format = image.format;
  copy.dims = {{"mb", sticks * cores, sticks, cores}, {"out", lanes, lanes, 1}};
  for (int core = 0; core < cores; ++core) copy.slice.push_back({core, 0});
  image.dim_order = {kRows, kLanes};
  image.scale = {1, 1};
  image.stick_dims = {kLanes};
  image.stick_sizes = {lanes};
  SdscTensor there = image;
  image.name = "image";
  image.symbolic = true;
  there.name = tensor.name;
  there.in_lx = true;
  there.start = tensor.start;
  copy.tensors = {std::move(image), std::move(there)};
  copy.inputs = {0};
  copy.outputs = {1};
  return copy;
}

}  // namespace

void CheckLxReads(const Bundle& bundle) {
  const std::vector<LxRead> reads = FindLxReads(bundle);
  if (reads.empty()) return;
  throw BadInput("{}: {}; it needs what an earlier bundle left there", bundle.name,
                 reads.front().Text(bundle));
}

std::vector<std::string> TakeLxFromArgument(Bundle& bundle) {
  const std::vector<LxRead> reads = FindLxReads(bundle);
  std::vector<std::string> lines;
  if (reads.empty()) return lines;
  const auto argument = static_cast<int>(bundle.arguments.size());
  std::vector<SuperDsc> copies;
  std::vector<std::string> files;
  std::vector<BundleNode> steps;
  int64_t bytes = 0;
  for (const LxRead& read : reads) {
    const SuperDsc& dsc = bundle.dscs[read.dsc];
    SuperDsc copy = CopyToLx(dsc, *read.tensor);
    BundleExecute step;
    step.dsc = static_cast<int>(copies.size());
    for (size_t core = 0; core < dsc.cores.size(); ++core) {
      const int64_t symbol = -1 - static_cast<int64_t>(core);
      copy.tensors.front().start.push_back(symbol);
      step.symbols[symbol] = {argument, bytes, {}};
      bytes += FootprintBytes(dsc, *read.tensor);
    }
    lines.push_back(fmt::format(
        "{}; the argument 'lx' holds what an earlier bundle left there, on {} core{}, and a step "
        "before all others brings it in",
        read.Text(bundle), dsc.cores.size(), dsc.cores.size() == 1 ? "" : "s"));
    files.push_back(fmt::format("LX before {}", bundle.files[read.dsc]));
    copies.push_back(std::move(copy));
    steps.emplace_back(std::move(step));
  }
  BundleArgument image;
  image.name = "lx";
  bundle.arguments.push_back(std::move(image));
  ForEachExecute(bundle,
                 [&](BundleExecute& execute) { execute.dsc += static_cast<int>(copies.size()); });
  const auto first = [](auto& to, auto& from) {
    to.insert(to.begin(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
  };
  first(bundle.dscs, copies);
  first(bundle.files, files);
  first(bundle.body, steps);
  return lines;
}

}  // namespace spyre::compiler
