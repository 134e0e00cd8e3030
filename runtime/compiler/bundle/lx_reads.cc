// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/lx_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
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
        const bool some = AnyFits(there, [&](const LxBytes& bytes) {
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

// A copy of each core's part of a tensor in LX, from rows of sticks in device memory, which follow
// each other, or to them.
SuperDsc CopyOf(const SuperDsc& dsc, const SdscTensor& tensor, bool to_lx) {
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
  copy.inputs = {to_lx ? 0 : 1};
  copy.outputs = {to_lx ? 1 : 0};
  return copy;
}

// Steps that are to be added to a bundle: copies between LX and an argument that is added too.
class LxCopies {
 public:
  LxCopies(Bundle& bundle, bool to_lx) : bundle_(bundle), to_lx_(to_lx) {}

  void Add(const SuperDsc& dsc, const SdscTensor& tensor, std::string file) {
    SuperDsc copy = CopyOf(dsc, tensor, to_lx_);
    BundleExecute step;
    step.dsc = static_cast<int>(copies_.size()) + (to_lx_ ? 0 : Count());
    for (size_t core = 0; core < dsc.cores.size(); ++core) {
      const int64_t symbol = -1 - static_cast<int64_t>(core);
      copy.tensors.front().start.push_back(symbol);
      step.symbols[symbol] = {static_cast<int>(bundle_.arguments.size()), bytes_, {}};
      bytes_ += FootprintBytes(dsc, tensor);
    }
    copies_.push_back(std::move(copy));
    files_.push_back(std::move(file));
    steps_.emplace_back(std::move(step));
  }

  // Before all other steps, or behind them.
  void Finish(const char* argument) {
    BundleArgument image;
    image.name = argument;
    bundle_.arguments.push_back(std::move(image));
    if (to_lx_) {
      const int before = static_cast<int>(copies_.size());
      ForEachExecute(bundle_, [&](BundleExecute& execute) { execute.dsc += before; });
    }
    Move(copies_, bundle_.dscs);
    Move(files_, bundle_.files);
    Move(steps_, bundle_.body);
  }

 private:
  int Count() const { return static_cast<int>(bundle_.dscs.size()); }
  template <typename T>
  void Move(std::vector<T>& from, std::vector<T>& to) const {
    to.insert(to_lx_ ? to.begin() : to.end(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
  }

  Bundle& bundle_;
  const bool to_lx_;
  int64_t bytes_ = 0;
  std::vector<SuperDsc> copies_;
  std::vector<std::string> files_;
  std::vector<BundleNode> steps_;
};

struct LxResult {
  size_t dsc = 0;
  const SdscTensor* tensor = nullptr;
};

// Whether one is where the other is, on any core.
bool Meet(const SuperDsc& a_dsc, const SdscTensor& a, const SuperDsc& b_dsc, const SdscTensor& b) {
  for (size_t i = 0; a.in_lx && b.in_lx && i < a_dsc.cores.size(); ++i) {
    for (size_t j = 0; j < b_dsc.cores.size(); ++j) {
      if (a_dsc.cores[i] != b_dsc.cores[j]) continue;
      const LxBytes first = BytesOf(a_dsc, a, i);
      const LxBytes second = BytesOf(b_dsc, b, j);
      if (first.begin < second.end && second.begin < first.end) return true;
    }
  }
  return false;
}

// What is written to LX, and neither read nor overwritten later.
std::vector<LxResult> FindLxResults(const Bundle& bundle) {
  std::vector<LxResult> results;
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    const SuperDsc& dsc = bundle.dscs[i];
    for (const SdscTensor& tensor : dsc.tensors) {
      const auto met = [&](const LxResult& result) {
        return Meet(bundle.dscs[result.dsc], *result.tensor, dsc, tensor);
      };
      results.erase(std::remove_if(results.begin(), results.end(), met), results.end());
    }
    for (const int output : dsc.outputs) {
      const SdscTensor& tensor = dsc.tensors[static_cast<size_t>(output)];
      if (tensor.in_lx) results.push_back({i, &tensor});
    }
  }
  return results;
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
  LxCopies copies(bundle, true);
  for (const LxRead& read : reads) {
    const SuperDsc& dsc = bundle.dscs[read.dsc];
    lines.push_back(fmt::format(
        "{}; the argument 'lx' holds what an earlier bundle left there, on {} core{}, and a step "
        "before all others brings it in",
        read.Text(bundle), dsc.cores.size(), dsc.cores.size() == 1 ? "" : "s"));
    copies.Add(dsc, *read.tensor, fmt::format("LX before {}", bundle.files[read.dsc]));
  }
  copies.Finish("lx");
  return lines;
}

std::vector<std::string> GiveLxToArgument(Bundle& bundle) {
  std::vector<std::string> lines;
  const std::vector<ArgumentUse> uses = ArgumentUses(bundle);
  for (size_t i = 0; i < uses.size(); ++i) {
    if (bundle.arguments[i].kind == BundleArgument::Kind::kTensor && uses[i].written) return lines;
  }
  const std::vector<LxResult> results = FindLxResults(bundle);
  if (results.empty()) return lines;
  LxCopies copies(bundle, false);
  for (const LxResult& result : results) {
    const SuperDsc& dsc = bundle.dscs[result.dsc];
    lines.push_back(fmt::format(
        "{}, operation '{}': {} stays in LX for a later bundle, on {} core{}, and nothing else of "
        "the bundle comes out; a step behind all others brings it to the argument 'lx_results'",
        bundle.files[result.dsc], dsc.op, result.tensor->name, dsc.cores.size(),
        dsc.cores.size() == 1 ? "" : "s"));
    copies.Add(dsc, *result.tensor, fmt::format("LX behind {}", bundle.files[result.dsc]));
  }
  copies.Finish("lx_results");
  return lines;
}

}  // namespace spyre::compiler
