// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/lx_reads.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"

namespace spyre::compiler {
namespace {

struct LxBytes {
  int64_t begin = 0, end = 0;
};

LxBytes BytesOf(const SuperDsc& dsc, const SdscTensor& tensor, size_t core) {
  return {tensor.start[core], tensor.start[core] + FootprintBytes(dsc, tensor)};
}

}  // namespace

void CheckLxReads(const Bundle& bundle) {
  std::map<int, std::vector<LxBytes>> written;  // by core, so far
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
        throw BadInput(
            "{}: {}, operation '{}': {} is bytes {} to {} of the LX of core {}, where no operation "
            "of the bundle writes before; it needs what an earlier bundle left there, and cannot "
            "run alone",
            bundle.name, bundle.files[i], dsc.op, tensor.name, read.begin, read.end - 1,
            dsc.cores[core]);
      }
    }
    for (const int output : dsc.outputs) {
      const SdscTensor& tensor = dsc.tensors[static_cast<size_t>(output)];
      for (size_t core = 0; tensor.in_lx && core < dsc.cores.size(); ++core)
        written[dsc.cores[core]].push_back(BytesOf(dsc, tensor, core));
    }
  }
}

}  // namespace spyre::compiler
