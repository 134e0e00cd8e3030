// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/bundle_spans.h"

#include <fmt/format.h>

#include "model/contract/memory_map.h"

namespace spyre::compiler {

std::vector<std::string> LongSpans(const Bundle& bundle) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    const SuperDsc& dsc = bundle.dscs[i];
    for (const SdscTensor& tensor : dsc.tensors) {
      if (tensor.in_lx) continue;
      const int64_t span = CoreSpanBytes(dsc, tensor);
      if (span <= static_cast<int64_t>(kMaxCoreSpanBytes)) continue;
      lines.push_back(fmt::format(
          "CRITICAL: {}, operation '{}': each core reaches {} bytes of '{}'; the limit is {}",
          bundle.files[i], dsc.op, span, tensor.name, kMaxCoreSpanBytes));
    }
  }
  return lines;
}

}  // namespace spyre::compiler
