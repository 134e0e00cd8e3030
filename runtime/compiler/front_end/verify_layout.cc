// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/verify_layout.h"

#include <algorithm>

#include "base/joined.h"
#include "model/contract/formats.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/lower_to_op_specs.h"

namespace spyre::compiler {
namespace {

class LayoutChecker {
 public:
  LayoutChecker(const FrontEndResult& graph, std::vector<Finding>& findings)
      : result_(graph), graph_(graph.graph), findings_(findings) {}

  void Run() {
    for (const GraphInput& input : graph_.inputs) CheckBuffer(input.name, input.layout);
    for (const GraphOp& op : graph_.ops)
      if (op.layout.kind == BufferLayout::Kind::kTiled) CheckBuffer(op.name, op.layout);
    if (findings_.empty()) CheckArguments();
  }

 private:
  template <typename... Args>
  void Report(const std::string& subject, fmt::format_string<Args...> format, Args&&... args) {
    findings_.push_back({"layout", subject, fmt::format(format, std::forward<Args>(args)...)});
  }

  void CheckBuffer(const std::string& name, const BufferLayout& layout) {
    if (!AllNumbers(layout.size) || !AllNumbers(layout.stride)) return;
    const StickLayout& device = layout.device;
    const std::vector<int64_t> size = Numbers(layout.size);
    if (layout.stride != ContiguousExtents(layout.size) || device.host_size != size ||
        device.host_stride != Numbers(layout.stride)) {
      Report(name, "sizes or strides of '{}' on the host are not those of a tensor [{}]", name,
             Joined(size, ", "));
      return;
    }
    const int64_t inside = ElementsPerStick(device.format);
    if (device.format != DeviceFormatOf(HostFormat(name)) || device.device_size.back() != inside) {
      Report(name, "'{}' has sticks of {} elements of {}, {} of {} are expected", name,
             device.device_size.back(), FormatName(device.format),
             ElementsPerStick(DeviceFormatOf(HostFormat(name))),
             FormatName(DeviceFormatOf(HostFormat(name))));
      return;
    }
    for (size_t h = 0; h < size.size(); ++h) CheckDim(name, device, static_cast<int>(h));
    for (size_t d = 0; d < device.device_size.size(); ++d) {
      if (device.host_dim[d] < 0 && device.stride_map[d] >= 0 && device.device_size[d] > 1)
        Report(name, "device dimension {} of '{}' walks no dimension of the host by {}", d, name,
               device.stride_map[d]);
    }
  }

  DataFormat HostFormat(const std::string& name) const {
    if (const GraphInput* const input = graph_.FindInput(name)) return input->host_format;
    return graph_.Find(name)->host_format;
  }

  // One device dimension holds it, or two if it is inside the stick: the count of sticks, and the
  // elements of one.
  void CheckDim(const std::string& name, const StickLayout& device, int host_dim) {
    const auto h = static_cast<size_t>(host_dim);
    const int64_t size = device.host_size[h], stride = device.host_stride[h];
    if (size == 1) return;
    const int64_t inside = device.device_size.back();
    const bool in_stick = device.host_dim.back() == host_dim;
    const size_t last = device.device_size.size() - 1;
    std::vector<size_t> holders;
    for (size_t d = 0; d < last; ++d)
      if (device.host_dim[d] == host_dim) holders.push_back(d);
    const int64_t places = in_stick ? (size + inside - 1) / inside : size;
    const int64_t step = in_stick ? stride * inside : stride;
    const bool right = holders.size() == 1 && device.device_size[holders[0]] >= places &&
                       (device.stride_map[holders[0]] == step ||
                        (places == 1 && device.stride_map[holders[0]] < 0)) &&
                       (!in_stick || device.stride_map[last] == stride);
    if (right) return;
    Report(name,
           "the device layout of '{}' (sizes [{}], strides [{}]) does not hold dimension {} of {} "
           "elements at stride {}",
           name, Joined(device.device_size, ", "), Joined(device.stride_map, ", "), host_dim, size,
           stride);
  }

  // The host copies a tensor by the layout that the list gives it.
  void CheckArguments() {
    const std::vector<std::string> names = KernelArgumentNames(graph_);
    const std::vector<FrontEndArgument> arguments = KernelArguments(result_.primitives, graph_);
    for (size_t i = 0; i < names.size(); ++i) {
      const GraphOp* const op = graph_.Find(names[i]);
      // Between `tile` and `propagate`, a tile of the result is all there is.
      if (op != nullptr && op->loop && op->IsComputed() && !result_.HasRun("propagate")) continue;
      const StickLayout& own = graph_.LayoutOf(names[i]).device;
      const StickLayout& callers = arguments[i].layout;
      if (Walked(own) == Walked(callers)) continue;
      Report(names[i], "argument '{}' is [{}] on the device, its caller has [{}]", names[i],
             Joined(own.device_size, ", "), Joined(callers.device_size, ", "));
    }
  }

  // Device dimensions of more than one index, with what they step by.
  static std::vector<std::pair<int64_t, int64_t>> Walked(const StickLayout& layout) {
    std::vector<std::pair<int64_t, int64_t>> walked;
    for (size_t d = 0; d < layout.device_size.size(); ++d)
      if (layout.device_size[d] > 1)
        walked.emplace_back(layout.device_size[d], layout.stride_map[d]);
    return walked;
  }

  const FrontEndResult& result_;
  const Graph& graph_;
  std::vector<Finding>& findings_;
};

}  // namespace

void FindLayoutsThatAreWrong(const FrontEndResult& graph, std::vector<Finding>& findings) {
  LayoutChecker(graph, findings).Run();
}

}  // namespace spyre::compiler
