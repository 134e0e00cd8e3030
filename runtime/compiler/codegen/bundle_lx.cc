// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/bundle_lx.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <variant>

namespace spyre::compiler {
namespace {

class ResidentUses {
 public:
  explicit ResidentUses(const Bundle& bundle) : bundle_(bundle) {}

  std::vector<LxUse> Find() {
    Walk(bundle_.body);
    return std::move(uses_);
  }

 private:
  void Walk(const std::vector<BundleNode>& body) {
    for (const BundleNode& node : body) {
      if (const auto* execute = std::get_if<BundleExecute>(&node)) {
        Step(bundle_.dscs[execute->dsc], bundle_.files[execute->dsc]);
        continue;
      }
      const int first = step_;
      Walk(std::get<BundleLoop>(node).body);
      EndLoop(first, step_ - 1);
    }
  }

  void Step(const SuperDsc& dsc, const std::string& file) {
    // What dies in this step and what takes its place are both there.
    for (const int input : dsc.inputs) Touch(dsc, file, dsc.tensors[input], false);
    for (const int output : dsc.outputs) Touch(dsc, file, dsc.tensors[output], true);
    ++step_;
  }

  void Touch(const SuperDsc& dsc, const std::string& file, const SdscTensor& tensor, bool writes) {
    if (!tensor.in_lx || tensor.start.empty()) return;
    const auto address = static_cast<uint64_t>(tensor.start.front());
    const auto bytes = static_cast<uint64_t>(FootprintBytes(dsc, tensor));
    uint32_t cores = 0;
    for (const int core : dsc.cores) cores |= 1u << core;
    const auto known = at_.find(address);
    if (known != at_.end() && !writes) {
      LxUse& use = uses_[known->second];
      use.last_step = step_;
      use.bytes = std::max(use.bytes, bytes);
      use.cores |= cores;
      return;
    }
    LxUse use;
    use.name = fmt::format("{} {}", file, dsc.op);
    use.address = address;
    use.bytes = bytes;
    use.first_step = use.last_step = step_;
    use.cores = cores;
    at_[address] = uses_.size();
    read_first_.push_back(!writes);
    uses_.push_back(std::move(use));
  }

  void EndLoop(int first, int last) {
    for (size_t i = 0; i < uses_.size(); ++i) {
      LxUse& use = uses_[i];
      if (use.last_step < first) continue;
      if (use.first_step < first) use.last_step = last;
      if (!read_first_[i]) continue;
      use.first_step = std::min(use.first_step, first);
      use.last_step = last;
    }
  }

  const Bundle& bundle_;
  int step_ = 0;
  std::vector<LxUse> uses_;
  std::vector<bool> read_first_;   // by use
  std::map<uint64_t, size_t> at_;  // by address: the last use there
};

}  // namespace

uint64_t ResidentLxBytes(const Bundle& bundle) {
  uint64_t bytes = 0;
  for (const SuperDsc& dsc : bundle.dscs) {
    for (const SdscTensor& tensor : dsc.tensors) {
      if (!tensor.in_lx) continue;
      const auto start =
          static_cast<uint64_t>(*std::max_element(tensor.start.begin(), tensor.start.end()));
      bytes = std::max(bytes, start + static_cast<uint64_t>(FootprintBytes(dsc, tensor)));
    }
  }
  return bytes;
}

std::vector<LxUse> ResidentLxUses(const Bundle& bundle) { return ResidentUses(bundle).Find(); }

}  // namespace spyre::compiler
