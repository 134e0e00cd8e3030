// SPDX-License-Identifier: Apache-2.0
// The runtime on one function: tensors, compiled kernels, launches.
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "model/contract/formats.h"
#include "python/native/arrays.h"
#include "python/native/bindings.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre::python {

namespace py = pybind11;
using Released = py::call_guard<py::gil_scoped_release>;
using driver::FunctionId;

namespace {

// The runtime's objects refer to their context, and that to the transport.
class Context {
 public:
  Context(SharedTransport transport, FunctionId function)
      : transport_(std::move(transport)), context_(*transport_, function) {}
  flex::RuntimeContext& get() { return context_; }
  runtime::SpyreStream Stream() { return runtime::SpyreStream::Default(context_); }

 private:
  SharedTransport transport_;
  flex::RuntimeContext context_;
};
using SharedContext = std::shared_ptr<Context>;

struct Tensor {
  SharedContext context;  // outlives the memory
  runtime::SpyreTensor tensor;
};
struct Plan {
  SharedContext context;
  runtime::ExecutionPlan plan;
};

DataFormat HostFormat(const std::string& dtype) {
  if (dtype == "float16") return DataFormat::kIeeeFp16;
  if (dtype == "float32") return DataFormat::kIeeeFp32;
  throw BadInput("a tensor of {} elements; give it float16 or float32", dtype);
}

Tensor ToCard(const SharedContext& context, const py::object& given) {
  const py::object array = py::module_::import("numpy").attr("asarray")(given);
  const std::vector<int64_t> shape = py::cast<std::vector<int64_t>>(array.attr("shape"));
  if (shape.empty() || py::cast<int64_t>(array.attr("size")) == 0)
    throw BadInput("a tensor needs at least one dimension and one element");
  const py::object dtype = array.attr("dtype");
  const DataFormat format = HostFormat(py::str(dtype.attr("name")));
  const py::object rows = RowsOf(array, dtype);
  const void* const data = BytesOf(rows, false).data;
  const py::gil_scoped_release released;
  runtime::SpyreStream stream = context->Stream();
  return {context, runtime::TensorFromHost(stream, DefaultLayout(shape, DataFormat::kSen169Fp16),
                                           data, format)};
}

Tensor Empty(const SharedContext& context, const std::vector<int64_t>& shape) {
  return {context, runtime::AllocateTensor(context->get(), shape)};
}

py::object FromCard(const Tensor& tensor, const std::string& dtype) {
  const DataFormat format = HostFormat(dtype);
  py::object array = EmptyArray(py::tuple(py::cast(tensor.tensor.shape)), dtype);
  void* const data = BytesOf(array, true).data;
  const py::gil_scoped_release released;
  runtime::SpyreStream stream = tensor.context->Stream();
  runtime::CopyTensorFromDevice(stream, tensor.tensor, data, format);
  tensor.context->get().Synchronize();
  return array;
}

std::shared_ptr<Plan> LoadKernel(const SharedContext& context, const std::string& directory) {
  auto plan = std::make_shared<Plan>(Plan{context, runtime::ExecutionPlan(directory)});
  runtime::SpyreStream stream = context->Stream();
  runtime::LoadPlan(stream, plan->plan);
  return plan;
}

void Launch(const SharedContext& context, const Plan& plan, const std::vector<Tensor>& tensors) {
  std::vector<runtime::SpyreTensor> arguments;
  for (const Tensor& tensor : tensors) {
    if (tensor.context != context)
      throw BadInput("a tensor of another runtime; its memory is not this function's");
    arguments.push_back(tensor.tensor);
  }
  runtime::SpyreStream stream = context->Stream();
  runtime::LaunchKernel(stream, plan.plan, arguments);
}

py::list Completed(const SharedContext& context) {
  py::list all;
  for (const flex::CompletedOperation& operation : context->get().CompletedOperations()) {
    py::dict fields;
    fields["operation"] = std::string(OpcodeName(operation.opcode));
    fields["name"] = operation.name;
    fields["stream"] = operation.stream;
    fields["status"] = std::string(StatusName(operation.status));
    fields["bytes"] = operation.size_bytes;
    fields["queued_ps"] = operation.queued_ps;
    fields["started_ps"] = operation.started_ps;
    fields["finished_ps"] = operation.finished_ps;
    fields["macs"] = operation.macs;
    all.append(fields);
  }
  return all;
}

void Compile(const std::string& op, const std::map<std::string, int64_t>& dims,
             const std::string& directory, int cores) {
  compiler::KernelSpec spec;
  spec.cores = cores;
  spec.op = op;
  spec.dims = dims;
  compiler::WriteSpyreCode(compiler::GenerateKernel(spec), directory);
}

}  // namespace

void AddRuntime(py::module_& module) {
  module.def("compile", Compile, py::arg("op"), py::arg("dims"), py::arg("directory"),
             py::arg("cores"), Released());

  py::class_<Tensor>(module, "Tensor")
      .def_property_readonly("shape",
                             [](const Tensor& t) { return py::tuple(py::cast(t.tensor.shape)); })
      .def_property_readonly("bytes", [](const Tensor& t) { return t.tensor.size_bytes; })
      .def("numpy", FromCard, py::arg("dtype") = "float16");

  const py::class_<Plan, std::shared_ptr<Plan>> kernel(module, "Kernel");

  py::class_<Context, SharedContext>(module, "Runtime")
      .def(py::init([](SharedTransport transport, FunctionId function) {
             return SharedContext(new Context(std::move(transport), function), EndUnlocked());
           }),
           py::arg("transport"), py::arg("function") = 0, Released())
      .def("tensor", ToCard, py::arg("array"))
      .def("empty", Empty, py::arg("shape"), Released())
      .def("load", LoadKernel, py::arg("directory"), Released())
      .def("launch", Launch, py::arg("kernel"), py::arg("tensors"), Released())
      .def(
          "synchronize", [](Context& context) { context.get().Synchronize(); }, Released())
      .def_property_readonly("completed", Completed);
}

}  // namespace spyre::python
